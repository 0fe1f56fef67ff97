//! Commands next to a container's own program: its component, run once more.

use std::time::Duration;

use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::{Pods, PodsError};
use crate::workload::{self, CapturedOutput, Exit, StopSignal, WorkloadSpec};

/// How many commands may run in one container at once.
pub(crate) const COMMANDS_MAX: usize = 8;
/// What is kept of a command's output, both streams together: with some capacity for the rest, one message of the CRI
/// (16 MiB).
const OUTPUT_BYTES_MAX: usize = (16 << 20) - (64 << 10);

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Pods {
    /// Runs the component of a running container once more, with `command` as its arguments, and with the container's
    /// environment, mounts, network and account; waits for its end. After `limit`, or when no one waits any more, it
    /// is killed; if the container ends meanwhile, the command ends with it, by code 137.
    pub(crate) async fn exec(
        &self,
        id: &str,
        command: Vec<String>,
        limit: Option<Duration>,
    ) -> Result<Output, PodsError> {
        let (process, _) = self.running(id)?;
        let busy = |_| PodsError::TooManyCommands { id: id.to_owned() };
        let place = process.commands.clone().try_acquire_owned().map_err(busy)?;
        let outputs = CapturedOutput::both(OUTPUT_BYTES_MAX);
        // Its standard input has ended from the beginning, and no one asks it to stop.
        let spec =
            WorkloadSpec { arguments: command, stop: StopSignal::default().into(), ..process.spec.clone() };
        let (over, program, kept) = (process.spec.over.clone(), process.program.clone(), outputs.clone());
        let work = async move {
            let _place = place;
            tokio::select! {
                exit = workload::exec(program, spec, kept) => exit,
                () = over.cancelled() => Some(Exit::killed()),
            }
        };
        let mut work = AbortOnDropHandle::new(process.spec.helpers.spawn_on(work, &self.workloads));
        let ended = match limit {
            None => (&mut work).await,
            Some(limit) => {
                let late = |_| PodsError::CommandTooLong { id: id.to_owned(), limit };
                timeout(limit, &mut work).await.map_err(late)?
            }
        };
        let exit = match ended {
            Ok(Some(exit)) => exit,
            Ok(None) => return Err(PodsError::NoCommand { id: id.to_owned() }),
            Err(error) if error.is_cancelled() => Exit::killed(),
            Err(error) => Exit::not_started(&format!("the runtime failed: {error}")),
        };
        let [stdout, stderr] = outputs.map(|output| output.contents());
        Ok(Output { code: exit.code, stdout, stderr })
    }
}
