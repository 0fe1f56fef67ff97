//! The endpoints on real listeners, over an agent, a runtime and rights that are made of constants.

mod cluster;
mod log_table;
mod recorded;
mod refusals;
mod streaming;
pub(super) mod world;

use std::time::Duration;

/// Generous: only a failure waits this long.
const PATIENCE: Duration = Duration::from_secs(30);

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("it happens soon")
}
