//! Parts that run as long as the agent, and what it means that one ends.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_core::pod::SourceName;

use crate::cgroups::CgroupStartError;
use crate::checkpoints::IdsUnknown;

/// Why an agent can't run, or go on.
#[derive(Debug, Error)]
pub enum AgentError {
    /// Which ids pods have that may run isn't known, and others would be given the same.
    #[error(transparent)]
    UserNamespaces(#[from] IdsUnknown),
    /// Cgroups can't be kept as they are asked for.
    #[error("failed to start ContainerManager: {0} (cgroupsPerQOS: false keeps no cgroups for pods)")]
    Cgroups(CgroupStartError),
    /// A source of pods ended though nothing asked it to.
    #[error("source {source_name} ended unexpectedly{}", if *panicked { ": it panicked" } else { "" })]
    SourceEnded { source_name: SourceName, panicked: bool },
    #[error("{part} ended unexpectedly{}", panic.as_ref().map_or_else(String::new, |words| format!(": it panicked: {words}")))]
    PartEnded {
        part: &'static str,
        /// What its panic said, if it didn't return.
        panic: Option<String>,
    },
}

/// What a part that runs as long as the agent is given: when to end, and where to tell that it ended before.
#[derive(Clone)]
pub(super) struct Lifeline {
    pub(super) stop: CancellationToken,
    pub(super) ended: mpsc::Sender<AgentError>,
}

impl Lifeline {
    /// Starts a part that runs until it is stopped. One that ends before ends the agent, with its cause.
    pub(super) fn spawn(
        &self,
        tasks: &mut JoinSet<()>,
        part: &'static str,
        run: impl Future<Output = ()> + Send + 'static,
    ) {
        let Self { stop, ended } = self.clone();
        let running = AssertUnwindSafe(run).catch_unwind();
        tasks.spawn(async move {
            let panic = running.await.err().map(|panic| panic_words(&*panic));
            if !stop.is_cancelled() {
                // The first report ends the agent; the channel holds one.
                let _reported = ended.try_send(AgentError::PartEnded { part, panic });
            }
        });
    }
}

fn panic_words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
