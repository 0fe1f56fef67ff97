//! Servers that misbehave, and listeners that no plugin may reach.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

/// The address of the pod that is probed.
pub(crate) const POD: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));
/// Another pod's.
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// The node's own.
const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// They end when this is dropped.
pub(crate) struct Servers {
    server: SocketAddr,
    stream: SocketAddr,
    sink: SocketAddr,
    udp: SocketAddr,
    /// The same port everywhere.
    forbidden_port: u16,
    reached: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Servers {
    pub(crate) async fn start() -> Self {
        let mut tasks = JoinSet::new();
        let reached = Arc::new(AtomicUsize::new(0));
        let (http, server) = listen(POD).await;
        tasks.spawn(serve(http, move |connection| misbehave(connection, server)));
        let (listener, stream) = listen(POD).await;
        tasks.spawn(serve(listener, flood));
        let (listener, sink) = listen(POD).await;
        tasks.spawn(serve(listener, hold));
        let socket = UdpSocket::bind((POD, 0)).await.expect("loopback has free ports");
        let udp = socket.local_addr().expect("it is bound");
        tasks.spawn(async move {
            let mut bytes = [0; 2048];
            loop {
                let received = socket.recv_from(&mut bytes).await;
                if received.is_err() {
                    return;
                }
            }
        });
        let forbidden_port = forbid(&mut tasks, &reached).await;
        Self { server, stream, sink, udp, forbidden_port, reached, _tasks: tasks }
    }

    /// A text with the addresses in it.
    pub(crate) fn fill(&self, text: &str) -> String {
        let forbidden = |ip| SocketAddr::new(ip, self.forbidden_port).to_string();
        text.replace("{server}", &self.server.to_string())
            .replace("{stream}", &self.stream.to_string())
            .replace("{sink}", &self.sink.to_string())
            .replace("{udp}", &self.udp.to_string())
            .replace("{other}", &forbidden(OTHER))
            .replace("{host}", &forbidden(HOST))
            .replace("{port}", &self.forbidden_port.to_string())
    }

    /// How many connections came to where none may come.
    pub(crate) fn reached(&self) -> usize {
        self.reached.load(Ordering::Relaxed)
    }
}

async fn listen(ip: IpAddr) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((ip, 0)).await.expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound");
    (listener, address)
}

/// The port on another pod and on the node, by TCP and UDP, where every visitor is counted.
async fn forbid(tasks: &mut JoinSet<()>, reached: &Arc<AtomicUsize>) -> u16 {
    let (first, address) = listen(HOST).await;
    let port = address.port();
    // The address isn't used elsewhere, nor is the port on it.
    let second =
        TcpListener::bind((OTHER, port)).await.expect("the port is free on a loopback address of ours");
    for listener in [first, second] {
        let reached = reached.clone();
        tasks.spawn(serve(listener, move |_connection| {
            reached.fetch_add(1, Ordering::Relaxed);
            std::future::ready(())
        }));
    }
    for ip in [HOST, OTHER] {
        let Ok(socket) = UdpSocket::bind((ip, port)).await else { continue };
        let reached = reached.clone();
        tasks.spawn(async move {
            let mut bytes = [0; 64];
            while socket.recv_from(&mut bytes).await.is_ok() {
                reached.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    port
}

async fn serve<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    answer: impl Fn(TcpStream) -> F + Send + 'static,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((connection, _)) = accepted {
                    connections.spawn(answer(connection));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Bytes without end, until the other side goes.
async fn flood(mut connection: TcpStream) {
    while connection.write_all(&[b'x'; 4096]).await.is_ok() {}
}

/// Reads nothing and says nothing, until the other side goes.
async fn hold(connection: TcpStream) {
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let mut byte = [0];
        let gone = match connection.try_read(&mut byte) {
            // A little is read, or it would be unknown that the other side has gone.
            Ok(read) => read == 0,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        };
        if gone {
            return;
        }
    }
}

/// HTTP, by the path that is asked for.
async fn misbehave(mut connection: TcpStream, own: SocketAddr) {
    let mut head = Vec::new();
    let mut bytes = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match connection.read(&mut bytes).await {
            Ok(read) if read > 0 && head.len() < 64 << 10 => head.extend_from_slice(&bytes[..read]),
            Ok(_) | Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head);
    let path = head.split(' ').nth(1).unwrap_or_default();
    let found =
        |to: String| format!("HTTP/1.1 302 Found\r\nLocation: http://{to}\r\nContent-Length: 0\r\n\r\n");
    let answer = match path {
        "/trickle" | "/endless" => "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n".to_owned(),
        "/head" => "HTTP/1.1 200 OK\r\n".to_owned(),
        "/redirect" => found(format!("{own}/redirect")),
        "/away" => found("169.254.169.254/latest/meta-data".to_owned()),
        "/hold" => String::new(),
        _ => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned(),
    };
    if connection.write_all(answer.as_bytes()).await.is_err() {
        return;
    }
    match path {
        "/trickle" => {
            while connection.write_all(b".").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        "/endless" => flood(connection).await,
        "/head" => while connection.write_all(b"X-More: and more and more\r\n").await.is_ok() {},
        "/hold" => hold(connection).await,
        _ => {}
    }
}
