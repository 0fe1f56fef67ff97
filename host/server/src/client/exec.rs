//! A command in a container, over the streams of SPDY that the runtime's streaming server has.
//!
//! SPDY and not a WebSocket, because every runtime takes it and its streams end one by one: a command can learn that its input
//! has ended. Runtimes take WebSockets only with protocols that can't say so.

use std::io;
use std::time::Duration;

use http_body_util::Empty;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, mpsc};

use super::local::{ClientError, LocalClient};
use crate::spdy::{self, Frame};

#[cfg(test)]
mod tests;

/// How long the agent and the runtime may take to begin a command.
const BEGIN_DEADLINE: Duration = Duration::from_secs(60);

/// The version of the streams whose `error` has a Status at the end.
const PROTOCOL: &str = "v4.channel.k8s.io";

/// Bytes of input that are on their way.
const INPUT_BYTES: usize = 32 * 1024;

/// Bytes of the report on how a command ended.
const REPORT_BYTES_MAX: usize = 64 * 1024;

/// A command, and where it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecOptions {
    pub namespace: String,
    pub pod: String,
    /// One of its containers.
    pub container: String,
    /// The command and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// Whether it gets input.
    pub stdin: bool,
    /// Whether it runs in a terminal, which has one way out.
    pub tty: bool,
}

/// What a command is connected with.
pub struct ExecStreams<'a, I, O, E> {
    pub stdin: I,
    pub stdout: &'a mut O,
    pub stderr: &'a mut E,
    /// Sizes of the terminal, the one at the beginning among them. Closed where there is none.
    pub sizes: mpsc::Receiver<TerminalSize>,
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    pub width: u16,
    pub height: u16,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecEnd {
    /// With this exit code.
    Exited(i32),
    /// It could not be run, or what became of it isn't known, in the runtime's words.
    Failed(String),
}

