//! A runtime that has nothing but commands, which end as a case says.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use witlet_core::runtime::{
    ContainerConfig, ContainerId, ExecOutput, LinuxResources, SandboxConfig, SandboxId,
};
use witlet_ports::{Containers, RuntimeError};

use super::bytes::bytes;

/// The call that runs commands, as the runtime's client names it.
const EXEC_CALL: &str = "ExecSync";
/// How many commands are remembered.
const HEARD_MAX: usize = 1024;

/// How one command ends.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ExecDocument")]
pub(crate) struct ExecAnswer {
    /// The command, word by word.
    pub(crate) command: Vec<String>,
    /// What comes of it.
    pub(crate) end: ExecEnd,
}

/// How a command ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExecEnd {
    /// By itself.
    Exit {
        /// Its code.
        code: i32,
        /// What it wrote.
        output: Vec<u8>,
    },
    /// It is still running when the probe's time is over.
    TimedOut,
    /// The runtime can't run it, in these words.
    Failed(String),
}

/// One of `execs`, as a case file writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ExecDocument {
    command: Vec<String>,
    exit_code: Option<i32>,
    #[serde(default, deserialize_with = "bytes")]
    output: Vec<u8>,
    #[serde(default)]
    timed_out: bool,
    failed: Option<String>,
}

impl TryFrom<ExecDocument> for ExecAnswer {
    type Error = &'static str;

    fn try_from(document: ExecDocument) -> Result<Self, Self::Error> {
        let ExecDocument { command, exit_code, output, timed_out, failed } = document;
        let end = match (exit_code, timed_out, failed) {
            (code, false, None) => ExecEnd::Exit { code: code.unwrap_or(0), output },
            (None, true, None) => ExecEnd::TimedOut,
            (None, false, Some(words)) => ExecEnd::Failed(words),
            (Some(_), ..) | (None, true, Some(_)) => {
                return Err("a command ends in one way: `exitCode` and `output`, `timedOut`, or `failed`");
            }
        };
        Ok(Self { command, end })
    }
}

/// Answers commands as it was told, and any other one with an error. Remembers what was run.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    answers: Vec<ExecAnswer>,
    heard: Mutex<Vec<Vec<String>>>,
}

impl Commands {
    /// With these answers.
    pub(crate) fn new(answers: Vec<ExecAnswer>) -> Self {
        Self { answers, heard: Mutex::default() }
    }

    /// The commands that were run since this was last asked.
    pub(crate) fn take(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn not_here<T>(call: &'static str) -> Result<T, RuntimeError> {
    Err(RuntimeError::Unimplemented { call, message: "there is no container here".to_owned() })
}

#[async_trait]
impl Containers for Commands {
    async fn create(
        &self,
        _sandbox: &SandboxId,
        _config: &ContainerConfig,
        _sandbox_config: &SandboxConfig,
    ) -> Result<ContainerId, RuntimeError> {
        not_here("CreateContainer")
    }

    async fn start(&self, _id: &ContainerId) -> Result<(), RuntimeError> {
        not_here("StartContainer")
    }

    async fn stop(&self, _id: &ContainerId, _grace: Duration) -> Result<(), RuntimeError> {
        not_here("StopContainer")
    }

    async fn remove(&self, _id: &ContainerId) -> Result<(), RuntimeError> {
        not_here("RemoveContainer")
    }

    async fn update_resources(
        &self,
        _id: &ContainerId,
        _resources: &LinuxResources,
    ) -> Result<(), RuntimeError> {
        not_here("UpdateContainerResources")
    }

    async fn exec_sync(
        &self,
        _id: &ContainerId,
        command: &[String],
        timeout: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            if heard.len() < HEARD_MAX {
                heard.push(command.to_vec());
            }
        }
        match self.answers.iter().find(|answer| answer.command == command).map(|answer| &answer.end) {
            Some(ExecEnd::Exit { code, output }) => {
                Ok(ExecOutput { stdout: output.clone(), stderr: Vec::new(), exit_code: *code })
            }
            Some(ExecEnd::TimedOut) => {
                let limit = timeout.unwrap_or_default();
                tokio::time::sleep(limit).await;
                Err(RuntimeError::DeadlineExceeded { call: EXEC_CALL, limit })
            }
            Some(ExecEnd::Failed(message)) => Err(RuntimeError::failed(EXEC_CALL, message.clone())),
            None => {
                let message = format!("the case has no answer to {command:?}");
                Err(RuntimeError::failed(EXEC_CALL, message))
            }
        }
    }

    async fn reopen_log(&self, _id: &ContainerId) -> Result<(), RuntimeError> {
        not_here("ReopenContainerLog")
    }
}
