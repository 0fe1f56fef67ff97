//! What Go's libraries make of data, to the byte, where hashes and checksums depend on it.

/// JSON as `encoding/json` prints it: it can stand in HTML and in JavaScript. What is escaped for that can be in strings only.
pub(crate) fn escape_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' => escaped.push_str(r"\u003c"),
            '>' => escaped.push_str(r"\u003e"),
            '&' => escaped.push_str(r"\u0026"),
            '\u{2028}' => escaped.push_str(r"\u2028"),
            '\u{2029}' => escaped.push_str(r"\u2029"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// FNV-1a of 32 bits (`hash/fnv`).
pub(crate) fn fnv1a(text: &str) -> u32 {
    const BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    text.bytes().fold(BASIS, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME))
}

/// FNV-1a of 128 bits (`hash/fnv`), fed piece by piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fnv128a(u128);

impl Fnv128a {
    pub(crate) const fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    pub(crate) fn update(&mut self, text: &str) {
        const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
        self.0 = text.bytes().fold(self.0, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    }

    /// 32 lower-case hexadecimal digits.
    pub(crate) fn finish(self) -> String {
        format!("{:032x}", self.0)
    }
}
