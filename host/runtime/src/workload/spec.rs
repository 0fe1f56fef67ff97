//! What a container's instances are started with.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::account::Account;
use super::stop::StopSignal;
use crate::clock::Now;
use crate::log::LogFile;
use crate::mounts::Preopen;
use crate::network::Network;

/// What a container's instances are started with.
#[derive(Clone)]
pub(crate) struct WorkloadSpec {
    /// Their arguments; the first is their name.
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// Where relative paths begin; empty for the root.
    pub(crate) working_dir: String,
    /// The folders that they see.
    pub(crate) preopens: Arc<[Preopen]>,
    pub(crate) network: Network,
    /// The port that a program that answers HTTP is served on.
    pub(crate) port: u16,
    /// How long a request may take to be answered, body and all.
    pub(crate) http_deadline: Duration,
    pub(crate) account: Arc<Account>,
    /// Where their output goes.
    pub(crate) log: Option<Arc<LogFile>>,
    /// How they are asked to stop.
    pub(crate) stop: Arc<StopSignal>,
    /// Cancelled when the container's own program has ended, and all else with it.
    pub(crate) over: CancellationToken,
    /// The tasks of a container next to its own program.
    pub(crate) helpers: TaskTracker,
    /// The clock of the log.
    pub(crate) now: Now,
}
