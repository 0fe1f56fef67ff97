//! Headers as HTTP/2 packs them (RFC 7541). What is sent is never packed tightly; what comes is decoded whatever its
//! sender did.

mod huffman;
mod table;

use table::Table;

/// Bytes of a block's headers once they are decoded, counted as RFC 9113 section 10.5.1 has it; more is an error.
pub(crate) const DECODED_BYTES_MAX: usize = 16 * 1024;

/// A name and a value.
pub(crate) type Header = (Vec<u8>, Vec<u8>);

/// Bytes that are no headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Appends a header by its full name, without remembering it. Names are in lower case.
pub(crate) fn write(output: &mut Vec<u8>, name: &str, value: &str) {
    output.push(0);
    write_text(output, name);
    write_text(output, value);
}

fn write_text(output: &mut Vec<u8>, text: &str) {
    // An integer with a prefix of 7 bits.
    let mut length = text.len();
    if length < 0x7f {
        output.push(u8::try_from(length).unwrap_or_default());
    } else {
        output.push(0x7f);
        length -= 0x7f;
        while length >= 0x80 {
            output.push(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
            length >>= 7;
        }
        output.push(u8::try_from(length).unwrap_or_default());
    }
    output.extend_from_slice(text.as_bytes());
}

/// Decodes the blocks of one connection, which depend on each other.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    table: Table,
}

impl Decoder {
    /// The headers of a whole block, in their order.
    pub(crate) fn decode(&mut self, mut block: &[u8]) -> Result<Vec<Header>, Malformed> {
        let mut headers: Vec<Header> = Vec::new();
        let mut left = DECODED_BYTES_MAX;
        while let Some(first) = block.first().copied() {
            let header = match first {
                0x80.. => {
                    let index = integer(&mut block, 7)?;
                    self.table.get(index).ok_or(Malformed)?
                }
                0x40.. => {
                    let header = self.literal(&mut block, 6)?;
                    self.table.insert(header.clone());
                    header
                }
                0x20.. => {
                    // Only before the first header, and never to more than we allow.
                    let bytes_max = integer(&mut block, 5)?;
                    if !headers.is_empty() || !self.table.resize(bytes_max) {
                        return Err(Malformed);
                    }
                    continue;
                }
                _ => self.literal(&mut block, 4)?,
            };
            left = left.checked_sub(table::size(&header)).ok_or(Malformed)?;
            headers.push(header);
        }
        Ok(headers)
    }

    fn literal(&self, block: &mut &[u8], prefix_bits: u32) -> Result<Header, Malformed> {
        let name = match integer(block, prefix_bits)? {
            0 => text(block)?,
            index => self.table.get(index).ok_or(Malformed)?.0,
        };
        Ok((name, text(block)?))
    }
}

/// An integer whose first bits share a byte with something else (RFC 7541 section 5.1). No index or length needs more
/// than 28 bits after that.
fn integer(bytes: &mut &[u8], prefix_bits: u32) -> Result<usize, Malformed> {
    let (first, rest) = bytes.split_first().ok_or(Malformed)?;
    *bytes = rest;
    let prefix_max = (1_u8 << prefix_bits) - 1;
    let prefix = first & prefix_max;
    let mut value = usize::from(prefix);
    if prefix < prefix_max {
        return Ok(value);
    }
    for shift in [0, 7, 14, 21] {
        let (next, rest) = bytes.split_first().ok_or(Malformed)?;
        *bytes = rest;
        value += usize::from(next & 0x7f) << shift;
        if next & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

/// A text (RFC 7541 section 5.2).
fn text(bytes: &mut &[u8]) -> Result<Vec<u8>, Malformed> {
    let packed = bytes.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer(bytes, 7)?;
    let (text, rest) = bytes.split_at_checked(length).ok_or(Malformed)?;
    *bytes = rest;
    if packed { huffman::decode(text) } else { Ok(text.to_vec()) }
}

#[cfg(test)]
mod tests;
