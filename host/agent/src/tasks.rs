//! Tasks next to the loop, and the times that they wait for.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior};

/// Nothing ticks faster, whatever the settings say.
const PERIOD_MIN: Duration = Duration::from_millis(1);

/// A ticker that doesn't make up for ticks it missed.
pub(crate) fn ticker(period: Duration) -> Interval {
    let period = period.max(PERIOD_MIN);
    let mut ticks = tokio::time::interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Ends at that time; never, if there is none.
pub(crate) async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Waits for tasks to end by themselves, then drops those that don't.
pub(crate) async fn end_within<T: 'static>(mut tasks: JoinSet<T>, limit: Duration) {
    let all_ended = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(limit, all_ended).await.is_err() {
        tracing::warn!(tasks = tasks.len(), "Tasks did not end in time, dropping them");
    }
    tasks.shutdown().await;
}
