//! Watches: what changes is printed until the process is asked to stop, over restarts of the agent, too.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use witlet_server::{ClientError, LineStream, LocalClient};

use super::error::GetError;
use crate::cli::OutputFormat;
use crate::output::{OutputError, note, print_on, structured};
use crate::run::signals::stopping;

#[cfg(test)]
mod tests;

/// How long an agent that is away is waited for before it is asked again.
const RETRY: Duration = Duration::from_secs(1);

/// HTTP's 410: the agent forgot events before they were read.
const GONE: u64 = 410;

/// A line of a watch.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Change {
    /// `ADDED`, `MODIFIED`, `DELETED` or `ERROR`.
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// What it is about, as it is now.
    pub(super) object: Value,
}

/// What is watched, and how it is shown.
pub(super) trait Watched {
    /// Returns what brings the changes that come next.
    fn request(&self) -> String;
    /// Returns what is printed of a change; nothing if it is left out.
    fn show(&mut self, change: Change) -> Result<Option<String>, OutputError>;
}

/// A change as JSON on a line, or as a document of YAML.
pub(super) fn document(change: &Change, output: OutputFormat) -> Result<String, OutputError> {
    if output == OutputFormat::Yaml {
        return Ok(format!("---\n{}", structured(change, output)?));
    }
    let line = serde_json::to_string(change).map_err(OutputError::Json)?;
    Ok(format!("{line}\n"))
}

/// Prints what changes until the process is asked to stop, or no one reads any more.
pub(super) async fn follow(socket: &Path, watched: &mut impl Watched) -> Result<(), GetError> {
    let stop = CancellationToken::new();
    let watching = async {
        tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            ended = go_on(socket, watched) => ended,
        }
    };
    stopping(watching, stop.clone()).await
}

async fn go_on(socket: &Path, watched: &mut impl Watched) -> Result<(), GetError> {
    let client = LocalClient::new(socket);
    let (mut has_begun, mut is_away) = (false, false);
    loop {
        match client.lines(&watched.request()).await {
            Ok(lines) => {
                if std::mem::take(&mut is_away) {
                    note("Reconnected to the agent.");
                }
                has_begun = true;
                if !print_all(lines, watched).await? {
                    return Ok(());
                }
            }
            Err(error @ ClientError::Denied { .. }) => return Err(error.into()),
            Err(error) if !has_begun => return Err(error.into()),
            Err(_) => {}
        }
        if !std::mem::replace(&mut is_away, true) {
            note("Lost the connection to the agent, reconnecting (Ctrl-C to stop).");
        }
        sleep(RETRY).await;
    }
}

/// Prints the lines of one connection. Says whether there is still a reader.
async fn print_all(mut lines: LineStream, watched: &mut impl Watched) -> Result<bool, GetError> {
    loop {
        let change = match lines.next::<Change>().await {
            Ok(Some(change)) => change,
            Ok(None) | Err(ClientError::Ended { .. }) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        if change.kind == "ERROR" && change.object["code"].as_u64() == Some(GONE) {
            note("Some events were missed: the agent keeps the newest ones only.");
            continue;
        }
        if let Some(text) = watched.show(change)?
            && !print_on(&text)?
        {
            return Ok(false);
        }
    }
}
