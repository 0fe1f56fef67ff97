//! The two messages of a health check, as bytes.

/// `SERVING` in `grpc.health.v1.HealthCheckResponse.ServingStatus`.
pub(crate) const SERVING: u64 = 1;

/// Bytes before a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;
/// Field 1 with a length: `HealthCheckRequest.service`.
const SERVICE: u8 = 0x0a;
/// Field 1 as a varint: `HealthCheckResponse.status`.
const STATUS: u64 = 0x08;

/// A request for one service; empty for the server as a whole.
pub(crate) fn request(service: &str) -> Vec<u8> {
    let mut message = Vec::new();
    if !service.is_empty() {
        message.push(SERVICE);
        let mut length = service.len();
        while length >= 0x80 {
            message.push(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
            length >>= 7;
        }
        message.push(u8::try_from(length).unwrap_or_default());
        message.extend_from_slice(service.as_bytes());
    }
    // Parameters with longer names are refused.
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut framed = vec![0];
    framed.extend_from_slice(&length.to_be_bytes());
    framed.append(&mut message);
    framed
}

/// The status in an answer; none if this isn't one.
pub(crate) fn status(answer: &[u8]) -> Option<u64> {
    let (prefix, message) = answer.split_at_checked(PREFIX_BYTES)?;
    let length = u32::from_be_bytes(prefix.get(1..)?.try_into().ok()?);
    let mut rest = message.get(..usize::try_from(length).ok()?)?;
    if prefix.first() != Some(&0) {
        return None;
    }
    // A field that isn't there has its default.
    let mut status = 0;
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        match key & 7 {
            0 if key == STATUS => status = varint(&mut rest)?,
            0 => drop(varint(&mut rest)?),
            1 => rest = rest.get(8..)?,
            2 => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                rest = rest.get(length..)?;
            }
            5 => rest = rest.get(4..)?,
            _ => return None,
        }
    }
    Some(status)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// A status by its name.
pub(crate) fn status_name(status: u64) -> String {
    match status {
        0 => "UNKNOWN".to_owned(),
        1 => "SERVING".to_owned(),
        2 => "NOT_SERVING".to_owned(),
        3 => "SERVICE_UNKNOWN".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
