//! systemd's own socket. On it systemd gives its well-known name as the sender of what it sends. D-Bus has the unique name of a
//! connection there, and zbus ends the connection over any other. So the name is made a unique one, of the same length.

#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use zbus::connection::socket::{ReadHalf, Socket, Split, WriteHalf};

/// systemd's well-known name.
pub(super) const NAME: &str = "org.freedesktop.systemd1";
/// A line of the handshake is no longer than this (D-Bus: the same).
const LINE_MAX: usize = 16 << 10;
/// The fields of a message's header are no longer than this. A message of systemd has less than a hundredth of it.
const FIELDS_MAX: usize = 64 << 10;
/// What comes before the fields.
const PRIMARY: usize = 16;
/// The field that has the sender.
const SENDER: u8 = 7;

/// A connection to systemd without a message bus.
#[derive(Debug)]
pub(super) struct PrivateSocket(UnixStream);

impl PrivateSocket {
    pub(super) async fn connect(path: &Path) -> io::Result<Self> {
        UnixStream::connect(path).await.map(Self)
    }
}

impl Socket for PrivateSocket {
    type ReadHalf = Reader;
    type WriteHalf = Writer;

    fn split(self) -> Split<Reader, Writer> {
        let (reader, writer) = self.0.into_split();
        Split::new(Reader { socket: reader, head: Vec::new(), passing: 0 }, Writer(writer))
    }
}

/// Passes on what systemd sends.
#[derive(Debug)]
pub(super) struct Reader {
    socket: OwnedReadHalf,
    /// What was read and wasn't passed on.
    head: Vec<u8>,
    /// How much can be passed on as it is, of `head` and then of the socket.
    passing: usize,
}

#[async_trait]
impl ReadHalf for Reader {
    async fn recvmsg(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
        // systemd passes no file descriptors here, and isn't offered any.
        let read = |count| Ok((count, Vec::new()));
        loop {
            let most = buffer.len().min(self.passing);
            if most > 0 && !self.head.is_empty() {
                let count = most.min(self.head.len());
                buffer[..count].copy_from_slice(&self.head[..count]);
                self.head.drain(..count);
                self.passing -= count;
                return read(count);
            }
            if most > 0 {
                let count = self.socket.read(&mut buffer[..most]).await?;
                self.passing -= count;
                return read(count);
            }
            if let Some(length) = first(&mut self.head)? {
                self.passing = length;
            } else if self.socket.read_buf(&mut self.head).await? == 0 {
                return read(0);
            }
        }
    }
}

/// Sends as a plain socket does.
#[derive(Debug)]
pub(super) struct Writer(OwnedWriteHalf);

#[async_trait]
impl WriteHalf for Writer {
    async fn sendmsg(&mut self, buffer: &[u8], _: &[BorrowedFd<'_>]) -> io::Result<usize> {
        self.0.write(buffer).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.0.flush().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.0.shutdown().await
    }
}

/// How long the first line or message of what was read is, once its line or its header is there as a whole. The header has a
/// unique name as its sender then.
fn first(read: &mut [u8]) -> io::Result<Option<usize>> {
    let number: fn([u8; 4]) -> u32 = match read.first() {
        None => return Ok(None),
        Some(b'l') => u32::from_le_bytes,
        Some(b'B') => u32::from_be_bytes,
        // No line that a server sends begins with one of these.
        Some(_) => return line(read),
    };
    let (Some(body), Some(fields)) = (length_at(read, 4, number), length_at(read, 12, number)) else {
        return Ok(None);
    };
    if fields > FIELDS_MAX {
        return Err(invalid(format!("systemd sent a header of {fields} bytes; the most is {FIELDS_MAX}")));
    }
    let Some(header) = read.get_mut(..PRIMARY + fields) else { return Ok(None) };
    if let Some(at) = sender(header, number) {
        header[at] = b':';
    }
    Ok(Some((PRIMARY + fields).next_multiple_of(8).saturating_add(body)))
}

fn line(read: &[u8]) -> io::Result<Option<usize>> {
    match read.iter().position(|byte| *byte == b'\n') {
        Some(end) => Ok(Some(end + 1)),
        None if read.len() > LINE_MAX => {
            Err(invalid(format!("systemd sent a line of more than {LINE_MAX} bytes in the handshake")))
        }
        None => Ok(None),
    }
}

/// Where systemd's well-known name begins, if it is the sender.
fn sender(header: &[u8], number: fn([u8; 4]) -> u32) -> Option<usize> {
    let mut at = PRIMARY;
    loop {
        // A code, a signature of one type, and a value.
        let [code, 1, kind, 0] = *header.get(at..at + 4)? else { return None };
        let value = at + 4;
        let end = match kind {
            b's' | b'o' => {
                let (text, length) = (value + 4, length_at(header, value, number)?);
                if code == SENDER {
                    return (header.get(text..text.checked_add(length)?)? == NAME.as_bytes()).then_some(text);
                }
                text.checked_add(length)? + 1
            }
            b'g' => value + usize::from(*header.get(value)?) + 2,
            b'u' => value + 4,
            _ => return None,
        };
        at = end.checked_next_multiple_of(8)?;
    }
}

fn length_at(bytes: &[u8], at: usize, number: fn([u8; 4]) -> u32) -> Option<usize> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(number(four)).ok()
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}
