//! WebSockets as far as the channels of Kubernetes need them: binary messages whose first byte is the channel.

use std::collections::HashMap;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const BINARY: u8 = 0x82;
const CLOSE: u8 = 8;

/// What a client sends to be upgraded (RFC 6455), with this protocol.
pub fn headers(protocol: &str) -> Vec<(&str, &str)> {
    vec![
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-WebSocket-Protocol", protocol),
        ("Origin", "http://127.0.0.1"),
    ]
}

/// A client's end.
pub struct WebSocket {
    stream: TcpStream,
    received: HashMap<u8, Vec<u8>>,
    has_ended: bool,
}

impl WebSocket {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, received: HashMap::new(), has_ended: false }
    }

    /// Sends to a channel. Clients must mask; a mask of zeros leaves the bytes as they are.
    pub async fn send(&mut self, channel: u8, bytes: &[u8]) -> Result<(), String> {
        let length = u8::try_from(bytes.len() + 1).ok().filter(|length| *length < 126);
        let length = length.ok_or("a test's messages are short")?;
        let mut frame = vec![BINARY, 0x80 | length, 0, 0, 0, 0, channel];
        frame.extend(bytes);
        self.stream.write_all(&frame).await.map_err(|error| error.to_string())
    }

    /// Reads until a channel brought something that satisfies.
    pub async fn until(&mut self, channel: u8, expected: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>, String> {
        loop {
            let bytes = self.received.get(&channel).cloned().unwrap_or_default();
            if expected(&bytes) {
                return Ok(bytes);
            }
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            if self.has_ended {
                return Err(format!("the connection was closed; channel {channel} has {shown:?}"));
            }
            self.read().await.map_err(|error| format!("{error}; channel {channel} has {shown:?}"))?;
        }
    }

    async fn read(&mut self) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        let kind = self.stream.read_u8().await.map_err(failed)? & 0x0f;
        let length = match self.stream.read_u8().await.map_err(failed)? & 0x7f {
            126 => u64::from(self.stream.read_u16().await.map_err(failed)?),
            127 => self.stream.read_u64().await.map_err(failed)?,
            short => u64::from(short),
        };
        let mut payload = Vec::new();
        (&mut self.stream).take(length).read_to_end(&mut payload).await.map_err(failed)?;
        if kind == CLOSE {
            self.has_ended = true;
        } else if let Some((channel, bytes)) = payload.split_first() {
            self.received.entry(*channel).or_default().extend(bytes);
        }
        Ok(())
    }
}
