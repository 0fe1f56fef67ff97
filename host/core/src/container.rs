//! Containers: when they are started, killed and restarted, and what the runtime is asked to make of them.

pub mod backoff;
pub mod gc;
pub mod hash;
pub mod plan;
pub mod spec;
