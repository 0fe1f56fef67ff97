//! Being asked to stop: SIGTERM, SIGINT, and SIGHUP from a terminal that is closed.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Where the kernel says which signals a process ignores.
const STATUS_FILE: &str = "/proc/self/status";

/// A shell's exit code for a command that a signal ended is this and the signal's number.
const SIGNAL_EXIT_CODES: i32 = 128;

/// A signal that asks this process to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopSignal {
    Terminate,
    Interrupt,
    Hangup,
}

impl StopSignal {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
            Self::Hangup => "SIGHUP",
        }
    }

    fn kind(self) -> SignalKind {
        match self {
            Self::Terminate => SignalKind::terminate(),
            Self::Interrupt => SignalKind::interrupt(),
            Self::Hangup => SignalKind::hangup(),
        }
    }

    /// The exit code of a shell whose command the signal ended.
    pub(crate) fn exit_code(self) -> i32 {
        SIGNAL_EXIT_CODES + self.kind().as_raw_value()
    }
}

/// As [`stopping_for`], for work to which all signals are the same: the first cancels `stop`.
pub(crate) async fn stopping<T>(work: impl Future<Output = T>, stop: CancellationToken) -> T {
    stopping_for(work, |_signal| stop.cancel()).await
}

/// Does the work to its end. The first SIGTERM, SIGINT or SIGHUP is given to `asked`, which tells the work, and the work
/// is expected to heed it; later ones change nothing. A SIGHUP that is ignored from the start (`nohup`) stays so. Signals
/// are handled before the work begins: who sees that it does may ask it to stop.
pub(crate) async fn stopping_for<T>(work: impl Future<Output = T>, asked: impl FnOnce(StopSignal)) -> T {
    let handled = Handled::new();
    let next = async {
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
    let signal = tokio::select! {
        done = &mut work => return done,
        signal = next => signal,
    };
    tracing::info!(signal = signal.name(), "Received stop signal");
    asked(signal);
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

    /// The next one.
    async fn next(&mut self) -> StopSignal {
        let hung_up = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => StopSignal::Terminate,
            _ = self.interrupt.recv() => StopSignal::Interrupt,
            _ = hung_up => StopSignal::Hangup,
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
