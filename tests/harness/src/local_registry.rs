//! A registry on loopback, in memory: what a push needs and a pull, for tests that run where no registry is installed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Longest head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// What it has, by path, and what it was asked.
#[derive(Default)]
struct Stored {
    content: BTreeMap<String, Vec<u8>>,
    asked: Vec<String>,
}

/// The registry. It ends with this.
pub struct LocalRegistry {
    /// Where it listens.
    pub address: SocketAddr,
    stored: Arc<Mutex<Stored>>,
    _tasks: JoinSet<()>,
}

impl LocalRegistry {
    /// An empty one, on any port.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (stored, mut tasks) = (Arc::<Mutex<Stored>>::default(), JoinSet::new());
        let shared = stored.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let stored = shared.clone();
                // What comes of a connection is its client's.
                connections.spawn(async move { drop(serve(stream, &stored).await) });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, stored, _tasks: tasks })
    }

    /// How often something was read whose path has these words.
    pub fn reads(&self, words: &str) -> usize {
        let get = |asked: &&String| asked.starts_with("GET ") && asked.contains(words);
        lock(&self.stored).asked.iter().filter(get).count()
    }

    /// Has other bytes from now on under each path that has these words.
    pub fn spoil(&self, words: &str) {
        for (_, content) in lock(&self.stored).content.iter_mut().filter(|(path, _)| path.contains(words)) {
            if let Some(last) = content.last_mut() {
                *last = !*last;
            }
        }
    }

    /// Has nothing any more whose path has these words.
    pub fn lose(&self, words: &str) {
        lock(&self.stored).content.retain(|path, _| !path.contains(words));
    }
}

fn lock(stored: &Mutex<Stored>) -> MutexGuard<'_, Stored> {
    stored.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one request.
async fn serve(mut stream: TcpStream, stored: &Mutex<Stored>) -> std::io::Result<()> {
    let (mut request, mut part) = (Vec::new(), vec![0; HEAD_BYTES_MAX]);
    let head_length = loop {
        if let Some(at) = request.windows(4).position(|end| end == b"\r\n\r\n") {
            break at + 4;
        }
        let read = stream.read(&mut part).await?;
        if read == 0 || request.len() > HEAD_BYTES_MAX {
            return Ok(());
        }
        request.extend_from_slice(&part[..read]);
    };
    let mut body = request.split_off(head_length);
    let head = String::from_utf8_lossy(&request).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    while body.len() < length.unwrap_or_default() {
        let read = stream.read(&mut part).await?;
        if read == 0 {
            return Ok(());
        }
        body.extend_from_slice(&part[..read]);
    }
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, header, content) = answer(&mut lock(stored), method, target, body);
    let head = format!(
        "HTTP/1.1 {status}\r\n{header}connection: close\r\ncontent-length: {}\r\n\r\n",
        content.len()
    );
    stream.write_all(head.as_bytes()).await?;
    if method != "HEAD" {
        stream.write_all(&content).await?;
    }
    stream.shutdown().await
}

/// Status, headers and body of the answer (OCI distribution specification).
fn answer(stored: &mut Stored, method: &str, target: &str, body: Vec<u8>) -> (&'static str, String, Vec<u8>) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    stored.asked.push(format!("{method} {path}"));
    let uploads = path.find("/blobs/uploads/");
    match (method, uploads) {
        ("POST", Some(_)) => ("202 Accepted", format!("location: {path}1\r\n"), Vec::new()),
        ("PUT", Some(at)) => {
            let digest = query.split('&').find_map(|pair| pair.strip_prefix("digest=")).unwrap_or_default();
            let is_it = digest.replace("%3A", ":") == digest_of(&body);
            if !is_it {
                return ("400 Bad Request", String::new(), Vec::new());
            }
            stored.content.insert(format!("{}/blobs/{}", &path[..at], digest_of(&body)), body);
            ("201 Created", String::new(), Vec::new())
        }
        ("PUT", None) => {
            let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
            stored.content.insert(format!("{folder}/{}", digest_of(&body)), body.clone());
            stored.content.insert(path.to_owned(), body);
            ("201 Created", String::new(), Vec::new())
        }
        _ => match stored.content.get(path) {
            Some(content) => ("200 OK", String::new(), content.clone()),
            None => ("404 Not Found", String::new(), Vec::new()),
        },
    }
}

fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}
