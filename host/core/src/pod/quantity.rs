//! Kubernetes quantities as exact integers (`apimachinery/pkg/api/resource/quantity.go`).
//!
//! `kube_quantity` keeps 96-bit decimals and answers in floats or in the unit that the text had; admission and cgroups
//! need the integers that upstream computes, rounded up and saturating.

use std::cmp::Ordering;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use thiserror::Error;

#[cfg(test)]
mod tests;

/// The longest text that is checked, in bytes. Upstream sets no bound; no one writes longer ones.
pub const QUANTITY_LENGTH_MAX: usize = 128;

/// Digits kept exactly. With a factor of 2^60 (`Ei`) they still fit 128 bits, and they are more than 64 bits hold.
const DIGITS_MAX: u32 = 20;

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuantityError {
    #[error("quantity must not be empty")]
    Empty,
    /// Longer than [`QUANTITY_LENGTH_MAX`].
    #[error("quantity must have at most {QUANTITY_LENGTH_MAX} bytes")]
    TooLong,
    /// It doesn't begin with a number.
    #[error("`{text}` is not a quantity: expected a number and a suffix, such as 500m, 1.5 or 64Mi")]
    Number { text: String },
    /// What follows the number is no suffix.
    #[error(
        "`{text}` is not a quantity: unknown suffix `{suffix}`, expected one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, or an exponent"
    )]
    Suffix {
        text: String,
        /// What followed the number.
        suffix: String,
    },
}

/// A number read exactly, save that digits after the twentieth only tell whether it is rounded.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    negative: bool,
    digits: u128,
    power_of_ten: i32,
    power_of_two: u32,
    /// Whether digits that aren't zero were dropped.
    inexact: bool,
}

/// Reads a quantity: an optional sign, digits with an optional point, and a suffix or exponent.
///
/// # Errors
/// The text isn't a quantity.
pub fn parse(text: &str) -> Result<Amount, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Empty);
    }
    if text.len() > QUANTITY_LENGTH_MAX {
        return Err(QuantityError::TooLong);
    }
    let (negative, unsigned) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let number_end =
        unsigned.bytes().position(|byte| !byte.is_ascii_digit() && byte != b'.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(number_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(QuantityError::Number { text: text.to_owned() });
    }
    let (power_of_ten, power_of_two) = factor(suffix)
        .ok_or_else(|| QuantityError::Suffix { text: text.to_owned(), suffix: suffix.to_owned() })?;
    let mut amount = Amount { negative, digits: 0, power_of_ten, power_of_two, inexact: false };
    let mut kept = 0;
    for (is_fraction, digit) in
        whole.bytes().map(|digit| (false, digit)).chain(fraction.bytes().map(|digit| (true, digit)))
    {
        let digit = u128::from(digit - b'0');
        if kept < DIGITS_MAX {
            amount.digits = amount.digits * 10 + digit;
            kept += u32::from(amount.digits != 0);
            amount.power_of_ten = amount.power_of_ten.saturating_sub(i32::from(is_fraction));
        } else {
            amount.inexact |= digit != 0;
            amount.power_of_ten = amount.power_of_ten.saturating_add(i32::from(!is_fraction));
        }
    }
    Ok(amount)
}

