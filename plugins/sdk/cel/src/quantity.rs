//! Amounts as Kubernetes writes them: `100m`, `1.5Gi`, `2e3`.

use std::cmp::Ordering;

/// An amount in billionths. What is larger than 2^127 billionths, or 1.7e29, counts as that much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    nanos: i128,
}

/// Billionths of one.
const ONE: i128 = 1_000_000_000;

/// Suffixes with the exponent of ten, or of two.
const DECIMAL: &[(&str, i32)] = &[
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: &[(&str, u32)] = &[("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// Digits below a billionth that count.
const REST_DIGITS: usize = 19;

/// The longest number: more digits are beyond all bounds, or far below a billionth.
const DIGITS_MAX: usize = 400;

impl Quantity {
    /// So many pieces.
    pub fn of(number: i64) -> Self {
        Self { nanos: i128::from(number) * ONE }
    }

    /// So many thousandths.
    pub fn of_milli(number: i64) -> Self {
        Self { nanos: i128::from(number) * (ONE / 1000) }
    }

    /// Reads an amount; none if the text isn't one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end =
            unsigned.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if number.len() > DIGITS_MAX || whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let (exponent, shift) = scale(suffix)?;
        let is_negative = text.starts_with('-');
        let amount = magnitude(whole, fraction, exponent, shift);
        let nanos = if is_negative { -amount } else { amount };
        Some(Self { nanos })
    }

    /// The whole number that it is; none if it isn't one of 64 bits.
    pub(crate) fn as_integer(self) -> Option<i64> {
        if self.nanos % ONE != 0 {
            return None;
        }
        i64::try_from(self.nanos / ONE).ok()
    }

    pub(crate) fn as_float(self) -> f64 {
        self.nanos as f64 / 1e9
    }

    pub(crate) fn sign(self) -> i64 {
        self.nanos.signum() as i64
    }

    pub(crate) fn add(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_add(other.nanos) }
    }

    pub(crate) fn sub(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_sub(other.nanos) }
    }

    pub(crate) fn compare(self, other: Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// Exponent of ten and shift by powers of two that a suffix stands for.
fn scale(suffix: &str) -> Option<(i32, u32)> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((*exponent, 0));
    }
    if let Some((_, shift)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((0, *shift));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    exponent.parse::<i32>().ok().map(|exponent| (exponent.clamp(-1000, 1000), 0))
}

/// The amount in billionths, rounded up.
fn magnitude(whole: &str, fraction: &str, exponent: i32, shift: u32) -> i128 {
    let digits: String = [whole, fraction].concat();
    let digits = digits.trim_start_matches('0');
    let trimmed = digits.trim_end_matches('0');
    let length = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX);
    // The digits are a number of this power of ten in billionths.
    let power = 9 + exponent - length(fraction) + length(digits) - length(trimmed);
    if let Ok(power @ 0..) = u32::try_from(power) {
        let factor = 10_i128.checked_pow(power).unwrap_or(i128::MAX);
        return number(trimmed).saturating_mul(1 << shift).saturating_mul(factor);
    }
    // Whole billionths, and the digits below them: a power of two may make them whole, so that as many count as fit.
    let below = usize::try_from(-power).unwrap_or(usize::MAX);
    let (above, rest) = trimmed.split_at(trimmed.len().saturating_sub(below));
    let zeros = below - rest.len();
    let kept = REST_DIGITS.saturating_sub(zeros).min(rest.len());
    let (counted, dropped) = rest.split_at(kept);
    let unit = 10_i128.pow(u32::try_from(zeros.min(REST_DIGITS) + kept).unwrap_or(0));
    let shifted = number(counted) << shift;
    let is_more = shifted % unit != 0 || !dropped.is_empty();
    number(above)
        .saturating_mul(1 << shift)
        .saturating_add(shifted / unit)
        .saturating_add(i128::from(is_more))
}

fn number(digits: &str) -> i128 {
    digits.bytes().fold(0, |sum: i128, digit| sum.saturating_mul(10).saturating_add(i128::from(digit - b'0')))
}

#[cfg(test)]
mod tests;
