//! Between the host's vocabulary and `witlet:probe@0.2.0`'s.

use k8s_openapi::api::core::v1::ContainerPort;
use witlet_core::probe::ProbeKind;
use witlet_core::runtime::ExecOutput;

use super::super::answer::TEXT_BYTES_MAX;
use super::super::exec::ExecFault;
use crate::worlds::host::error::GuestError;

/// The contract's word.
pub(super) fn kind(kind: ProbeKind) -> &'static str {
    match kind {
        ProbeKind::Startup => "startup",
        ProbeKind::Readiness => "readiness",
        ProbeKind::Liveness => "liveness",
    }
}

/// Ports of valid pods are in range.
pub(super) fn number(port: &ContainerPort) -> u16 {
    u16::try_from(port.container_port).unwrap_or(0)
}

/// A command with each output cut, or its error.
pub(super) fn ended(ended: Result<ExecOutput, ExecFault>) -> Result<ExecOutput, GuestError> {
    match ended {
        Ok(mut output) => {
            output.stdout.truncate(TEXT_BYTES_MAX);
            output.stderr.truncate(TEXT_BYTES_MAX);
            Ok(output)
        }
        Err(ExecFault::TimedOut) => {
            Err(GuestError::new("TimedOut", "the command ran out of the probe's time"))
        }
        Err(ExecFault::Failed(words)) => Err(GuestError::new("Failed", &words)),
    }
}

#[cfg(test)]
mod tests {
    //! What crosses between host and guest.

    use super::*;

    #[test]
    fn commands_have_two_outputs_and_errors_a_code() {
        let output = ExecOutput { stdout: vec![b'x'; 20 << 10], stderr: b"err".to_vec(), exit_code: 7 };
        match ended(Ok(output)) {
            Ok(output) => {
                let ExecOutput { stdout, stderr, exit_code } = output;
                assert_eq!((stdout.len(), &stderr[..], exit_code), (TEXT_BYTES_MAX, &b"err"[..], 7));
            }
            Err(error) => panic!("{error:?}"),
        }
        let words = |fault| ended(Err(fault)).err().map(|error| error.words());
        assert_eq!(
            words(ExecFault::TimedOut).as_deref(),
            Some("TimedOut: the command ran out of the probe's time")
        );
        assert_eq!(words(ExecFault::Failed("no".to_owned())).as_deref(), Some("Failed: no"));
    }
}
