//! What this machine is, as a Kubernetes node: read every ten seconds, published when it changed.

mod describe;
mod error;
mod machine;
mod options;

pub use error::NodeError;
pub use machine::has_swap_controller;
pub use options::{NodeOptions, PODS_MAX_DEFAULT};

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::{Mutex, watch};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use witlet_core::node::NodeFacts;
use witlet_ports::{Clock, NodeWatch};

use describe::{GivenFacts, Sources, describe};
use machine::Machine;

#[cfg(test)]
mod tests;

/// How often the machine is checked (upstream's node status frequency).
pub const NODE_REFRESH_INTERVAL: Duration = Duration::from_secs(10);
/// How long one check of the machine may take; then the facts stay as they were.
const NODE_READ_TIMEOUT: Duration = Duration::from_secs(3);
/// How many facts are taken below one prefix.
pub const GIVEN_FACTS_MAX: usize = 256;
/// How long a key or a value of these may be, in bytes.
pub const GIVEN_FACT_BYTES_MAX: usize = 1024;

/// The node, kept current by [`NodeInfo::run`].
#[derive(Debug)]
pub struct NodeInfo {
    options: NodeOptions,
    created: Timestamp,
    sources: std::sync::Mutex<Sources>,
    facts: watch::Sender<Arc<NodeFacts>>,
    /// One check at a time, so that an older one never replaces a newer one.
    refreshing: Arc<Mutex<()>>,
}

impl NodeInfo {
    /// Reads the machine once.
    ///
    /// # Errors
    /// A file of the kernel can't be read, or the name or an address can't be a node's.
    pub fn new(options: NodeOptions, clock: &dyn Clock) -> Result<Self, NodeError> {
        let created = clock.now();
        let sources = Sources { machine: Machine::read(&options.root)?, given: GivenFacts::new() };
        let facts = describe(&sources, &options, created, &NodeFacts::default())?;
        Ok(Self {
            options,
            created,
            sources: std::sync::Mutex::new(sources),
            facts: watch::Sender::new(Arc::new(facts)),
            refreshing: Arc::default(),
        })
    }

    /// The facts as they are now.
    pub fn current(&self) -> Arc<NodeFacts> {
        self.facts.borrow().clone()
    }

    /// Checks the machine every ten seconds until stopped. A check that fails is logged, and the last facts stay.
    pub async fn run(&self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(NODE_REFRESH_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            self.refresh().await;
        }
    }

    /// Reads the machine and publishes what changed. A check that fails or takes too long is logged. One that hangs (in a file
    /// system, say) keeps its turn, so that threads don't pile up behind it.
    async fn refresh(&self) {
        let reading = async {
            let turn = self.refreshing.clone().lock_owned().await;
            let root = self.options.root.clone();
            tokio::task::spawn_blocking(move || (Machine::read(&root), turn)).await
        };
        match tokio::time::timeout(NODE_READ_TIMEOUT, reading).await {
            Ok(Ok((Ok(machine), _turn))) => self.renew(|sources| sources.machine = machine),
            Ok(Ok((Err(error), _turn))) => stays_as_it_was(&error),
            // Only a runtime that is shutting down doesn't finish the work.
            Ok(Err(_)) => {}
            Err(_) => {
                tracing::warn!(timeout = ?NODE_READ_TIMEOUT, "Timed out reading node facts, using the last ones");
            }
        }
    }

    /// Says what another part of the agent knows of the node, in place of what was said below this prefix before: `name` below
    /// `runtime` becomes the fact `runtime.name` ([`witlet_core::node::facts`] lists keys that mean something). What the
    /// machine says itself stays. At most [`GIVEN_FACTS_MAX`] facts are taken, none longer than [`GIVEN_FACT_BYTES_MAX`];
    /// the rest is left out, and logged.
    pub fn set_facts(&self, prefix: &str, facts: BTreeMap<String, String>) {
        let said = facts.len();
        let short = |text: &String| text.len() <= GIVEN_FACT_BYTES_MAX;
        let taken: BTreeMap<String, String> = facts
            .into_iter()
            .filter(|(key, value)| short(key) && short(value))
            .take(GIVEN_FACTS_MAX)
            .collect();
        if taken.len() < said {
            tracing::warn!(
                prefix,
                said,
                taken = taken.len(),
                "Too many or too long facts of the node, left some out"
            );
        }
        self.renew(|sources| {
            sources.given.insert(prefix.to_owned(), taken);
        });
    }

    /// Changes what the facts are made of, and publishes them if they are others now.
    fn renew(&self, change: impl FnOnce(&mut Sources)) {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut sources);
        match describe(&sources, &self.options, self.created, &self.current()) {
            Ok(facts) => self.publish(facts),
            Err(error) => stays_as_it_was(&error),
        }
    }

    fn publish(&self, facts: NodeFacts) {
        self.facts.send_if_modified(|known| {
            let is_new = **known != facts;
            if is_new {
                *known = Arc::new(facts);
            }
            is_new
        });
    }
}

fn stays_as_it_was(error: &NodeError) {
    tracing::warn!(error = error as &dyn std::error::Error, "Failed to read node facts, using the last ones");
}

#[async_trait]
impl NodeWatch for NodeInfo {
    fn watch(&self) -> watch::Receiver<Arc<NodeFacts>> {
        self.facts.subscribe()
    }

    async fn read_again(&self) -> Arc<NodeFacts> {
        self.refresh().await;
        self.current()
    }
}
