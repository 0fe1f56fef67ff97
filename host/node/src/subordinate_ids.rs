//! Ids that the machine's administrator delegated to the user `kubelet` for pods with user namespaces (`/etc/subuid`,
//! `/etc/subgid`, or a service behind `getsubids`; upstream: `getKubeletMappings`).

use std::io;
use std::process::Stdio;
use std::time::Duration;

use nix::unistd::User;
use thiserror::Error;
use tokio::process::Command;
use tokio::time::timeout;
use witlet_core::pod::user_namespace::{IdRange, IdRangeError};

#[cfg(test)]
mod tests;

const USER: &str = "kubelet";
const PROGRAM: &str = "getsubids";
/// The program may ask a service elsewhere.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// It isn't known which ids pods may have. An agent that guessed could give them another user's.
#[derive(Debug, Error)]
pub enum SubordinateIdsError {
    /// The machine's list of users can't be read.
    #[error("failed to look up the user {USER:?}")]
    User(#[source] io::Error),
    /// The program can't be run.
    #[error("failed to run {program} for the user {user:?}")]
    Run {
        program: String,
        user: String,
        #[source]
        cause: io::Error,
    },
    /// The program failed. Where the user exists it has to have ids.
    #[error("{program} for the user {user:?} ended with {status}: {message}")]
    Failed {
        program: String,
        user: String,
        status: String,
        /// The end of what it said.
        message: String,
    },
    /// The ids can't be pods'.
    #[error(transparent)]
    Range(#[from] IdRangeError),
}

/// The ids that pods may have on a node that runs up to `pods_max` pods: those of the user `kubelet`; all above the first 65,536
/// where that user or `getsubids` doesn't exist.
///
/// # Errors
/// When the user and the program exist and don't give one usable range for users and groups.
pub async fn subordinate_ids(pods_max: u32) -> Result<IdRange, SubordinateIdsError> {
    of_user(USER, &[PROGRAM], pods_max).await
}

/// `command` is the program, and the arguments that come before its own.
async fn of_user(user: &str, command: &[&str], pods_max: u32) -> Result<IdRange, SubordinateIdsError> {
    let name = user.to_owned();
    let known = tokio::task::spawn_blocking(move || User::from_name(&name)).await;
    let known = known.unwrap_or(Err(nix::Error::ECANCELED));
    if known.map_err(|error| SubordinateIdsError::User(error.into()))?.is_none() {
        tracing::debug!(user, "user namespaces: user not found, using default mappings");
        return Ok(IdRange::default());
    }
    let Some(users) = output(command, &[user]).await? else {
        tracing::info!(program = PROGRAM, "user namespaces: executable not found, using default mappings");
        return Ok(IdRange::default());
    };
    let groups = output(command, &["-g", user]).await?.unwrap_or_default();
    Ok(IdRange::delegated(&users, &groups, pods_max)?)
}

/// What the program prints; none if there is no such program.
async fn output(command: &[&str], arguments: &[&str]) -> Result<Option<String>, SubordinateIdsError> {
    let (program, before) =
        command.split_first().expect("the constant, and the tests', begin with a program");
    let user = || arguments.last().copied().unwrap_or_default().to_owned();
    let run =
        Command::new(program).args(before).args(arguments).stdin(Stdio::null()).kill_on_drop(true).output();
    let output =
        match timeout(ANSWER_TIMEOUT, run).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(output) => output,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => {
                return Err(SubordinateIdsError::Run { program: (*program).to_owned(), user: user(), cause });
            }
        };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let message = said.lines().last().unwrap_or("no reason given").to_owned();
        let (program, status) = ((*program).to_owned(), output.status.to_string());
        return Err(SubordinateIdsError::Failed { program, user: user(), status, message });
    }
    Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
}