/// Why nothing is known of a command.
#[derive(Debug, Error)]
pub enum ExecError {
    /// The agent couldn't be asked, or refused.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// What the command wrote couldn't be passed on.
    #[error("failed to write the output of the command")]
    Output(#[source] io::Error),
    /// The streams ended before the command did.
    #[error("the streams of the command broke off")]
    Streams(#[source] io::Error),
}

/// The numbers of streams.
struct StreamIds {
    error: u32,
    stdin: Option<u32>,
    stdout: u32,
    stderr: Option<u32>,
    resize: Option<u32>,
}

impl LocalClient {
    /// Runs a command in a container until it has ended.
    ///
    /// # Errors
    /// No agent answers, it refuses the command, or the streams break off.
    pub async fn exec<I, O, E>(
        &self,
        options: &ExecOptions,
        streams: ExecStreams<'_, I, O, E>,
    ) -> Result<ExecEnd, ExecError>
    where
        I: AsyncRead + Unpin,
        O: AsyncWrite + Unpin,
        E: AsyncWrite + Unpin,
    {
        let path = path(options);
        let message = Request::post(&path)
            .header("connection", "Upgrade")
            .header("upgrade", "SPDY/3.1")
            .header("x-stream-protocol-version", PROTOCOL)
            .body(Empty::new())
            .map_err(|cause| self.bad_answer(&path, &cause))?;
        let begun = tokio::time::timeout(BEGIN_DEADLINE, self.send(message)).await;
        let (response, _connection) =
            begun.map_err(|_| ClientError::TimedOut { path: self.socket.clone() })??;
        let response = self.accepted(response).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(self.bad_answer(&path, &response.status()).into());
        }
        let upgraded = hyper::upgrade::on(response).await;
        let upgraded = upgraded.map_err(|cause| self.bad_answer(&path, &cause))?;
        carry(TokioIo::new(upgraded), options, streams).await
    }
}

fn path(options: &ExecOptions) -> String {
    let ExecOptions { namespace, pod, container, command, stdin, tty } = options;
    let mut path = format!("/exec/{namespace}/{pod}/{container}?output=1");
    for (name, is_requested) in [("input", *stdin), ("error", !tty), ("tty", *tty)] {
        if is_requested {
            path.push_str(&format!("&{name}=1"));
        }
    }
    for word in command {
        path.push_str(&format!("&command={}", utf8_percent_encode(word, NON_ALPHANUMERIC)));
    }
    path
}

/// Opens the streams, and carries what is in them until the command has ended.
async fn carry<I, O, E>(
    connection: impl AsyncRead + AsyncWrite,
    options: &ExecOptions,
    streams: ExecStreams<'_, I, O, E>,
) -> Result<ExecEnd, ExecError>
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin,
    E: AsyncWrite + Unpin,
{
    let ExecStreams { stdin, stdout, stderr, mut sizes } = streams;
    let (mut from, mut to) = tokio::io::split(connection);
    let ids = open(&mut to, options).await.map_err(ExecError::Streams)?;
    let to = Mutex::new(to);
    let input = async {
        if let Some(id) = ids.stdin {
            send_input(stdin, id, &to).await;
        }
    };
    let resizing = async {
        while let (Some(id), Some(TerminalSize { width, height })) = (ids.resize, sizes.recv().await) {
            let size = format!("{}\n", json!({"Width": width, "Height": height}));
            // Who takes nothing any more has something to say of its end.
            let _ = spdy::data(&mut *to.lock().await, id, size.as_bytes()).await;
        }
    };
    let sending = async {
        tokio::join!(input, resizing);
        std::future::pending().await
    };
    tokio::select! {
        ended = receive(&mut from, &to, &ids, stdout, stderr) => ended,
        never = sending => never,
    }
}

async fn open(to: &mut (impl AsyncWrite + Unpin), options: &ExecOptions) -> io::Result<StreamIds> {
    let mut next = 1;
    let mut opened = async |kind: &str, is_requested: bool| -> io::Result<Option<u32>> {
        if !is_requested {
            return Ok(None);
        }
        let id = next;
        next += 2;
        spdy::open(to, id, &[("streamtype", kind)]).await?;
        Ok(Some(id))
    };
    let error = opened("error", true).await?.unwrap_or_default();
    let stdin = opened("stdin", options.stdin).await?;
    let stdout = opened("stdout", true).await?.unwrap_or_default();
    let stderr = opened("stderr", !options.tty).await?;
    let resize = opened("resize", options.tty).await?;
    Ok(StreamIds { error, stdin, stdout, stderr, resize })
}

/// Sends all input, and then that there is no more.
async fn send_input(mut stdin: impl AsyncRead + Unpin, id: u32, to: &Mutex<impl AsyncWrite + Unpin>) {
    let mut bytes = vec![0; INPUT_BYTES];
    loop {
        // An input that can't be read has ended.
        let read = stdin.read(&mut bytes).await.unwrap_or(0);
        let mut to = to.lock().await;
        let sent = match read {
            0 => spdy::end(&mut *to, id).await,
            read => spdy::data(&mut *to, id, &bytes[..read]).await,
        };
        if read == 0 || sent.is_err() {
            return;
        }
    }
}

/// Takes what the command writes until all streams have ended.
async fn receive(
    from: &mut (impl AsyncRead + Unpin),
    to: &Mutex<impl AsyncWrite + Unpin>,
    ids: &StreamIds,
    stdout: &mut (impl AsyncWrite + Unpin),
    stderr: &mut (impl AsyncWrite + Unpin),
) -> Result<ExecEnd, ExecError> {
    let mut running: Vec<u32> =
        [Some(ids.error), Some(ids.stdout), ids.stderr].into_iter().flatten().collect();
    let mut report = Vec::new();
    while !running.is_empty() {
        match spdy::read(from).await {
            Ok(Frame::Data { id, bytes, ends }) => {
                if id == ids.stdout {
                    write(stdout, &bytes).await?;
                } else if Some(id) == ids.stderr {
                    write(stderr, &bytes).await?;
                } else if id == ids.error && report.len() + bytes.len() <= REPORT_BYTES_MAX {
                    report.extend(bytes);
                }
                running.retain(|other| *other != id || !ends);
            }
            Ok(Frame::Ended(id)) => running.retain(|other| *other != id),
            // While input is being sent, that is a sign of life, too.
            Ok(Frame::Ping(payload)) => {
                if let Ok(mut to) = to.try_lock() {
                    let _ = spdy::pong(&mut *to, &payload).await;
                }
            }
            Ok(Frame::Accepted(_) | Frame::Other) => {}
            Err(_) if !report.is_empty() => break,
            Err(error) => return Err(ExecError::Streams(error)),
        }
    }
    Ok(end(&report))
}

async fn write(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> Result<(), ExecError> {
    to.write_all(bytes).await.map_err(ExecError::Output)?;
    to.flush().await.map_err(ExecError::Output)
}

/// How a command ended, by the Status in the stream of errors.
fn end(report: &[u8]) -> ExecEnd {
    let shown = || String::from_utf8_lossy(report).trim().to_owned();
    let Ok(status) = serde_json::from_slice::<Value>(report) else {
        let shown = shown();
        let unknown = "the runtime did not report how the command ended".to_owned();
        return ExecEnd::Failed(if shown.is_empty() { unknown } else { shown });
    };
    if status["status"] == "Success" {
        return ExecEnd::Exited(0);
    }
    let causes = status["details"]["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let code = causes.iter().find(|cause| cause["reason"] == "ExitCode");
    let code = code.and_then(|cause| cause["message"].as_str()?.parse().ok());
    match (code, status["message"].as_str()) {
        (Some(code), _) => ExecEnd::Exited(code),
        (None, Some(message)) => ExecEnd::Failed(message.to_owned()),
        (None, None) => ExecEnd::Failed(shown()),
    }
}
