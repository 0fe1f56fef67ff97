//! The port that shows the agent to people: the local API, and whoever embeds the agent.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use witlet_core::event::Event;

/// An event as the agent remembers it: repeats are counted, not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEvent {
    /// What happened.
    pub event: Arc<Event>,
    /// How often, at least 1.
    pub count: u32,
    /// The first time.
    pub first_seen: Timestamp,
    /// The latest time.
    pub last_seen: Timestamp,
}

/// Numbers about the agent itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentStats {
    /// The longest time that the event loop spent on one event.
    pub longest_pause: Duration,
    /// Events that the loop handled.
    pub events_handled: u64,
    /// PLEG events that were dropped because the loop didn't keep up.
    pub pleg_events_dropped: u64,
    /// Pods that wait for admission, deferred ones not counted.
    pub admission_queue: usize,
    /// Pods that wait as `Blocked`.
    pub deferred: usize,
    /// Whether every source was seen.
    pub sources_ready: bool,
    /// When the first sync finished, if one did.
    pub first_sync: Option<Timestamp>,
}

/// A look at the agent that never waits: each call answers from the newest published state.
pub trait AgentView: Send + Sync {
    /// All pods that a source has or that still end, with their newest status; ordered by namespace and name.
    fn pods(&self) -> Vec<Arc<Pod>>;
    /// Remembered events, oldest first.
    fn events(&self) -> Vec<RecordedEvent>;
    /// The node, with its Ready condition as the agent sees it.
    fn node(&self) -> Arc<Node>;
    /// Why the agent isn't healthy; empty if it is.
    fn unhealthy(&self) -> Vec<String>;
    /// Numbers about the agent.
    fn stats(&self) -> AgentStats;
}
