//! Work that more urgent work of the same pod cuts short.

use tokio_util::sync::CancellationToken;

use super::Job;

/// Returns `None` if more urgent work came before this was done.
pub(super) async fn until_cut<T>(job: &Job, work: impl Future<Output = T>) -> Option<T> {
    unless(&job.cancel, work).await
}

pub(super) async fn unless<T>(cancel: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        done = work => Some(done),
    }
}
