//! A runtime that has nothing but commands, which end as a case says.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use witlet_core::runtime::{ContainerId, ExecOutput};
use witlet_ports::{CommandRunner, RuntimeError};

use super::bytes::bytes;

/// The call that runs commands, as the runtime's client names it.
const EXEC_CALL: &str = "ExecSync";
const COMMANDS_MAX: usize = 1024;

/// How one command ends: by itself, not before the probe's time is over, or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ExecAnswer {
    pub(crate) command: Vec<String>,
    /// 0 if nothing is said.
    exit_code: Option<i32>,
    #[serde(default, deserialize_with = "bytes")]
    output: Vec<u8>,
    #[serde(default, deserialize_with = "bytes")]
    error_output: Vec<u8>,
    /// It is still running when the probe's time is over.
    #[serde(default)]
    timed_out: bool,
    /// The runtime can't run it, in these words.
    failed: Option<String>,
}

impl ExecAnswer {
    /// Returns what is wrong with what a case file says.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let ends = [self.exit_code.is_some(), self.timed_out, self.failed.is_some()];
        let several = ends.into_iter().filter(|end| *end).count() > 1;
        several.then_some("a command ends in one way: `exitCode` and `output`, `timedOut`, or `failed`")
    }

    /// Whether it ends by itself, and well.
    pub(crate) fn succeeds(&self) -> bool {
        !self.timed_out && self.failed.is_none() && self.exit_code.is_none_or(|code| code == 0)
    }
}

/// Answers commands as its case says, and any other one with an error. Records what was run.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    answers: Vec<ExecAnswer>,
    ran: Mutex<Vec<Vec<String>>>,
}

impl Commands {
    pub(crate) fn new(answers: Vec<ExecAnswer>) -> Self {
        Self { answers, ran: Mutex::default() }
    }

    /// The commands that were run since this was last asked.
    pub(crate) fn take(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut *self.ran.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl CommandRunner for Commands {
    async fn exec_sync(
        &self,
        _id: &ContainerId,
        command: &[String],
        timeout: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        {
            let mut ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
            if ran.len() < COMMANDS_MAX {
                ran.push(command.to_vec());
            }
        }
        let Some(answer) = self.answers.iter().find(|answer| answer.command == command) else {
            let message = format!("the case has no answer to {command:?}");
            return Err(RuntimeError::failed(EXEC_CALL, message));
        };
        if let Some(message) = &answer.failed {
            return Err(RuntimeError::failed(EXEC_CALL, message.clone()));
        }
        if answer.timed_out {
            let limit = timeout.unwrap_or_default();
            tokio::time::sleep(limit).await;
            return Err(RuntimeError::DeadlineExceeded { call: EXEC_CALL, limit });
        }
        let (stdout, stderr) = (answer.output.clone(), answer.error_output.clone());
        Ok(ExecOutput { stdout, stderr, exit_code: answer.exit_code.unwrap_or(0) })
    }
}
