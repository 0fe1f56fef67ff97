//! `witlet exec`: a command in a container, over the agent's own socket.

use std::convert::Infallible;
use std::process::ExitCode;

use thiserror::Error;
use tokio::io::{stderr, stdin, stdout};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use witlet_server::{ExecEnd, ExecError, ExecOptions, ExecStreams, LocalClient, TerminalSize};

use crate::cli::ExecArgs;
use crate::get::error::GetError;
use crate::logs::{Target, target};
use crate::output::note;
use crate::run::signals::{StopSignal, stopping_for};
use crate::terminal::{self, KeyMode, Keys, Size};

#[cfg(test)]
mod tests;

/// Sizes that wait to be sent; the terminal has the newest soon enough.
const SIZES_MAX: usize = 4;

/// Why a command wasn't run.
#[derive(Debug, Error)]
pub(crate) enum ExecCommandError {
    /// It isn't known where.
    #[error(transparent)]
    Target(#[from] GetError),
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// The runtime can't run it.
    #[error("failed to run the command in container {container:?} of pod {pod:?}: {reason}")]
    NotRun { pod: String, container: String, reason: String },
}

/// Runs the command, and gives its exit code.
pub(crate) async fn run(args: &ExecArgs) -> Result<ExitCode, ExecCommandError> {
    let client = LocalClient::new(&args.target.api_socket);
    let target = target(&client, &args.target).await?;
    let is_terminal = terminal::is_input();
    if args.tty && args.stdin && !is_terminal {
        note("Unable to use a TTY: standard input is not a terminal");
    }
    let options = options(&target, args, is_terminal);
    let _keys = options.tty.then(|| KeyMode::set(Keys::Raw));
    let (sender, asked) = oneshot::channel();
    let running = async {
        tokio::select! {
            biased;
            Ok(signal) = asked => Ok(ExecOutcome::Stopped(signal)),
            ended = connected(&client, &options) => ended.map(ExecOutcome::Command),
        }
    };
    // The terminal is restored however the command ends.
    let ended = stopping_for(running, |signal| {
        // Where none waits for it any more, the command has ended.
        let _ = sender.send(signal);
    })
    .await?;
    let (code, said) = match ended {
        ExecOutcome::Command(ExecEnd::Failed(reason)) => {
            let Target { pod, container, .. } = target;
            return Err(ExecCommandError::NotRun { pod, container, reason });
        }
        ExecOutcome::Command(ExecEnd::Exited(code)) => (code, said_of_command(code)),
        ExecOutcome::Stopped(signal) => (signal.exit_code(), Some(said_of_signal(signal))),
    };
    if let Some(said) = said {
        note(&said);
    }
    Ok(ExitCode::from(byte(code)))
}

/// How it came to its end.
enum ExecOutcome {
    Command(ExecEnd),
    /// A signal to this process. Nothing is known of the command.
    Stopped(StopSignal),
}

/// Both sides have a terminal or neither has: with one on this side only, Ctrl-C would be a key that no process reads.
fn options(target: &Target, args: &ExecArgs, is_terminal: bool) -> ExecOptions {
    let Target { namespace, pod, container } = target.clone();
    let tty = args.tty && args.stdin && is_terminal;
    ExecOptions { namespace, pod, container, command: args.command.clone(), stdin: args.stdin, tty }
}

/// Runs the command with this process's streams and the size of its terminal.
async fn connected(client: &LocalClient, options: &ExecOptions) -> Result<ExecEnd, ExecError> {
    let (sender, sizes) = mpsc::channel(SIZES_MAX);
    let (mut output, mut errors) = (stdout(), stderr());
    let streams = ExecStreams { stdin: stdin(), stdout: &mut output, stderr: &mut errors, sizes };
    // The end of the sizes isn't that of the command.
    let sizes_then_nothing = async {
        send_sizes(sender, options.tty).await;
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        ended = client.exec(options, streams) => ended,
        never = sizes_then_nothing => match never {},
    }
}

/// Sends the terminal's size, and each that it gets.
async fn send_sizes(sender: mpsc::Sender<TerminalSize>, tty: bool) {
    let Some(mut changes) = signal(SignalKind::window_change()).ok().filter(|_| tty) else { return };
    loop {
        if let Some(Size { width, height }) = terminal::size() {
            // Where none is taken any more, the command has ended.
            let _ = sender.send(TerminalSize { width, height }).await;
        }
        if changes.recv().await.is_none() {
            return;
        }
    }
}

/// Returns what is said of a command that failed, in kubectl's words.
fn said_of_command(code: i32) -> Option<String> {
    (code != 0).then(|| format!("command terminated with exit code {code}"))
}

/// The command is another process, elsewhere: only this one is known to have ended.
fn said_of_signal(signal: StopSignal) -> String {
    format!("stopped by {}; the command in the container may still run", signal.name())
}

/// The exit code of this process: that of the command, or of a signal; 1 for one that has no place in a byte.
fn byte(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(1)
}
