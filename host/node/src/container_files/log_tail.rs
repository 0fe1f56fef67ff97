//! The end of a log in the CRI's format: `<time> <stream> <tags> <text>`, a line for each entry.

use witlet_core::logs::LogEntry;

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
        if let Some(entry) = LogEntry::parse(line) {
            text.extend_from_slice(entry.text);
            text.extend(entry.ends_line.then_some(b'\n'));
        }
    }
    let start = text.len().saturating_sub(bytes_max);
    text.split_off(start)
}
