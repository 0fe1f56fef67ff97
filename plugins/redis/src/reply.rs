//! Answers of Redis (RESP, version 2), as far as the probe needs them.

/// Bytes of an answer's first line, and of a text in it.
pub(crate) const TEXT_BYTES_MAX: usize = 1024;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// A text, however it was framed.
    Text(String),
    /// The server's words.
    Error(String),
    /// A list, of which only the first element matters, and only if it is a text.
    Array(Option<String>),
}

/// Bytes that are no answer, or one that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The answer that the bytes begin with; none while it isn't whole. Of a list only the beginning is waited for.
pub(crate) fn reply(bytes: &[u8]) -> Result<Option<Reply>, Malformed> {
    let Some((line, rest)) = line(bytes)? else { return Ok(None) };
    let (kind, line) = line.split_first().ok_or(Malformed)?;
    match kind {
        b'+' | b':' => Ok(Some(Reply::Text(text(line)))),
        b'-' => Ok(Some(Reply::Error(text(line)))),
        b'$' => Ok(bulk(line, rest)?.map(|text| Reply::Text(text.unwrap_or_default()))),
        b'*' => match number(line)? {
            None | Some(0) => Ok(Some(Reply::Array(None))),
            Some(_) => {
                let Some((line, rest)) = self::line(rest)? else { return Ok(None) };
                match line.split_first() {
                    Some((b'$', line)) => Ok(bulk(line, rest)?.map(Reply::Array)),
                    Some((b'+', line)) => Ok(Some(Reply::Array(Some(text(line))))),
                    Some(_) | None => Err(Malformed),
                }
            }
        },
        _ => Err(Malformed),
    }
}

/// A line without its end, and what follows.
type Line<'a> = (&'a [u8], &'a [u8]);

/// The first line; none while it isn't whole.
fn line(bytes: &[u8]) -> Result<Option<Line<'_>>, Malformed> {
    match bytes.windows(2).take(TEXT_BYTES_MAX).position(|pair| pair == b"\r\n") {
        Some(at) => Ok(Some((&bytes[..at], &bytes[at + 2..]))),
        None if bytes.len() > TEXT_BYTES_MAX => Err(Malformed),
        None => Ok(None),
    }
}

/// A text of so many bytes; the inner none is Redis's own for nothing.
fn bulk(length: &[u8], rest: &[u8]) -> Result<Option<Option<String>>, Malformed> {
    let Some(length) = number(length)? else { return Ok(Some(None)) };
    if length > TEXT_BYTES_MAX {
        return Err(Malformed);
    }
    match (rest.get(..length), rest.get(length..length + 2)) {
        (Some(bytes), Some(b"\r\n")) => Ok(Some(Some(text(bytes)))),
        (_, Some(_)) => Err(Malformed),
        (_, None) => Ok(None),
    }
}

/// A length; none for -1, which stands for nothing.
fn number(digits: &[u8]) -> Result<Option<usize>, Malformed> {
    if digits == b"-1" {
        return Ok(None);
    }
    let digits =
        std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).map(Some).ok_or(Malformed)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
