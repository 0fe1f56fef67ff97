//! The endpoints on real listeners, over an agent, a runtime and rights that are made of constants.

mod cluster;
mod diagnostics;
mod local;
mod log_table;
mod metrics;
mod metrics_server;
mod recorded;
mod refusals;
mod slow_readers;
mod spans;
mod streaming;
mod system_logs;
pub(crate) mod world;

use std::time::Duration;

/// Bound of a wait for something that has to happen: only a hang reaches it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(WAIT_TIMEOUT, what).await.expect("it happens soon")
}
