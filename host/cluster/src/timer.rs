//! Timers of event loops.

use tokio::time::Instant;

/// Waits until a time, or forever without one.
pub(crate) async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
