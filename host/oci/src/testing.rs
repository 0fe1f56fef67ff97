//! A registry that is played, for tests: it answers as a script says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::retry::{self, Attempt};

/// Decides of another attempt as the crate does, and has nothing wait for it.
pub(crate) fn at_once(attempts: u32, last: Attempt) -> Option<Duration> {
    retry::wait(attempts, last).map(|_| Duration::ZERO)
}

/// Answers by what was asked.
type Script = Arc<dyn Fn(&ReceivedRequest) -> ScriptedResponse + Send + Sync>;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) authorization: Option<String>,
    pub(crate) body: String,
}

pub(crate) enum ScriptedResponse {
    Whole(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Headers and a part of the body, then nothing more.
    Stuck(u64, Vec<u8>),
    /// The same, then the end of the connection.
    Cut(u64, Vec<u8>),
}

pub(crate) fn ok(body: impl Into<Vec<u8>>) -> ScriptedResponse {
    ScriptedResponse::Whole(200, Vec::new(), body.into())
}

pub(crate) fn status(code: u16) -> ScriptedResponse {
    ScriptedResponse::Whole(code, Vec::new(), Vec::new())
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
    _tasks: JoinSet<()>,
}

impl Server {
    pub(crate) async fn start(
        script: impl Fn(&ReceivedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (script, asked): (Script, Arc<Mutex<Vec<ReceivedRequest>>>) = (Arc::new(script), Arc::default());
        let mut tasks = JoinSet::new();
        let log = asked.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, script.clone(), log.clone()));
            }
        });
        Self { address, asked, _tasks: tasks }
    }

    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().expect("not poisoned").clone()
    }
}

async fn serve(mut stream: TcpStream, script: Script, log: Arc<Mutex<Vec<ReceivedRequest>>>) {
    let mut text = Vec::new();
    let mut part = [0; 4096];
    let whole = |text: &[u8]| {
        let text = String::from_utf8_lossy(text).into_owned();
        let (head, body) = text.split_once("\r\n\r\n")?;
        let header = |name: &str| {
            head.lines().find_map(|line| {
                let (key, value) = line.split_once(": ")?;
                key.eq_ignore_ascii_case(name).then(|| value.to_owned())
            })
        };
        let length = header("content-length").map_or(0, |length| length.parse().expect("a number"));
        (body.len() >= length).then(|| {
            let target = head.split(' ').nth(1).expect("a target");
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            ReceivedRequest {
                method: head.split(' ').next().unwrap_or_default().to_owned(),
                path: path.to_owned(),
                query: query.to_owned(),
                authorization: header("authorization"),
                body: body.to_owned(),
            }
        })
    };
    let asked = loop {
        if let Some(asked) = whole(&text) {
            break asked;
        }
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(read) => text.extend_from_slice(&part[..read]),
        }
    };
    log.lock().expect("not poisoned").push(asked.clone());
    let (head, body, stuck) = match script(&asked) {
        ScriptedResponse::Whole(status, headers, body) => {
            let headers: String =
                headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            (format!("HTTP/1.1 {status} x\r\n{headers}content-length: {}\r\n\r\n", body.len()), body, false)
        }
        ScriptedResponse::Stuck(length, body) => {
            (format!("HTTP/1.1 200 x\r\ncontent-length: {length}\r\n\r\n"), body, true)
        }
        ScriptedResponse::Cut(length, body) => {
            (format!("HTTP/1.1 200 x\r\ncontent-length: {length}\r\n\r\n"), body, false)
        }
    };
    // The client may have seen enough before all is written.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&body).await;
    if stuck {
        std::future::pending::<()>().await;
    }
    let _ = stream.shutdown().await;
}
