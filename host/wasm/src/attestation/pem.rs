//! The one block of a PEM file (RFC 7468).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A block's label and content.
pub(crate) struct Block {
    pub(crate) label: String,
    pub(crate) der: Vec<u8>,
}

/// Why a text isn't one PEM block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PemFault {
    /// No `-----BEGIN …-----`.
    Missing,
    /// More than one block: it would be unclear which one counts.
    Several,
    /// No matching end, or content that isn't Base64.
    Malformed,
}

/// Reads the only block. Text around it counts for nothing, as RFC 7468 has it.
pub(crate) fn block(text: &str) -> Result<Block, PemFault> {
    let mut lines = text.lines().map(str::trim);
    let label = lines.find_map(|line| marker(line, "-----BEGIN ")).ok_or(PemFault::Missing)?;
    let mut content = String::new();
    loop {
        let line = lines.next().ok_or(PemFault::Malformed)?;
        match marker(line, "-----END ") {
            Some(end) if end == label => break,
            Some(_) => return Err(PemFault::Malformed),
            None => content.push_str(line),
        }
    }
    if lines.any(|line| marker(line, "-----BEGIN ").is_some()) {
        return Err(PemFault::Several);
    }
    let der = STANDARD.decode(&content).map_err(|_invalid| PemFault::Malformed)?;
    Ok(Block { label: label.to_owned(), der })
}

/// Writes a block in lines of 64 letters.
pub(crate) fn write(label: &str, der: &[u8]) -> String {
    let content = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in content.as_bytes().chunks(64) {
        text.push_str(std::str::from_utf8(line).expect("Base64 is ASCII"));
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

fn marker<'a>(line: &'a str, begin: &str) -> Option<&'a str> {
    line.strip_prefix(begin)?.strip_suffix("-----")
}
