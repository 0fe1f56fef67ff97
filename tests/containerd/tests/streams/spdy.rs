//! SPDY/3.1 as far as kubectl uses it: streams that are opened, written, read and ended.

use std::collections::{HashMap, HashSet};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const VERSION: u16 = 3;
const FIN: u8 = 1;

/// A client's end.
pub(crate) struct Spdy {
    stream: TcpStream,
    opened: u32,
    received: HashMap<u32, Vec<u8>>,
    replied: HashSet<u32>,
    ended: HashSet<u32>,
}

impl Spdy {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, opened: 0, received: HashMap::new(), replied: HashSet::new(), ended: HashSet::new() }
    }

    /// Opens a stream with these headers and waits until the server has taken it.
    pub(crate) async fn open(&mut self, headers: &[(&str, &str)]) -> Result<u32, String> {
        let id = self.opened * 2 + 1;
        let mut payload = [id.to_be_bytes(), [0; 4]].concat();
        payload.extend([0, 0]);
        payload.extend(self.header_block(headers)?);
        self.opened += 1;
        self.control(SYN_STREAM, 0, &payload).await?;
        while !self.replied.contains(&id) {
            self.read().await?;
        }
        Ok(id)
    }

    pub(crate) async fn send(&mut self, id: u32, bytes: &[u8]) -> Result<(), String> {
        self.data(id, 0, bytes).await
    }

    /// Says that nothing more will be written.
    pub(crate) async fn end(&mut self, id: u32) -> Result<(), String> {
        self.data(id, FIN, &[]).await
    }

    /// Reads until a stream brought something that satisfies.
    pub(crate) async fn until(&mut self, id: u32, wanted: impl Fn(&str) -> bool) -> Result<String, String> {
        loop {
            let text =
                String::from_utf8_lossy(self.received.get(&id).map_or(&[][..], |bytes| bytes)).into_owned();
            if wanted(&text) {
                return Ok(text);
            }
            if self.ended.contains(&id) {
                return Err(format!("stream {id} ended with {text:?}"));
            }
            self.read().await.map_err(|error| format!("{error}; stream {id} has {text:?}"))?;
        }
    }

    /// All that a stream brings until its end.
    pub(crate) async fn all(&mut self, id: u32) -> Result<String, String> {
        while !self.ended.contains(&id) {
            self.read().await?;
        }
        Ok(String::from_utf8_lossy(self.received.get(&id).map_or(&[][..], |bytes| bytes)).into_owned())
    }

    /// Names and values, in a zlib stream of stored blocks: that needs neither a compressor nor SPDY's dictionary. The empty
    /// block makes the server look at what is before it.
    fn header_block(&self, headers: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        let count =
            |length: usize| u32::try_from(length).map(u32::to_be_bytes).map_err(|error| error.to_string());
        let mut plain = count(headers.len())?.to_vec();
        for (name, value) in headers {
            for word in [name, value] {
                plain.extend(count(word.len())?);
                plain.extend(word.bytes());
            }
        }
        let length = u16::try_from(plain.len()).map_err(|error| error.to_string())?;
        let mut block = if self.opened == 0 { vec![0x78, 0x01] } else { Vec::new() };
        block.push(0);
        block.extend(length.to_le_bytes());
        block.extend((!length).to_le_bytes());
        block.extend(plain);
        block.extend([0, 0, 0, 0xff, 0xff]);
        Ok(block)
    }

    async fn control(&mut self, kind: u16, flags: u8, payload: &[u8]) -> Result<(), String> {
        let mut frame = (0x8000 | VERSION).to_be_bytes().to_vec();
        frame.extend(kind.to_be_bytes());
        self.frame(frame, flags, payload).await
    }

    async fn data(&mut self, id: u32, flags: u8, bytes: &[u8]) -> Result<(), String> {
        self.frame(id.to_be_bytes().to_vec(), flags, bytes).await
    }

    async fn frame(&mut self, mut frame: Vec<u8>, flags: u8, payload: &[u8]) -> Result<(), String> {
        let length = u32::try_from(payload.len()).map_err(|error| error.to_string())?;
        frame.extend((length | u32::from(flags) << 24).to_be_bytes());
        frame.extend(payload);
        self.stream.write_all(&frame).await.map_err(|error| error.to_string())
    }

    /// One frame. What headers say isn't looked at.
    async fn read(&mut self) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("the connection ended: {error}");
        let first = self.stream.read_u32().await.map_err(failed)?;
        let second = self.stream.read_u32().await.map_err(failed)?;
        let flags = second.to_be_bytes()[0];
        let mut payload = vec![0; (second & 0x00ff_ffff) as usize];
        self.stream.read_exact(&mut payload).await.map_err(failed)?;
        let ends = flags & FIN != 0;
        if first & 0x8000_0000 == 0 {
            self.received.entry(first).or_default().extend(payload);
            self.ended.extend(ends.then_some(first));
            return Ok(());
        }
        let kind = (first & 0xffff) as u16;
        let id = payload.first_chunk().map_or(0, |id| u32::from_be_bytes(*id));
        match kind {
            SYN_REPLY => {
                self.replied.insert(id);
                self.ended.extend(ends.then_some(id));
            }
            RST_STREAM => {
                self.replied.insert(id);
                self.ended.insert(id);
            }
            // Those of the server have even numbers, and are sent back.
            PING if id % 2 == 0 => self.control(PING, 0, &payload).await?,
            _ => {}
        }
        Ok(())
    }
}
