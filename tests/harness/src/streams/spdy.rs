//! SPDY/3.1 as far as kubectl uses it: streams that are opened, written, read and ended.

use std::collections::{HashMap, HashSet};
use std::io;

use tokio::net::TcpStream;
use witlet_api_server::spdy::{self, Frame};

/// A client's end.
pub struct Spdy {
    stream: TcpStream,
    opened: u32,
    received: HashMap<u32, Vec<u8>>,
    replied: HashSet<u32>,
    ended: HashSet<u32>,
}

impl Spdy {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, opened: 0, received: HashMap::new(), replied: HashSet::new(), ended: HashSet::new() }
    }

    /// Opens a stream with these headers and waits until the server has taken it.
    pub async fn open(&mut self, headers: &[(&str, &str)]) -> Result<u32, String> {
        let id = self.opened * 2 + 1;
        self.opened += 1;
        spdy::open(&mut self.stream, id, headers).await.map_err(said)?;
        while !self.replied.contains(&id) {
            self.read().await?;
        }
        Ok(id)
    }

    pub async fn send(&mut self, id: u32, bytes: &[u8]) -> Result<(), String> {
        spdy::data(&mut self.stream, id, bytes).await.map_err(said)
    }

    /// Says that nothing more will be written.
    pub async fn end(&mut self, id: u32) -> Result<(), String> {
        spdy::end(&mut self.stream, id).await.map_err(said)
    }

    /// Reads until a stream brought something that satisfies.
    pub async fn until(&mut self, id: u32, expected: impl Fn(&str) -> bool) -> Result<String, String> {
        loop {
            let text =
                String::from_utf8_lossy(self.received.get(&id).map_or(&[][..], |bytes| bytes)).into_owned();
            if expected(&text) {
                return Ok(text);
            }
            if self.ended.contains(&id) {
                return Err(format!("stream {id} ended with {text:?}"));
            }
            self.read().await.map_err(|error| format!("{error}; stream {id} has {text:?}"))?;
        }
    }

    /// All that a stream brings until its end.
    pub async fn all(&mut self, id: u32) -> Result<String, String> {
        while !self.ended.contains(&id) {
            self.read().await?;
        }
        Ok(String::from_utf8_lossy(self.received.get(&id).map_or(&[][..], |bytes| bytes)).into_owned())
    }

    async fn read(&mut self) -> Result<(), String> {
        let frame = spdy::read(&mut self.stream).await;
        match frame.map_err(|error| format!("the connection ended: {error}"))? {
            Frame::Data { id, bytes, ends } => {
                self.received.entry(id).or_default().extend(bytes);
                self.ended.extend(ends.then_some(id));
            }
            Frame::Accepted(id) => {
                self.replied.insert(id);
            }
            Frame::Ended(id) => {
                self.replied.insert(id);
                self.ended.insert(id);
            }
            Frame::Ping(payload) => spdy::pong(&mut self.stream, &payload).await.map_err(said)?,
            Frame::Other => {}
        }
        Ok(())
    }
}

fn said(error: io::Error) -> String {
    error.to_string()
}
