//! The socket of the small systemd: what it sends has systemd's well-known name as its sender, as on the private socket of a real one.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use async_trait::async_trait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use zbus::Message;
use zbus::connection::socket::{ReadHalf, Socket, Split, WriteHalf};

use super::super::private::NAME;

pub(super) struct NamedSocket(pub(super) UnixStream);

impl Socket for NamedSocket {
    type ReadHalf = Reader;
    type WriteHalf = Writer;

    fn split(self) -> Split<Reader, Writer> {
        let (reader, writer) = self.0.into_split();
        Split::new(Reader(reader), Writer(writer))
    }
}

#[derive(Debug)]
pub(super) struct Reader(OwnedReadHalf);

#[async_trait]
impl ReadHalf for Reader {
    async fn recvmsg(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
        Ok((self.0.read(buffer).await?, Vec::new()))
    }
}

#[derive(Debug)]
pub(super) struct Writer(OwnedWriteHalf);

#[async_trait]
impl WriteHalf for Writer {
    async fn send_message(&mut self, message: &Message) -> zbus::Result<()> {
        Ok(self.0.write_all(&named(message.data())).await?)
    }

    /// For the handshake.
    async fn sendmsg(&mut self, buffer: &[u8], _: &[BorrowedFd<'_>]) -> io::Result<usize> {
        self.0.write(buffer).await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.0.shutdown().await
    }
}

/// The message with one more field.
fn named(message: &[u8]) -> Vec<u8> {
    const PRIMARY: usize = 16;
    let fields = u32::from_ne_bytes(message[12..PRIMARY].try_into().unwrap()) as usize;
    let body = &message[(PRIMARY + fields).next_multiple_of(8)..];
    let mut all = message[..PRIMARY + fields].to_vec();
    all.resize(all.len().next_multiple_of(8), 0);
    all.extend([7, 1, b's', 0]);
    all.extend((NAME.len() as u32).to_ne_bytes());
    all.extend([NAME.as_bytes(), &[0]].concat());
    let fields = (all.len() - PRIMARY) as u32;
    all[12..PRIMARY].copy_from_slice(&fields.to_ne_bytes());
    all.resize(all.len().next_multiple_of(8), 0);
    all.extend(body);
    all
}
