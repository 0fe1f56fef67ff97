//! How long a new node takes until it is ready, as monitoring shows it (upstream: `util/node_startup_latency_tracker.go`).

use jiff::Timestamp;

#[cfg(test)]
mod tests;

/// The steps of the start of a node that this process registered. One that was registered before has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeStartup {
    /// When the machine was started, if that is known.
    pub booted: Option<Timestamp>,
    /// When the agent was.
    pub started: Timestamp,
    attempted: Option<Timestamp>,
    registered: Option<Timestamp>,
    ready: Option<Timestamp>,
}

/// Seconds from one step to the next; none before it was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StartupSeconds {
    /// From the machine's start to the agent's.
    pub pre_kubelet: Option<f64>,
    /// Until it tried to register the node.
    pub pre_registration: Option<f64>,
    /// Until the node was registered.
    pub registration: Option<f64>,
    /// Until it was ready.
    pub post_registration: Option<f64>,
    /// From the machine's start until the node was ready.
    pub all: Option<f64>,
}

impl NodeStartup {
    /// No step was taken yet.
    pub fn new(booted: Option<Timestamp>, started: Timestamp) -> Self {
        Self { booted, started, ..Self::default() }
    }

    /// The agent tries to register the node.
    pub fn attempt(&mut self, now: Timestamp) {
        self.attempted.get_or_insert(now);
    }

    /// A new node was registered.
    pub fn registered(&mut self, now: Timestamp) {
        if self.attempted.is_some() {
            self.registered.get_or_insert(now);
        }
    }

    /// The API server knows that the node is ready.
    pub fn ready(&mut self, now: Timestamp) {
        if self.registered.is_some() {
            self.ready.get_or_insert(now);
        }
    }

    /// Returns what is known by now.
    pub fn seconds(&self) -> StartupSeconds {
        let between = |from: Option<Timestamp>, to: Option<Timestamp>| {
            Some(to?.duration_since(from?).as_secs_f64()).filter(|_| self.registered.is_some())
        };
        let started = Some(self.started);
        StartupSeconds {
            pre_kubelet: between(self.booted, started),
            pre_registration: between(started, self.attempted),
            registration: between(self.attempted, self.registered),
            post_registration: between(self.registered, self.ready),
            all: between(self.booted, self.ready),
        }
    }
}
