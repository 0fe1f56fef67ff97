//! What lines of text are made of.

use std::io::Write as _;

/// A label after others, or as the first one of an empty text.
pub(super) fn label(text: &mut Vec<u8>, name: &str, value: &str) {
    text.push(if text.is_empty() { b'{' } else { b',' });
    pair(text, name, value);
}

/// A label's name and value.
pub(super) fn pair(text: &mut Vec<u8>, name: &str, value: &str) {
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"=\"");
    escape(text, value, true);
    text.push(b'"');
}

/// A time as the end of a line of text.
#[derive(Debug, Default)]
pub(super) struct WrittenTime {
    milliseconds: i64,
    text: Vec<u8>,
}

impl WrittenTime {
    pub(super) fn line_end(&mut self, milliseconds: i64) -> &[u8] {
        if self.text.is_empty() || self.milliseconds != milliseconds {
            self.milliseconds = milliseconds;
            self.text.clear();
            self.text.push(b' ');
            self.text.extend_from_slice(itoa::Buffer::new().format(milliseconds).as_bytes());
            self.text.push(b'\n');
        }
        &self.text
    }
}

/// A label's value, or with `with_quotes` off a help, as text has it.
pub(super) fn escape(text: &mut Vec<u8>, value: &str, with_quotes: bool) {
    let is_plain = |byte: &u8| !matches!(byte, b'\\' | b'\n') && (*byte != b'"' || !with_quotes);
    let mut rest = value.as_bytes();
    while let Some(plain) = rest.iter().position(|byte| !is_plain(byte)) {
        let (before, after) = rest.split_at(plain);
        text.extend_from_slice(before);
        let Some((special, after)) = after.split_first() else { break };
        text.extend_from_slice(&[b'\\', if *special == b'\n' { b'n' } else { *special }]);
        rest = after;
    }
    text.extend_from_slice(rest);
}

/// A figure as text has it.
pub(super) struct Value(pub(super) f64);

impl Value {
    /// Most figures are counts and bytes, and whole numbers are written many times faster than others. Prometheus reads plain decimals
    /// and exponents alike.
    pub(super) fn write(self, text: &mut Vec<u8>) {
        /// Every whole number below is an `f64`.
        const WHOLE_MAX: i64 = 1 << f64::MANTISSA_DIGITS;
        // What is no whole number isn't its own integer part; the sign of a negative zero is kept.
        let whole = self.0 as i64;
        if whole as f64 == self.0 && self.0.is_sign_positive() && whole < WHOLE_MAX {
            text.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
        } else {
            // Writing to memory doesn't fail.
            let _infallible = write!(text, "{self}");
        }
    }
}

/// Nanoseconds as seconds, without zeros at the end. What is read of it is the nearest number to the exact one.
pub(super) fn seconds(text: &mut Vec<u8>, nanoseconds: u64) {
    const SECOND: u64 = 1_000_000_000;
    let mut digits = itoa::Buffer::new();
    text.extend_from_slice(digits.format(nanoseconds / SECOND).as_bytes());
    if !nanoseconds.is_multiple_of(SECOND) {
        // With a digit before them, so that those at the beginning are there.
        let fraction = digits.format(SECOND + nanoseconds % SECOND).trim_end_matches('0');
        text.push(b'.');
        text.extend_from_slice(fraction.as_bytes().get(1..).unwrap_or_default());
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            f64::INFINITY => f.write_str("+Inf"),
            f64::NEG_INFINITY => f.write_str("-Inf"),
            value => write!(f, "{value}"),
        }
    }
}
