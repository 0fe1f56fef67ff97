//! WebSockets (RFC 6455) from the server's end, without extensions.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::io::{self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// What a key is hashed with.
const HANDSHAKE: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Bytes of the longest message that is taken.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

const LAST: u8 = 0x80;
const MASKED: u8 = 0x80;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// "Normal closure".
const NORMAL: u16 = 1000;

/// What a client sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    /// Nothing follows.
    Closed,
}

/// What proves that the server has read the client's key.
pub(super) fn accept(key: &[u8]) -> String {
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key, HANDSHAKE].concat()))
}

/// The next message, of however many frames. An error for one that is too long or not masked, as a client's must be.
pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Message> {
    let mut message = Vec::new();
    loop {
        let first = match from.read_u8().await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Message::Closed),
            first => first?,
        };
        let payload = payload(from, MESSAGE_BYTES_MAX - message.len()).await?;
        match first & 0x0f {
            CLOSE => return Ok(Message::Closed),
            PING => return Ok(Message::Ping(payload)),
            PONG => {}
            _ => {
                message.extend(payload);
                if first & LAST != 0 {
                    return Ok(Message::Binary(message));
                }
            }
        }
    }
}

async fn payload(from: &mut (impl AsyncRead + Unpin), bytes_max: usize) -> io::Result<Vec<u8>> {
    let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let second = from.read_u8().await?;
    let length = match second & !MASKED {
        126 => u64::from(from.read_u16().await?),
        127 => from.read_u64().await?,
        short => u64::from(short),
    };
    if second & MASKED == 0 {
        return Err(invalid("a client's frame isn't masked"));
    }
    let length = usize::try_from(length).ok().filter(|length| *length <= bytes_max);
    let length = length.ok_or_else(|| invalid("a message is too long"))?;
    let mut mask = [0; 4];
    from.read_exact(&mut mask).await?;
    let mut payload = vec![0; length];
    from.read_exact(&mut payload).await?;
    for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
    Ok(payload)
}

/// Sends a binary message.
pub(super) async fn write(to: &mut (impl AsyncWrite + Unpin), payload: &[u8]) -> io::Result<()> {
    frame(to, BINARY, payload).await
}

/// Answers a ping.
pub(super) async fn pong(to: &mut (impl AsyncWrite + Unpin), payload: &[u8]) -> io::Result<()> {
    frame(to, PONG, payload).await
}

/// Says that nothing follows.
pub(super) async fn close(to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    frame(to, CLOSE, &NORMAL.to_be_bytes()).await
}

async fn frame(to: &mut (impl AsyncWrite + Unpin), kind: u8, payload: &[u8]) -> io::Result<()> {
    let mut frame = vec![LAST | kind];
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(short), _) if short < 126 => frame.push(short),
        (_, Ok(middle)) => {
            frame.push(126);
            frame.extend(middle.to_be_bytes());
        }
        _ => {
            frame.push(127);
            frame.extend((payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend(payload);
    to.write_all(&frame).await?;
    to.flush().await
}
