//! Client side of the SOCKS 5 handshake (RFC 1928; users and passwords, RFC 1929).
//!
//! Not by the HTTP library's means, which ask for an address of version 6 as if it were a name.

use std::io;
use std::net::IpAddr;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

#[cfg(test)]
mod tests;

const VERSION: u8 = 5;
const AUTH_VERSION: u8 = 1;
const NO_AUTH: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const CONNECT: u8 = 1;
const ADDRESS_V4: u8 = 1;
const NAME: u8 = 3;
const ADDRESS_V6: u8 = 4;

/// Why a proxy made no connection.
#[derive(Debug, Error)]
pub(super) enum SocksError {
    #[error("SOCKS: {0}")]
    Io(#[from] io::Error),
    #[error("SOCKS: the proxy speaks version {0}")]
    Version(u8),
    #[error("SOCKS: the proxy requires another authentication method")]
    Method,
    #[error("SOCKS: the proxy rejected user and password")]
    Credentials,
    #[error("SOCKS: user and host must have 1 to 255 bytes, the password at most 255")]
    Length,
    #[error("SOCKS: {}", reply(*.0))]
    Refused(u8),
    #[error("SOCKS: unknown address type {0} in the proxy's response")]
    AddressType(u8),
}

/// Returns what the codes of answers mean.
fn reply(code: u8) -> &'static str {
    match code {
        1 => "general SOCKS server failure",
        2 => "connection not allowed by ruleset",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "TTL expired",
        7 => "command not supported",
        8 => "address type not supported",
        _ => "unknown error",
    }
}

/// Asks for a connection to this host, a name or an address without brackets. Names are looked up by the proxy. `credentials`
/// are shown if the proxy wants them. Afterwards the stream is the connection.
pub(super) async fn connect(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    host: &str,
    port: u16,
    credentials: Option<(&str, &str)>,
) -> Result<(), SocksError> {
    let greeting: &[u8] = match credentials {
        None => &[VERSION, 1, NO_AUTH],
        Some(_) => &[VERSION, 2, NO_AUTH, USER_AND_PASSWORD],
    };
    stream.write_all(greeting).await?;
    stream.flush().await?;
    check_version(stream.read_u8().await?)?;
    match (stream.read_u8().await?, credentials) {
        (NO_AUTH, _) => {}
        (USER_AND_PASSWORD, Some((user, password))) => show(stream, user, password).await?,
        _ => return Err(SocksError::Method),
    }
    let mut request = vec![VERSION, CONNECT, 0];
    match host.parse() {
        Ok(IpAddr::V4(address)) => {
            request.push(ADDRESS_V4);
            request.extend(address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            request.push(ADDRESS_V6);
            request.extend(address.octets());
        }
        Err(_) => {
            request.push(NAME);
            push_short(&mut request, host, 1)?;
        }
    }
    request.extend(port.to_be_bytes());
    stream.write_all(&request).await?;
    stream.flush().await?;
    read_reply(stream).await
}

async fn show(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    user: &str,
    password: &str,
) -> Result<(), SocksError> {
    let mut message = vec![AUTH_VERSION];
    push_short(&mut message, user, 1)?;
    // RFC 1929 wants a byte of it, but Go's programs show an empty one, too.
    push_short(&mut message, password, 0)?;
    stream.write_all(&message).await?;
    stream.flush().await?;
    match [stream.read_u8().await?, stream.read_u8().await?] {
        [AUTH_VERSION, 0] => Ok(()),
        _ => Err(SocksError::Credentials),
    }
}

/// The text with its length before it, of `least` to 255 bytes.
fn push_short(message: &mut Vec<u8>, text: &str, least: u8) -> Result<(), SocksError> {
    let length = u8::try_from(text.len()).ok().filter(|length| *length >= least);
    message.push(length.ok_or(SocksError::Length)?);
    message.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Reads the answer whole: what follows it is the server's.
async fn read_reply(stream: &mut (impl AsyncRead + Unpin)) -> Result<(), SocksError> {
    check_version(stream.read_u8().await?)?;
    let [code, _reserved, kind] = [stream.read_u8().await?, stream.read_u8().await?, stream.read_u8().await?];
    if code != 0 {
        return Err(SocksError::Refused(code));
    }
    let length = match kind {
        ADDRESS_V4 => 4,
        ADDRESS_V6 => 16,
        NAME => usize::from(stream.read_u8().await?),
        other => return Err(SocksError::AddressType(other)),
    };
    let mut address_and_port = vec![0; length + 2];
    stream.read_exact(&mut address_and_port).await?;
    Ok(())
}

fn check_version(version: u8) -> Result<(), SocksError> {
    if version == VERSION { Ok(()) } else { Err(SocksError::Version(version)) }
}
