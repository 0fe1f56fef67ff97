//! The server that is probed, in a process of its own so that its costs aren't counted.

use std::convert::Infallible;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::measure::{self, describe};

/// The argument that makes this program the server.
pub(crate) const COMMAND: &str = "serve-http";
/// What a healthy program says.
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
/// How many connections are served at once.
const CONNECTIONS_MAX: usize = 1024;

/// A server that ends with this.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
}

impl Server {
    /// Starts one on a free port of loopback.
    pub(crate) fn start() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(describe)?;
        let mut process = Command::new(program)
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(describe)?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(describe)?;
        }
        let port = line.trim().parse().map_err(|error| format!("the server says {line:?}: {error}"))?;
        Ok(Self { process, port })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is this program's, and one that has ended already is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Answers each request and hangs up, until its parent process ends.
pub(crate) fn serve() -> Result<(), String> {
    measure::runtime()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(describe)?;
        tell(listener.local_addr().map_err(describe)?.port());
        let mut input = tokio::io::stdin();
        let mut ignored = [0; 16];
        tokio::select! {
            failed = accept(listener) => match failed {
                Ok(never) => match never {},
                Err(error) => Err(describe(error)),
            },
            _ = input.read(&mut ignored) => Ok(()),
        }
    })
}

#[allow(clippy::print_stdout, reason = "its parent reads the port from there")]
fn tell(port: u16) {
    println!("{port}");
}

async fn accept(listener: TcpListener) -> std::io::Result<Infallible> {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        while connections.len() >= CONNECTIONS_MAX || connections.try_join_next().is_some() {
            if connections.len() >= CONNECTIONS_MAX {
                connections.join_next().await;
            }
        }
        connections.spawn(answer(stream));
    }
}

/// A client that goes away is no concern of the server's.
async fn answer(mut stream: TcpStream) {
    let mut head = Vec::with_capacity(1024);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_buf(&mut head).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
    let _ = stream.write_all(ANSWER).await;
    let _ = stream.shutdown().await;
}
