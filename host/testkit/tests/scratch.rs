//! Scratch.
#[path = "../../../tests/scenarios/executor.rs"]
mod executor;
#[path = "../../../tests/scenarios/support.rs"]
mod support;
