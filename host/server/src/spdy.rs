//! SPDY/3.1 from the client's end, as far as streams of processes need it: no flow control, and headers are written only.

use tokio::io::{self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const VERSION: u16 = 3;
const CONTROL: u32 = 0x8000_0000;
const LENGTH: u32 = 0x00ff_ffff;
/// No more will come on this stream.
const FIN: u8 = 1;

/// What a server sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// Bytes of a stream.
    Data {
        id: u32,
        bytes: Vec<u8>,
        /// Whether that was all of it.
        ends: bool,
    },
    /// A stream that the server has taken, and goes on.
    Accepted(u32),
    /// A stream that is over, with nothing more in it.
    Ended(u32),
    /// To be sent back.
    Ping(Vec<u8>),
    /// Nothing that streams need.
    Other,
}

/// Opens a stream with these headers; a client's ids are odd, and begin with 1.
///
/// # Errors
/// The connection fails.
pub async fn open(to: &mut (impl AsyncWrite + Unpin), id: u32, headers: &[(&str, &str)]) -> io::Result<()> {
    let mut payload = [id.to_be_bytes(), [0; 4]].concat();
    payload.extend([0, 0]);
    payload.extend(header_block(id == 1, headers)?);
    control(to, SYN_STREAM, 0, &payload).await
}

/// Sends bytes on a stream.
///
/// # Errors
/// The connection fails.
pub async fn data(to: &mut (impl AsyncWrite + Unpin), id: u32, bytes: &[u8]) -> io::Result<()> {
    for part in bytes.chunks(LENGTH as usize) {
        frame(to, id, 0, part).await?;
    }
    Ok(())
}

/// Says that nothing more will be sent on a stream.
///
/// # Errors
/// The connection fails.
pub async fn end(to: &mut (impl AsyncWrite + Unpin), id: u32) -> io::Result<()> {
    frame(to, id, FIN, &[]).await
}

/// Answers a server's ping.
///
/// # Errors
/// The connection fails.
pub async fn pong(to: &mut (impl AsyncWrite + Unpin), payload: &[u8]) -> io::Result<()> {
    control(to, PING, 0, payload).await
}

/// Names and values, in a zlib stream of stored blocks: that needs neither a compressor nor SPDY's dictionary. The empty block
/// makes the server check what is before it.
fn header_block(is_first: bool, headers: &[(&str, &str)]) -> io::Result<Vec<u8>> {
    let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "headers are too long");
    let count = |length: usize| u32::try_from(length).map(u32::to_be_bytes).map_err(too_long);
    let mut plain = count(headers.len())?.to_vec();
    for (name, value) in headers {
        for word in [name, value] {
            plain.extend(count(word.len())?);
            plain.extend(word.bytes());
        }
    }
    let length = u16::try_from(plain.len()).map_err(too_long)?;
    let mut block = if is_first { vec![0x78, 0x01] } else { Vec::new() };
    block.push(0);
    block.extend(length.to_le_bytes());
    block.extend((!length).to_le_bytes());
    block.extend(plain);
    block.extend([0, 0, 0, 0xff, 0xff]);
    Ok(block)
}

async fn control(to: &mut (impl AsyncWrite + Unpin), kind: u16, flags: u8, payload: &[u8]) -> io::Result<()> {
    frame(to, CONTROL | u32::from(VERSION) << 16 | u32::from(kind), flags, payload).await
}

async fn frame(to: &mut (impl AsyncWrite + Unpin), first: u32, flags: u8, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
    let mut frame = first.to_be_bytes().to_vec();
    frame.extend((length | u32::from(flags) << 24).to_be_bytes());
    frame.extend(payload);
    to.write_all(&frame).await?;
    to.flush().await
}

/// The next frame. What headers say isn't checked.
///
/// # Errors
/// The connection ends or fails.
pub async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Frame> {
    let first = from.read_u32().await?;
    let second = from.read_u32().await?;
    let ends = second.to_be_bytes()[0] & FIN != 0;
    let mut bytes = vec![0; (second & LENGTH) as usize];
    from.read_exact(&mut bytes).await?;
    if first & CONTROL == 0 {
        return Ok(Frame::Data { id: first, bytes, ends });
    }
    let id = bytes.first_chunk().map_or(0, |id| u32::from_be_bytes(*id));
    Ok(match (first & 0xffff) as u16 {
        SYN_REPLY if ends => Frame::Ended(id),
        SYN_REPLY => Frame::Accepted(id),
        RST_STREAM => Frame::Ended(id),
        // Those of the server have even numbers.
        PING if id % 2 == 0 => Frame::Ping(bytes),
        _ => Frame::Other,
    })
}
