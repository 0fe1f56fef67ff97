//! Requests written and answers read as bytes.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes of the longest head of an answer.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// What kubectl asks for with exec and attach.
pub const SPDY: &[(&str, &str)] = &[
    ("Connection", "Upgrade"),
    ("Upgrade", "SPDY/3.1"),
    ("X-Stream-Protocol-Version", "v4.channel.k8s.io"),
    ("X-Stream-Protocol-Version", "v3.channel.k8s.io"),
    ("X-Stream-Protocol-Version", "v2.channel.k8s.io"),
    ("X-Stream-Protocol-Version", "channel.k8s.io"),
    ("Content-Length", "0"),
];

/// What kubectl asks for with port-forward.
pub const PORT_FORWARD: &[(&str, &str)] = &[
    ("Connection", "Upgrade"),
    ("Upgrade", "SPDY/3.1"),
    ("X-Stream-Protocol-Version", "portforward.k8s.io"),
    ("Content-Length", "0"),
];

/// An answer's head, and the connection behind it.
pub async fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<(String, TcpStream), String> {
    let mut request =
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: kubectl/v1.36.0\r\n");
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    request += "\r\n";
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).await.map_err(failed)?;
    stream.write_all(request.as_bytes()).await.map_err(failed)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.map_err(|error| format!("{error} after {head:?}"))?);
        if head.len() > HEAD_BYTES_MAX {
            return Err("the answer's head doesn't end".to_owned());
        }
    }
    Ok((String::from_utf8_lossy(&head).into_owned(), stream))
}

/// The same, and the answer must be an upgrade.
pub async fn upgraded(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<TcpStream, String> {
    let (head, mut stream) = ask(address, method, path, headers).await?;
    if head.starts_with("HTTP/1.1 101 ") {
        return Ok(stream);
    }
    let mut rest = vec![0; HEAD_BYTES_MAX];
    let length = stream.read(&mut rest).await.unwrap_or(0);
    Err(format!("{head}{}", String::from_utf8_lossy(&rest[..length])))
}
