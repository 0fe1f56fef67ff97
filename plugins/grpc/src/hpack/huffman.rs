//! The code of texts (RFC 7541 section 5.2 and appendix B). It is canonical: how long each symbol's code is says all.

use super::Malformed;

/// Bits of each byte's code; the last is the end of the text.
pub(super) const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6,
    6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7,
    8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7,
    15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24,
    23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23,
    23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26,
    26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20,
    21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27,
    27, 27, 26, 30,
];

/// Bits of the longest code.
const BITS_MAX: usize = 30;

/// The symbol that a text ends before.
const END: u16 = 256;

/// Of each length: the first code, how many there are, and where their symbols begin.
#[derive(Clone, Copy)]
struct OfLength {
    first: u32,
    count: u32,
    symbols_at: usize,
}

/// The codes by length, and the symbols in the order of their codes.
const CODES: ([OfLength; BITS_MAX + 1], [u16; 257]) = codes();

const fn codes() -> ([OfLength; BITS_MAX + 1], [u16; 257]) {
    let mut lengths = [OfLength { first: 0, count: 0, symbols_at: 0 }; BITS_MAX + 1];
    let mut symbols = [0; 257];
    let (mut bits, mut code, mut at) = (1, 0, 0);
    while bits <= BITS_MAX {
        code <<= 1;
        lengths[bits] = OfLength { first: code, count: 0, symbols_at: at };
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == bits {
                symbols[at] = symbol as u16;
                at += 1;
                code += 1;
                lengths[bits].count += 1;
            }
            symbol += 1;
        }
        bits += 1;
    }
    (lengths, symbols)
}

/// The bytes of a packed text. It ends with less than 8 bits, all ones, that are no symbol.
pub(super) fn decode(packed: &[u8]) -> Result<Vec<u8>, Malformed> {
    static OF_CODES: ([OfLength; BITS_MAX + 1], [u16; 257]) = CODES;
    let (lengths, symbols) = &OF_CODES;
    let mut text = Vec::with_capacity(packed.len() + packed.len() / 2);
    let (mut code, mut bits) = (0_u32, 0_usize);
    for byte in packed {
        for bit in (0..8).rev() {
            code = (code << 1) | u32::from((byte >> bit) & 1);
            bits += 1;
            let of_length = lengths.get(bits).ok_or(Malformed)?;
            let Some(index) = code.checked_sub(of_length.first).filter(|index| *index < of_length.count)
            else {
                continue;
            };
            let index = of_length.symbols_at + usize::try_from(index).map_err(|_| Malformed)?;
            let symbol = *symbols.get(index).ok_or(Malformed)?;
            if symbol == END {
                return Err(Malformed);
            }
            text.push(u8::try_from(symbol).map_err(|_| Malformed)?);
            (code, bits) = (0, 0);
        }
    }
    let padding = (1_u32 << bits) - 1;
    if bits < 8 && code == padding { Ok(text) } else { Err(Malformed) }
}