/// The powers of ten and of two that a suffix stands for.
fn factor(suffix: &str) -> Option<(i32, u32)> {
    let factor = match suffix {
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "" => (0, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        exponent => (exponent.strip_prefix(['e', 'E'])?.parse().ok()?, 0),
    };
    Some(factor)
}

impl Amount {
    /// Less than zero.
    pub fn is_negative(&self) -> bool {
        self.negative && !self.is_zero()
    }

    /// Zero, whatever the suffix.
    pub fn is_zero(&self) -> bool {
        self.digits == 0 && !self.inexact
    }

    /// Returns the amount in base units, rounded away from zero as upstream does; saturates.
    pub fn value(&self) -> i64 {
        saturate(self.scaled(0))
    }

    /// Returns the amount in thousandths, rounded away from zero as upstream does; saturates.
    pub fn milli(&self) -> i64 {
        saturate(self.scaled(3))
    }

    /// Returns the amount in billionths (of a CPU), rounded up; saturates.
    pub fn nano(&self) -> i64 {
        saturate(self.scaled(9))
    }

    /// Whether a fraction of a base unit is left over: `1500m` bytes, for example.
    pub fn has_fraction(&self) -> bool {
        let whole = self.scaled(0);
        whole.checked_mul(1000).is_some_and(|milli| milli != self.scaled(3))
    }

    /// Which is more, at the precision of upstream's smallest unit, a billionth.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.scaled(9).cmp(&other.scaled(9))
    }

    /// The number times 10^`places`, rounded away from zero; saturates.
    fn scaled(&self, places: i32) -> i128 {
        let sign = if self.negative { -1 } else { 1 };
        sign * i128::try_from(self.magnitude(places)).unwrap_or(i128::MAX)
    }

    fn magnitude(&self, places: i32) -> u128 {
        if self.is_zero() {
            return 0;
        }
        // 20 digits (under 2^67) times at most 2^60 can't overflow.
        let binary = self.digits << self.power_of_two;
        let power = self.power_of_ten.saturating_add(places);
        let ten = 10_u128.checked_pow(power.unsigned_abs());
        if power >= 0 {
            let product = ten.and_then(|ten| binary.checked_mul(ten));
            return product.map_or(u128::MAX, |product| product.saturating_add(u128::from(self.inexact)));
        }
        // Less than the smallest unit still rounds up to one.
        let Some(ten) = ten else { return 1 };
        let rest = !binary.is_multiple_of(ten) || self.inexact;
        binary / ten + u128::from(rest)
    }
}

/// The suffix of each power of a thousand, from billionths on.
const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// The suffix of each power of 1024.
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The number in Go's canonical form `DecimalSI` (`Quantity.String`): `1k` for 1000.
pub fn decimal(number: i64) -> String {
    in_thousands(number.into(), 0)
}

/// The number in Go's canonical form `BinarySI`: `1Mi` for 1048576, `1536` where 1024 doesn't divide it. Below 1024 it is decimal.
pub fn binary(number: i64) -> String {
    if number.unsigned_abs() < 1024 {
        return decimal(number);
    }
    let (mut rest, mut power) = (number, 0);
    while rest % 1024 == 0 && power + 1 < BINARY_SUFFIXES.len() {
        rest /= 1024;
        power += 1;
    }
    format!("{rest}{}", BINARY_SUFFIXES[power])
}

/// A quantity's text as Go prints it (`Quantity.String`): `1Gi` for `1024Mi`, `1500m` for `1.5`. A text that is no quantity stays as
/// it is, and so do exponents.
pub fn canonical(text: &str) -> String {
    let Ok(amount) = parse(text) else { return text.to_owned() };
    if text.ends_with('i') {
        return binary(amount.value());
    }
    if text.contains(['e', 'E']) && !text.ends_with('E') {
        return text.to_owned();
    }
    in_thousands(amount.scaled(9), -9)
}

/// Digits and a power of ten that three divides, with as few digits as this allows.
fn in_thousands(mut digits: i128, mut power: i32) -> String {
    while digits != 0 && digits % 1000 == 0 && power < 18 {
        digits /= 1000;
        power += 3;
    }
    let power = if digits == 0 { 0 } else { power };
    // From -9 to 18 by threes: an index of the table.
    let suffix = usize::try_from((power + 9) / 3).ok().and_then(|index| DECIMAL_SUFFIXES.get(index));
    format!("{digits}{}", suffix.copied().unwrap_or_default())
}

fn saturate(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

/// A quantity in base units (bytes, pieces), rounded up; saturates.
///
/// # Errors
/// The text isn't a quantity.
pub fn value(quantity: &Quantity) -> Result<i64, QuantityError> {
    Ok(parse(&quantity.0)?.value())
}

/// A quantity in thousandths (of a CPU), rounded up; saturates.
///
/// # Errors
/// The text isn't a quantity.
pub fn milli(quantity: &Quantity) -> Result<i64, QuantityError> {
    Ok(parse(&quantity.0)?.milli())
}
