//! Servers on loopback that do as a case says.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::address::address;
use super::bytes::bytes;
use super::tls;

/// How many connections of one server are served at the same time.
const CONNECTIONS_MAX: usize = 64;
/// How many bytes a server reads in one turn.
const RECEIVED_BYTES_MAX: usize = 256 << 10;
const CONVERSATIONS_MAX: usize = 64;
/// Between two bytes of a server that drips.
const DRIP_PERIOD: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerScript {
    /// Where it listens, on the case's address.
    pub(crate) port: u16,
    #[serde(default)]
    pub(crate) protocol: Protocol,
    /// Whether connections begin with TLS. The authority of cases vouches for the case's address.
    #[serde(default)]
    pub(crate) tls: bool,
    #[serde(default)]
    pub(crate) behaviour: Behaviour,
    /// What it says where it holds a conversation.
    #[serde(default)]
    pub(crate) dialog: Vec<DialogTurn>,
    /// What it answers to requests.
    #[serde(default)]
    pub(crate) http: Vec<HttpAnswer>,
}

impl ServerScript {
    /// Returns what is wrong with what a case file says.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let Self { behaviour, dialog, http, .. } = self;
        if self.tls && self.protocol == Protocol::Udp {
            return Some("`tls` is for TCP: remove it or `protocol: UDP`");
        }
        match (behaviour, dialog.is_empty(), http.is_empty()) {
            (Behaviour::Answer, false, true) | (Behaviour::Answer, true, false) => None,
            (Behaviour::Drip, false, true) => None,
            (Behaviour::Drip, true, _) => Some("`dialog` is missing: what is it that drips?"),
            (Behaviour::Answer, ..) | (_, false, _) | (_, _, false) => {
                Some("a server has one of `behaviour`, `dialog` and `http`")
            }
            (_, true, true) => None,
        }
    }

    /// The same server that does something else; one that drips says what it would have said.
    pub(crate) fn harmed(&self, behaviour: Behaviour) -> Self {
        let mut harmed = Self { behaviour, ..self.clone() };
        if behaviour == Behaviour::Drip && harmed.dialog.is_empty() {
            let send = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n".to_vec();
            harmed.dialog.push(DialogTurn { send, ..DialogTurn::default() });
        }
        harmed
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Protocol {
    #[default]
    Tcp,
    Udp,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Behaviour {
    /// Holds its dialog turn by turn, and closes when it receives something else and after the last one; or answers requests by their
    /// path, one a connection, 404 for others.
    #[default]
    #[serde(skip)]
    Answer,
    Refuse,
    /// Takes connections and says nothing.
    Silent,
    /// Takes connections and breaks them off.
    Reset,
    /// Takes connections and closes them.
    Close,
    /// Says bytes that mean nothing, and then nothing more.
    Garbage,
    /// Says bytes without an end.
    Endless,
    /// Holds its dialog one byte at a time and slowly.
    Drip,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DialogTurn {
    /// What the plugin must say first; nothing has the server begin.
    #[serde(default, deserialize_with = "bytes")]
    pub(crate) receive: Vec<u8>,
    /// Reads on until it has received these bytes, whatever comes before them.
    #[serde(default, deserialize_with = "bytes")]
    pub(crate) until: Vec<u8>,
    #[serde(default, deserialize_with = "bytes")]
    pub(crate) send: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct HttpAnswer {
    pub(crate) path: String,
    /// What the request's head must have, in any case of letters; an answer without comes later in the list.
    #[serde(default)]
    pub(crate) request_headers: BTreeMap<String, String>,
    #[serde(default = "ok")]
    pub(crate) status: u16,
    /// In addition to `content-length` and `connection: close`.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "bytes")]
    pub(crate) body: Vec<u8>,
}

fn ok() -> u16 {
    200
}

/// What the servers of a case received, conversation by conversation.
#[derive(Clone, Debug, Default)]
struct Received(Arc<Mutex<Vec<Conversation>>>);

/// A port, and what was received there.
type Conversation = (u16, Vec<u8>);

impl Received {
    fn add(&self, port: u16, bytes: Vec<u8>) {
        let mut received = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if received.len() < CONVERSATIONS_MAX {
            received.push((port, bytes));
        }
    }
}

/// The servers of a case, on an address of their own. They end with the value.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) address: IpAddr,
    received: Received,
    servers: Vec<JoinSet<()>>,
}

/// How many addresses are tried when another process listens on one.
const ADDRESSES_TRIED_MAX: usize = 8;

impl Servers {
    /// Starts these on an address of their own.
    pub(crate) async fn start(scripts: &[ServerScript]) -> io::Result<Self> {
        let mut tried = 0;
        loop {
            let address = address();
            match Self::start_on(address, scripts, &Received::default()).await {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && tried < ADDRESSES_TRIED_MAX => {
                    tried += 1;
                }
                other => return other,
            }
        }
    }

    async fn start_on(address: IpAddr, scripts: &[ServerScript], received: &Received) -> io::Result<Self> {
        let mut servers = Vec::with_capacity(scripts.len());
        for script in scripts {
            if script.behaviour == Behaviour::Refuse {
                continue;
            }
            let at = SocketAddr::new(address, script.port);
            let started = match script.protocol {
                Protocol::Tcp => tcp(at, script.clone(), received.clone()).await,
                Protocol::Udp => udp(at, script.clone(), received.clone()).await,
            };
            servers.push(started.map_err(|error| {
                io::Error::new(error.kind(), format!("listen on port {} for a case: {error}", script.port))
            })?);
        }
        Ok(Self { address, received: received.clone(), servers })
    }

    /// Ends those that listen, and has others listen on the same address.
    pub(crate) async fn replace(&mut self, scripts: &[ServerScript]) -> io::Result<()> {
        for server in &mut self.servers {
            server.shutdown().await;
        }
        let Self { address: _, received: _, servers } =
            Self::start_on(self.address, scripts, &self.received).await?;
        self.servers = servers;
        Ok(())
    }

    /// Returns what was received so far: ports and bytes, one for each connection or datagram that has ended.
    pub(crate) fn received(&self) -> Vec<(u16, Vec<u8>)> {
        self.received.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn tcp(at: SocketAddr, script: ServerScript, received: Received) -> io::Result<JoinSet<()>> {
    let acceptor = script.tls.then(|| tls::acceptor(at.ip())).transpose()?;
    let listener = TcpListener::bind(at).await?;
    let mut tasks = JoinSet::new();
    let script = Arc::new(script);
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            if connections.len() >= CONNECTIONS_MAX {
                connections.join_next().await;
            }
            // A connection that broke before it was taken is none.
            let Ok((stream, _from)) = listener.accept().await else { continue };
            connections.spawn(converse(stream, acceptor.clone(), script.clone(), received.clone()));
        }
    });
    Ok(tasks)
}

/// What was received is reported, whether or not the conversation went on to its end.
async fn converse(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    script: Arc<ServerScript>,
    received: Received,
) {
    let mut said = Vec::new();
    let ended = match acceptor {
        _ if script.behaviour == Behaviour::Reset => stream.set_zero_linger(),
        None => talk(stream, &script, &mut said).await,
        Some(acceptor) => match acceptor.accept(stream).await {
            Ok(stream) => talk(stream, &script, &mut said).await,
            Err(error) => Err(error),
        },
    };
    if let Err(error) = ended {
        tracing::debug!(%error, port = script.port, "Conversation with the plugin ended early");
    }
    received.add(script.port, said);
}

/// A connection, with or without TLS.
trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

async fn talk(mut stream: impl Stream, script: &ServerScript, said: &mut Vec<u8>) -> io::Result<()> {
    let stream = &mut stream;
    match script.behaviour {
        Behaviour::Answer if script.dialog.is_empty() => http(stream, &script.http, said).await,
        Behaviour::Answer => dialog(stream, &script.dialog, None, said).await,
        Behaviour::Drip => dialog(stream, &script.dialog, Some(DRIP_PERIOD), said).await,
        // Neither is for a connection that goes on.
        Behaviour::Refuse | Behaviour::Reset => Ok(()),
        Behaviour::Close => dialog(stream, &[], None, said).await,
        Behaviour::Silent => listen(stream, said).await,
        Behaviour::Garbage => {
            stream.write_all(&garbage(GARBAGE_BYTES)).await?;
            stream.flush().await?;
            listen(stream, said).await
        }
        Behaviour::Endless => endless(stream).await,
    }
}

async fn dialog(
    stream: &mut impl Stream,
    turns: &[DialogTurn],
    drip: Option<Duration>,
    said: &mut Vec<u8>,
) -> io::Result<()> {
    for turn in turns {
        if !turn.receive.is_empty() {
            let mut bytes = vec![0; turn.receive.len()];
            let mut at = 0;
            // Byte for byte, so that what came of a conversation that breaks off is known.
            while at < bytes.len() {
                let read = stream.read(&mut bytes[at..]).await?;
                said.extend_from_slice(&bytes[at..at + read]);
                at += read;
                if read == 0 || bytes[..at] != turn.receive[..at] {
                    return Ok(());
                }
            }
        }
        if !turn.until.is_empty() {
            let begin = said.len();
            while !said[begin..].ends_with(&turn.until) {
                if said.len() - begin >= RECEIVED_BYTES_MAX {
                    return Ok(());
                }
                said.push(stream.read_u8().await?);
            }
        }
        match drip {
            None => {
                stream.write_all(&turn.send).await?;
                stream.flush().await?;
            }
            Some(period) => {
                for byte in &turn.send {
                    stream.write_all(&[*byte]).await?;
                    stream.flush().await?;
                    tokio::time::sleep(period).await;
                }
            }
        }
    }
    // Nothing more is said, and what is received until the other side closes is listened to: no reset takes the last words
    // from a slow reader.
    stream.shutdown().await?;
    listen(stream, said).await
}

/// Says nothing until the other side closes.
async fn listen(stream: &mut impl Stream, said: &mut Vec<u8>) -> io::Result<()> {
    let mut bytes = vec![0; 4096];
    while said.len() < RECEIVED_BYTES_MAX {
        match stream.read(&mut bytes).await? {
            0 => break,
            read => said.extend_from_slice(&bytes[..read]),
        }
    }
    Ok(())
}

async fn http(stream: &mut impl Stream, answers: &[HttpAnswer], said: &mut Vec<u8>) -> io::Result<()> {
    while !said.ends_with(b"\r\n\r\n") {
        if said.len() >= RECEIVED_BYTES_MAX {
            return Ok(());
        }
        said.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(said).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let lines: Vec<String> = head.lines().map(str::to_lowercase).collect();
    let fits = |answer: &&HttpAnswer| {
        let expected =
            |(name, value): (&String, &String)| lines.contains(&format!("{name}: {value}").to_lowercase());
        answer.path == path && answer.request_headers.iter().all(expected)
    };
    let found = answers.iter().find(fits);
    let (status, body) = found.map_or((404, &[][..]), |answer| (answer.status, &answer.body));
    let headers = found.into_iter().flat_map(|answer| &answer.headers);
    let headers: String = headers.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = match status {
        304 => String::new(),
        _ => format!("content-length: {}\r\n", body.len()),
    };
    let head = format!("HTTP/1.1 {status} Answer\r\n{headers}{length}connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.shutdown().await
}

async fn endless(stream: &mut impl Stream) -> io::Result<()> {
    let bytes = garbage(64 << 10);
    loop {
        stream.write_all(&bytes).await?;
    }
}

/// How much a server says that says what means nothing.
const GARBAGE_BYTES: usize = 512;

/// Bytes that mean nothing in any protocol, the same each time, with ends of lines among them.
fn garbage(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    (0..count).map(|_| next()).collect()
}

async fn udp(at: SocketAddr, script: ServerScript, received: Received) -> io::Result<JoinSet<()>> {
    let socket = UdpSocket::bind(at).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let Ok((length, from)) = socket.recv_from(&mut bytes).await else { continue };
            let said = bytes[..length].to_vec();
            if let Some(answer) = datagram(&script, &said)
                && let Err(error) = socket.send_to(&answer, from).await
            {
                tracing::debug!(%error, "Failed to answer a datagram of the plugin");
            }
            received.add(script.port, said);
        }
    });
    Ok(tasks)
}

/// Returns what is answered to a datagram: of a dialog, the turn that expects it.
fn datagram(script: &ServerScript, said: &[u8]) -> Option<Vec<u8>> {
    match script.behaviour {
        Behaviour::Answer | Behaviour::Drip => {
            script.dialog.iter().find(|turn| turn.receive == said).map(|turn| turn.send.clone())
        }
        Behaviour::Garbage | Behaviour::Endless => Some(garbage(GARBAGE_BYTES)),
        Behaviour::Refuse | Behaviour::Silent | Behaviour::Reset | Behaviour::Close => None,
    }
}

#[cfg(test)]
mod tests;
