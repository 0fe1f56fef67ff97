//! Changes inputs at random: always the same ones for the same seed.

/// Longest input that is made, in bytes.
pub const INPUT_BYTES_MAX: usize = 64 * 1024;

/// One input of so many grows by a part of it that is repeated, which shows time and memory out of proportion.
const GROWS_ONCE_IN: usize = 128;

/// Numbers at the edges of types and bounds.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "127",
    "128",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e308",
    "0.5",
];

/// Pieces of text that formats trip over.
const PIECES: &[&str] = &[
    "\n",
    "\r\n",
    "\t",
    " ",
    "\0",
    "\u{feff}",
    "\u{2028}",
    "é",
    "\u{1f600}",
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ":",
    ": ",
    ",",
    "- ",
    "---\n",
    "#",
    "&a ",
    "*a",
    "!!str ",
    "|\n",
    "null",
    "true",
    "~",
    "\\u0000",
    "\\ud800",
    "%",
    "%00",
    "=",
    "..",
];

/// Numbers that seem random (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.any() % end).unwrap_or(0)
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> Option<&'a T> {
        all.get(self.below(all.len())).copied()
    }

    /// Up to `most` bytes of the input, as a range.
    fn range(&mut self, length: usize, most: usize) -> std::ops::Range<usize> {
        let begin = self.below(length + 1);
        begin..begin + self.below((length - begin).min(most) + 1)
    }
}

/// A changed copy of one input. `others` are inputs that parts are taken from, `words` what inputs of this kind are made of.
pub fn changed(input: &[u8], others: &[Vec<u8>], words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(4) {
        change(&mut bytes, others, words, random);
    }
    if random.below(GROWS_ONCE_IN) == 0 {
        let part = random.range(bytes.len(), 64);
        let times = random.below(INPUT_BYTES_MAX / part.len().max(1));
        let repeated = bytes[part.clone()].repeat(times);
        bytes.splice(part, repeated);
    }
    bytes.truncate(INPUT_BYTES_MAX);
    bytes
}

fn change(bytes: &mut Vec<u8>, others: &[Vec<u8>], words: &[&str], random: &mut Random) {
    let at = random.below(bytes.len());
    let place = random.below(bytes.len() + 1);
    let insert = |bytes: &mut Vec<u8>, text: &str| drop(bytes.splice(place..place, text.bytes()));
    match random.below(12) {
        0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
        1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.any().to_le_bytes()[0]),
        2 => drop(bytes.drain(random.range(bytes.len(), 32))),
        3 => bytes.truncate(at),
        4 => {
            let part = bytes[random.range(bytes.len(), 64)].to_vec();
            bytes.splice(place..place, part);
        }
        5 => {
            let (from, to) = (random.range(bytes.len(), 32), random.range(bytes.len(), 32));
            let part = bytes[from].to_vec();
            bytes.splice(to, part);
        }
        6 | 7 => insert(bytes, random.of(words).unwrap_or_default()),
        8 => insert(bytes, random.of(PIECES).unwrap_or_default()),
        9 => number(bytes, random),
        10 => {
            let Some(other) = others.get(random.below(others.len())) else { return };
            let part = other[random.range(other.len(), 256)].to_vec();
            bytes.splice(random.range(bytes.len(), 64), part);
        }
        _ => {
            // A word for a line or the rest of one, so that values change as a whole.
            let end =
                bytes[place..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| place + end);
            bytes.splice(place..end, random.of(words).unwrap_or_default().bytes());
        }
    }
}

/// Puts another number in the place of one, or anywhere if there is none.
fn number(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = random.below(bytes.len());
    let digit = |byte: &u8| byte.is_ascii_digit();
    let begin = bytes[from..].iter().position(digit).map_or(from, |begin| from + begin);
    let length = bytes[begin..].iter().take_while(|byte| digit(byte)).count();
    bytes.splice(begin..begin + length, random.of(NUMBERS).unwrap_or_default().bytes());
}
