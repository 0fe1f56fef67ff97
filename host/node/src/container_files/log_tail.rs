//! The end of a log in the CRI's format: `<time> <stream> <tags> <text>`, a line for each entry.

#[cfg(test)]
mod tests;

/// Bytes of an entry's beginning, more than enough: time, stream and tags.
const PREFIX_BYTES_MAX: usize = 128;
/// Bytes of the longest text of one entry: runtimes cut lines into parts of 16 KiB.
const ENTRY_BYTES_MAX: usize = 32 * 1024;

/// How much of a log's end has to be read for so many bytes and entries: short entries have long prefixes.
pub(super) fn bytes_needed(bytes_max: usize, lines_max: usize) -> usize {
    let prefixes = lines_max.saturating_mul(PREFIX_BYTES_MAX);
    prefixes.saturating_add(bytes_max).saturating_add(ENTRY_BYTES_MAX)
}

/// The texts of the last entries, as the process wrote them: a part (`P`) has no end of line. An entry that can't be
/// read counts as an entry and gives nothing, as upstream has it; so does one that isn't finished yet.
pub(super) fn content(end: &[u8], bytes_max: usize, lines_max: usize) -> Vec<u8> {
    let finished = end.iter().rposition(|byte| *byte == b'\n').map_or(&end[..0], |at| &end[..=at]);
    let lines: Vec<&[u8]> = finished.split_inclusive(|byte| *byte == b'\n').collect();
    let mut text = Vec::new();
    for line in &lines[lines.len().saturating_sub(lines_max)..] {
        if let Some((part, whole)) = entry(line) {
            text.extend_from_slice(part);
            text.extend(whole.then_some(b'\n'));
        }
    }
    let start = text.len().saturating_sub(bytes_max);
    text.split_off(start)
}

/// The text of an entry, and whether it ends a line.
fn entry(line: &[u8]) -> Option<(&[u8], bool)> {
    let line = line.strip_suffix(b"\n")?;
    let mut parts = line.splitn(4, |byte| *byte == b' ');
    let (time, stream, tags) = (parts.next()?, parts.next()?, parts.next()?);
    let text = parts.next()?;
    let is_stream = matches!(stream, b"stdout" | b"stderr");
    let is_time = std::str::from_utf8(time).is_ok_and(|time| time.parse::<jiff::Timestamp>().is_ok());
    let first_tag = tags.split(|byte| *byte == b':').next()?;
    (is_time && is_stream).then_some((text, first_tag != b"P"))
}
