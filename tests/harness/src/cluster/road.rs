//! The road from the node to its API server, which can be cut and blocked.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Duration, sleep};

/// A port that was just given up is free after this at the latest, or tried again.
const LISTEN_AGAIN: Duration = Duration::from_millis(50);

/// What becomes of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// New ones lead to the server.
    Open,
    /// All are broken, and new ones are refused, as where a process was killed.
    Cut,
    /// Half-open: what is there falls silent for good, and new ones are taken and never answered.
    Blocked,
}

/// A listener before the API server, on an address that stays.
pub struct Road {
    pub address: SocketAddr,
    traffic: watch::Sender<Traffic>,
    _task: JoinSet<()>,
}

impl Road {
    /// An open one, from this address to the server's.
    pub fn new(address: SocketAddr, server: SocketAddr) -> Self {
        let (traffic, expected) = watch::channel(Traffic::Open);
        let mut task = JoinSet::new();
        task.spawn(listen(address, server, expected));
        Self { address, traffic, _task: task }
    }

    pub fn set(&self, traffic: Traffic) {
        self.traffic.send_replace(traffic);
    }
}

async fn listen(address: SocketAddr, server: SocketAddr, mut expected: watch::Receiver<Traffic>) {
    let mut connections = JoinSet::new();
    loop {
        let traffic = *expected.borrow_and_update();
        if traffic == Traffic::Cut {
            connections.abort_all();
            if expected.changed().await.is_err() {
                return;
            }
            continue;
        }
        let Ok(listener) = TcpListener::bind(address).await else {
            sleep(LISTEN_AGAIN).await;
            continue;
        };
        loop {
            tokio::select! {
                changed = expected.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return,
                },
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    connections.spawn(carry(stream, server, expected.clone()));
                }
            }
        }
    }
}

/// One connection. Once blocked it stays so, whatever comes.
async fn carry(mut stream: TcpStream, server: SocketAddr, mut expected: watch::Receiver<Traffic>) {
    let blocked = async {
        if expected.wait_for(|traffic| *traffic == Traffic::Blocked).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let mut behind = None;
    let carried = async {
        let connected = TcpStream::connect(server).await;
        if let Ok(behind) = connected.map(|connected| behind.insert(connected)) {
            // A connection that breaks costs itself.
            let _ = stream.set_nodelay(true).and_then(|()| behind.set_nodelay(true));
            let _ = copy_bidirectional(&mut stream, behind).await;
        }
    };
    tokio::select! {
        biased;
        () = blocked => std::future::pending().await,
        () = carried => {}
    }
}
