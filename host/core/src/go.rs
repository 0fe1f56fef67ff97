//! What Go's libraries make of data, to the byte, where hashes, checksums and messages that people know depend on it.

use std::fmt::Write as _;

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

/// A duration as Go prints it (`time.Duration.String`): `0s`, `1.5ms`, `2m0s`, `336h0m0s`, `-1s`.
pub fn duration(nanoseconds: i64) -> String {
    const SECOND: u64 = 1_000_000_000;
    let (sign, amount) = (if nanoseconds < 0 { "-" } else { "" }, nanoseconds.unsigned_abs());
    let unit = match amount {
        0 => return "0s".to_owned(),
        1..1_000 => return format!("{sign}{amount}ns"),
        1_000..1_000_000 => Some((1_000, "µs")),
        1_000_000..SECOND => Some((1_000_000, "ms")),
        _ => None,
    };
    if let Some((scale, name)) = unit {
        return format!("{sign}{}{name}", with_fraction(amount, scale));
    }
    let seconds = amount / SECOND;
    let mut text = sign.to_owned();
    // Writing to a text can't fail.
    if seconds >= 3600 {
        let _ = write!(text, "{}h", seconds / 3600);
    }
    if seconds >= 60 {
        let _ = write!(text, "{}m", seconds / 60 % 60);
    }
    let _ = write!(text, "{}s", with_fraction(amount % (60 * SECOND), SECOND));
    text
}

/// `amount / scale` in decimal digits, without zeros at the end; `scale` is a power of ten.
fn with_fraction(amount: u64, scale: u64) -> String {
    let digits = scale.ilog10() as usize;
    let text = format!("{}.{:0digits$}", amount / scale, amount % scale);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    //! Go's own cases of `TestDurationString`, and ours.

    use super::*;

    #[test]
    fn durations_are_printed_as_go_prints_them() {
        const MILLISECOND: i64 = 1_000_000;
        const SECOND: i64 = 1000 * MILLISECOND;
        let cases = [
            ("0s", 0),
            ("1ns", 1),
            ("1.1µs", 1100),
            ("2.2ms", 2_200_000),
            ("3.3s", 3300 * MILLISECOND),
            ("4m5s", 245 * SECOND),
            ("4m5.001s", 245 * SECOND + MILLISECOND),
            ("5h6m7.001s", (5 * 3600 + 6 * 60 + 7) * SECOND + MILLISECOND),
            ("8m0.000000001s", 480 * SECOND + 1),
            ("2562047h47m16.854775807s", i64::MAX),
            ("-2562047h47m16.854775808s", i64::MIN),
            ("10s", 10 * SECOND),
            ("336h0m0s", 14 * 24 * 3600 * SECOND),
            ("-1s", -SECOND),
        ];
        for (expected, nanoseconds) in cases {
            assert_eq!(duration(nanoseconds), expected);
        }
    }
}
