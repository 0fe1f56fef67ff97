//! Being asked to stop: SIGTERM, SIGINT, and SIGHUP from a terminal that is closed.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Where the kernel says which signals a process ignores.
const STATUS_FILE: &str = "/proc/self/status";

/// Does the work to its end. The first SIGTERM, SIGINT or SIGHUP cancels `stop`, which the work is expected to heed;
/// later ones change nothing. A SIGHUP that is ignored from the start (`nohup`) stays so. Signals are handled before the
/// work begins: who sees that it does may ask it to stop.
pub(crate) async fn stopping<T>(work: impl Future<Output = T>, stop: CancellationToken) -> T {
    let handled = Handled::new();
    let asked = async {
        match handled {
            Ok(mut handled) => handled.next().await,
            // Without handlers the signals end the process at once, as by default.
            Err(cause) => {
                tracing::warn!(error = %cause, "Failed to install signal handlers; pods get no graceful stop");
                std::future::pending().await
            }
        }
    };
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return done,
        name = asked => tracing::info!(signal = name, "Received stop signal"),
    }
    stop.cancel();
    work.await
}

/// Signals that end nothing by themselves any more.
struct Handled {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
}

impl Handled {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal_unless_ignored(SignalKind::hangup())?,
        })
    }

    /// The name of the next one.
    async fn next(&mut self) -> &'static str {
        let hung_up = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = hung_up => "SIGHUP",
        }
    }
}

fn signal_unless_ignored(kind: SignalKind) -> std::io::Result<Option<Signal>> {
    // Without /proc no one can tell, and the signal is handled.
    let status = std::fs::read_to_string(STATUS_FILE).unwrap_or_default();
    if is_ignored(&status, kind.as_raw_value()) { Ok(None) } else { signal(kind).map(Some) }
}

/// Whether a process with this `/proc/PID/status` ignores the signal (proc_pid_status(5): `SigIgn`, a hexadecimal mask
/// whose lowest bit is signal 1).
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let bit = u32::try_from(signal).ok().and_then(|number| number.checked_sub(1));
    bit.and_then(|bit| 1_u64.checked_shl(bit)).is_some_and(|bit| mask & bit != 0)
}

#[cfg(test)]
mod tests;
