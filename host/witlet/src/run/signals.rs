//! Being asked to stop: SIGTERM and SIGINT.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Does the work to its end. The first SIGTERM or SIGINT cancels `stop`, which the work is expected to heed; later
/// ones change nothing.
pub(crate) async fn stopping<T>(work: impl Future<Output = T>, stop: CancellationToken) -> T {
    let asked = async {
        match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
            (Ok(mut terminate), Ok(mut interrupt)) => tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            },
            // Without handlers the signals end the process at once, as by default.
            (Err(cause), _) | (_, Err(cause)) => {
                tracing::warn!(%cause, "no graceful stop: signals can't be handled");
                std::future::pending().await
            }
        }
    };
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        name = asked => tracing::info!(signal = name, "asked to stop"),
    }
    stop.cancel();
    work.await
}
