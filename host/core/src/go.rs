//! What Go's libraries make of data, to the byte, where hashes, checksums and messages that people know depend on it.

pub mod glob;

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

/// A text in quotation marks (`strconv.Quote`, `%q`): what can't be printed is escaped.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str(r"\\"),
            letter => push_printable(&mut quoted, letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Appends a letter that can be printed, and others as the escapes that they have in Go's texts.
pub fn push_printable(text: &mut String, letter: char) {
    let escape = match letter {
        ' '..='~' => return text.push(letter),
        '\u{7}' => r"\a",
        '\u{8}' => r"\b",
        '\u{b}' => r"\v",
        '\u{c}' => r"\f",
        '\n' => r"\n",
        '\r' => r"\r",
        '\t' => r"\t",
        letter if can_be_printed(letter) => return text.push(letter),
        _ => "",
    };
    let code = u32::from(letter);
    // Writing to a text can't fail.
    let _ = match code {
        _ if !escape.is_empty() => text.write_str(escape),
        0..0x20 | 0x7f => write!(text, r"\x{code:02x}"),
        0x80..=0xffff => write!(text, r"\u{code:04x}"),
        _ => write!(text, r"\U{code:08x}"),
    };
}

/// Whether Rust prints this letter in the middle of a text: its tables are of the same kinds of letters as Go's.
fn can_be_printed(letter: char) -> bool {
    let mut bytes = [0; 5];
    bytes[0] = b'a';
    let end = 1 + letter.encode_utf8(&mut bytes[1..]).len();
    let shown = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    shown.escape_debug().nth(1) == Some(letter)
}

/// A whole number of decimal digits up to `max`, or why it is none (`strconv.ParseUint`).
///
/// # Errors
///
/// Go's words.
pub fn parse_uint(text: &str, max: u64) -> Result<u64, String> {
    let refused = |why| format!("strconv.ParseUint: parsing {}: {why}", quote(text));
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused("invalid syntax"));
    }
    let number = text.parse().ok().filter(|number| *number <= max);
    number.ok_or_else(|| refused("value out of range"))
}

/// A number as Go prints it (`strconv.FormatFloat` by the format `g`, with as few digits as tell it from others): `0.005`, `262144`,
/// `1.048576e+06`.
pub fn float(number: f64) -> String {
    const PLAIN: std::ops::Range<i32> = -4..6;
    let with_exponent = format!("{number:e}");
    let parts = with_exponent.split_once('e').and_then(|(digits, exponent)| {
        let exponent: i32 = exponent.parse().ok()?;
        Some((digits, exponent))
    });
    match (number, parts) {
        (f64::INFINITY, _) => "+Inf".to_owned(),
        (f64::NEG_INFINITY, _) => "-Inf".to_owned(),
        (_, Some((digits, exponent))) if !PLAIN.contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => number.to_string(),
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
    fn texts_are_quoted_as_go_quotes_them() {
        let cases = [
            ("", r#""""#),
            ("plain text", r#""plain text""#),
            ("a \"quoted\" \\ text", r#""a \"quoted\" \\ text""#),
            ("\u{7}\u{8}\u{c}\n\r\t\u{b}", r#""\a\b\f\n\r\t\v""#),
            ("\0\u{1b}[31m\u{7f}", r#""\x00\x1b[31m\x7f""#),
            ("it's", r#""it's""#),
            ("grüße, 日本, e\u{301}, 😀", "\"grüße, 日本, e\u{301}, 😀\""),
            ("\u{301}", "\"\u{301}\""),
            ("\u{85}\u{a0}\u{ad}\u{202e}\u{2028}", r#""\u0085\u00a0\u00ad\u202e\u2028""#),
            ("\u{e0001}\u{10ffff}", r#""\U000e0001\U0010ffff""#),
        ];
        for (text, expected) in cases {
            assert_eq!(quote(text), expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        let refused = |text: &str, why| Err(format!("strconv.ParseUint: parsing \"{text}\": {why}"));
        for (text, expected) in [
            ("0", Ok(0)),
            ("007", Ok(7)),
            ("2147483647", Ok(2_147_483_647)),
            ("2147483648", refused("2147483648", "value out of range")),
            ("99999999999999999999999", refused("99999999999999999999999", "value out of range")),
            ("", refused("", "invalid syntax")),
            ("-1", refused("-1", "invalid syntax")),
            ("+1", refused("+1", "invalid syntax")),
            ("1_0", refused("1_0", "invalid syntax")),
            ("\u{661}", refused("\u{661}", "invalid syntax")),
        ] {
            assert_eq!(parse_uint(text, 2_147_483_647), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_printed_as_go_prints_them() {
        for (number, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.005, "0.005"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (0.000_025, "2.5e-05"),
            (262_144.0, "262144"),
            (999_999.5, "999999.5"),
            (1e6, "1e+06"),
            (1_048_576.0, "1.048576e+06"),
            (16_777_216.0, "1.6777216e+07"),
            (1e21, "1e+21"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(float(number), expected);
        }
    }

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
