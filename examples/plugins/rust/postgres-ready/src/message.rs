//! The first message of a connection and the server's answer (PostgreSQL's frontend/backend protocol 3.0).

/// Version 3.0.
const VERSION: u32 = 3 << 16;

/// Bytes of an answer; an error has some hundred.
pub(crate) const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// `cannot_connect_now`: the server starts, stops or recovers.
const CANNOT_CONNECT_NOW: &str = "57P03";

/// What a server says about connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StartupReply {
    /// It takes them, even if not this one.
    Accepts,
    /// Not now, in its words.
    Rejects(String),
}

/// Bytes that are no answer, or one that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// What a client says first.
pub(crate) fn startup(user: &str, database: &str) -> Vec<u8> {
    let mut body = VERSION.to_be_bytes().to_vec();
    for text in ["user", user, "database", database] {
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
    body.push(0);
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &body].concat()
}

/// The answer that the bytes begin with; none while it isn't whole.
pub(crate) fn answer(mut bytes: &[u8]) -> Result<Option<StartupReply>, Malformed> {
    loop {
        let Some((kind, rest)) = bytes.split_first() else { return Ok(None) };
        if !matches!(kind, b'R' | b'E' | b'N' | b'v') {
            return Err(Malformed);
        }
        let Some(length) = rest.first_chunk() else { return Ok(None) };
        let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| Malformed)?;
        if !(4..=ANSWER_BYTES_MAX).contains(&length) {
            return Err(Malformed);
        }
        let Some((body, rest)) = rest.split_at_checked(length) else { return Ok(None) };
        match kind {
            b'R' => return Ok(Some(StartupReply::Accepts)),
            b'E' => return error(body.get(4..).unwrap_or_default()).map(Some),
            // A notice, or which options it doesn't know: the answer follows.
            _ => bytes = rest,
        }
    }
}

/// What an error says: all but one mean that the server is up.
fn error(mut fields: &[u8]) -> Result<StartupReply, Malformed> {
    let (mut code, mut message) = (None, String::new());
    while let Some((kind, rest)) = fields.split_first() {
        if *kind == 0 {
            break;
        }
        let end = rest.iter().position(|byte| *byte == 0).ok_or(Malformed)?;
        let text = String::from_utf8_lossy(&rest[..end]).into_owned();
        match kind {
            b'C' => code = Some(text),
            b'M' => message = text,
            _ => {}
        }
        fields = &rest[end + 1..];
    }
    match code.as_deref() {
        Some(CANNOT_CONNECT_NOW) => Ok(StartupReply::Rejects(message)),
        Some(code) if code.len() == 5 => Ok(StartupReply::Accepts),
        Some(_) | None => Err(Malformed),
    }
}

#[cfg(test)]
mod tests;
