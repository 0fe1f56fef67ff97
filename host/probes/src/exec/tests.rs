//! Commands on a runtime by script.

use async_trait::async_trait;
use witlet_core::runtime::{ContainerConfig, ExecOutput, LinuxResources, SandboxConfig, SandboxId};

use super::*;

/// A runtime that does nothing but run one command so.
struct Runs(Option<Result<ExecOutput, RuntimeError>>);

fn refused<T>(call: &'static str) -> Result<T, RuntimeError> {
    Err(RuntimeError::Unimplemented { call, message: String::new() })
}

#[async_trait]
impl Containers for Runs {
    async fn create(
        &self,
        _: &SandboxId,
        _: &ContainerConfig,
        _: &SandboxConfig,
    ) -> Result<ContainerId, RuntimeError> {
        refused("CreateContainer")
    }

    async fn start(&self, _: &ContainerId) -> Result<(), RuntimeError> {
        refused("StartContainer")
    }

    async fn stop(&self, _: &ContainerId, _: Duration) -> Result<(), RuntimeError> {
        refused("StopContainer")
    }

    async fn remove(&self, _: &ContainerId) -> Result<(), RuntimeError> {
        refused("RemoveContainer")
    }

    async fn update_resources(&self, _: &ContainerId, _: &LinuxResources) -> Result<(), RuntimeError> {
        refused("UpdateContainerResources")
    }

    async fn exec_sync(
        &self,
        id: &ContainerId,
        command: &[String],
        timeout: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        assert_eq!(
            (id.as_str(), command, timeout),
            ("a1", &command_line()[..], Some(Duration::from_secs(3)))
        );
        match &self.0 {
            Some(result) => result.clone(),
            None => std::future::pending().await,
        }
    }

    async fn reopen_log(&self, _: &ContainerId) -> Result<(), RuntimeError> {
        refused("ReopenContainerLog")
    }
}

fn command_line() -> [String; 2] {
    ["cat".to_owned(), "/tmp/healthy".to_owned()]
}

fn output(exit_code: i32, stdout: &str, stderr: &str) -> ExecOutput {
    ExecOutput { stdout: stdout.into(), stderr: stderr.into(), exit_code }
}

async fn of(result: Option<Result<ExecOutput, RuntimeError>>) -> Result<ProbeOutcome, ProbeError> {
    probe(&Runs(result), &"a1".into(), &command_line(), Duration::from_secs(3)).await
}

#[tokio::test(start_paused = true)]
async fn the_exit_code_decides_and_both_outputs_are_told() {
    let large = "x".repeat(50_000);
    let cases = [
        (output(0, "", ""), ProbeOutcome::Success(String::new())),
        (output(0, "out", "err"), ProbeOutcome::Success("outerr".to_owned())),
        (output(1, "", "no such file"), ProbeOutcome::Failure("no such file".to_owned())),
        (output(-1, "a", ""), ProbeOutcome::Failure("a".to_owned())),
        (output(137, &large, "never seen"), ProbeOutcome::Failure("x".repeat(OUTPUT_BYTES_MAX))),
    ];
    for (output, expected) in cases {
        assert_eq!(of(Some(Ok(output.clone()))).await, Ok(expected), "exit code {}", output.exit_code);
    }
}

#[tokio::test(start_paused = true)]
async fn too_long_is_a_failure_whoever_notices() {
    let limit = Duration::from_secs(3);
    let expected = Ok(ProbeOutcome::Failure("command \"cat /tmp/healthy\" timed out after 3s".to_owned()));
    assert_eq!(of(Some(Err(RuntimeError::DeadlineExceeded { call: "ExecSync", limit }))).await, expected);
    assert_eq!(of(None).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_cant_run_it_is_an_error() {
    let gone = RuntimeError::NotFound { call: "ExecSync", message: "container a1".to_owned() };
    let message = gone.to_string();
    assert_eq!(of(Some(Err(gone))).await, Err(ProbeError { message }));
}
