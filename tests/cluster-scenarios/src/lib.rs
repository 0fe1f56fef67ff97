//! Scenarios of a node of a cluster: the agent on fakes, its edge on an API server in this process, on paused time.
#![forbid(unsafe_code)]
#![cfg(test)]

mod again;
mod fields;
mod killed;
mod node;
mod nonsense;
mod objects;
mod outage;
mod pods;
mod refused;
mod rules;
mod static_pods;
mod traces;
mod world;
