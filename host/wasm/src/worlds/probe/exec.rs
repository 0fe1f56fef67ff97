//! Commands in the probed container, whatever version of the contract asks for them.

use std::sync::Arc;

use tokio::time::Instant;
use witlet_core::runtime::ExecOutput;
use witlet_ports::{CommandRunner, RuntimeError};

use super::answer::TEXT_BYTES_MAX;
use super::facts::ProbeFacts;
use crate::guest::async_guest::AsyncState;
use crate::record::ExecRecord;

/// A command that didn't end by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExecFault {
    /// It ran out of the probe's time.
    TimedOut,
    /// The runtime couldn't run it, in these words.
    Failed(String),
}

/// What a command of the store's probe needs.
pub(super) struct Exec {
    probe: Arc<ProbeFacts>,
    containers: Option<Arc<dyn CommandRunner>>,
    deadline: Instant,
}

impl Exec {
    pub(super) fn new(probe: Arc<ProbeFacts>, state: &AsyncState) -> Self {
        Self { probe, containers: state.containers(), deadline: state.deadline() }
    }

    /// Runs a command for as long as the probe has time, and notes it.
    pub(super) async fn run(self, command: Vec<String>) -> Result<ExecOutput, ExecFault> {
        let Some(containers) = self.containers else {
            return Err(ExecFault::Failed("there is no container runtime".to_owned()));
        };
        let probe = self.probe;
        let remaining = probe.remaining();
        if remaining.is_zero() {
            return Err(ExecFault::TimedOut);
        }
        // The runtime keeps the time; that it does is not relied on.
        let running = containers.exec_sync(&probe.request.container_id, &command, Some(remaining));
        let ran = tokio::time::timeout_at(Instant::min(probe.deadline(), self.deadline), running).await;
        let ended = match ran {
            Err(_elapsed) => Err(ExecFault::TimedOut),
            Ok(Err(RuntimeError::DeadlineExceeded { .. })) => Err(ExecFault::TimedOut),
            Ok(Err(error)) => Err(ExecFault::Failed(error.to_string())),
            Ok(Ok(output)) => Ok(output),
        };
        probe.note_exec(|| record(command, &ended));
        ended
    }
}

/// First what the command wrote on its standard output, then on its standard error; cut.
pub(super) fn joined(output: &ExecOutput) -> Vec<u8> {
    let mut joined = [&output.stdout[..], &output.stderr[..]].concat();
    joined.truncate(TEXT_BYTES_MAX);
    joined
}

/// A command as it is recorded.
fn record(command: Vec<String>, ended: &Result<ExecOutput, ExecFault>) -> ExecRecord {
    let (output, exit_code, error) = match ended {
        Ok(output) => {
            let text = String::from_utf8_lossy(&joined(output)).into_owned();
            (Some(text), Some(output.exit_code), None)
        }
        Err(ExecFault::TimedOut) => (None, None, Some(ExecRecord::TIMED_OUT.to_owned())),
        Err(ExecFault::Failed(words)) => (None, None, Some(words.clone())),
    };
    ExecRecord { command, output, exit_code, error }
}

#[cfg(test)]
mod tests {
    //! What is handed on of commands.

    use super::*;

    #[test]
    fn output_of_commands_is_cut_and_standard_output_comes_first() {
        let output = ExecOutput { stdout: b"out ".to_vec(), stderr: b"err".to_vec(), exit_code: 7 };
        assert_eq!(joined(&output), b"out err");
        let output = ExecOutput { stdout: vec![b'x'; 8 << 10], stderr: vec![b'y'; 8 << 10], exit_code: 0 };
        assert_eq!((joined(&output).len(), joined(&output)[8 << 10]), (TEXT_BYTES_MAX, b'y'));
    }

    #[test]
    fn commands_are_recorded_with_what_came_of_them() {
        let output = ExecOutput { stdout: b"out ".to_vec(), stderr: b"err".to_vec(), exit_code: 7 };
        let cases = [
            (Ok(output), (Some("out err"), Some(7), None)),
            (Err(ExecFault::TimedOut), (None, None, Some(ExecRecord::TIMED_OUT))),
            (Err(ExecFault::Failed("no".to_owned())), (None, None, Some("no"))),
        ];
        for (ended, expected) in cases {
            let ExecRecord { output, exit_code, error, .. } = record(vec!["true".to_owned()], &ended);
            assert_eq!((output.as_deref(), exit_code, error.as_deref()), expected);
        }
    }
}
