//! Quantities as Go keeps them (`apimachinery/pkg/api/resource`): which of its two forms a number is in and how it was written is
//! part of what is hashed. [`crate::pod::quantity`] has the numbers themselves.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(test)]
mod tests;

/// Decimal digits that the small form holds.
const SMALL_DIGITS_MAX: usize = 18;
const NANO: i32 = -9;
const MILLI: i32 = -3;

/// A quantity, with what Go remembers of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Quantity {
    number: Number,
    /// The text, if it was written as Go would write it.
    text: String,
    format: Format,
}

/// Digits and a power of ten. Go counts the power of a big number the other way round, and has no bound for its digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Number {
    Small {
        digits: i64,
        power: i32,
    },
    Big {
        #[serde(with = "as_text")]
        digits: i128,
        power: i32,
    },
}

/// JSON has no numbers of 128 bits.
mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(digits: &i128, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(digits)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i128, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Format {
    #[default]
    None,
    BinarySI,
    DecimalExponent,
    DecimalSI,
}

impl Default for Number {
    fn default() -> Self {
        Self::Small { digits: 0, power: 0 }
    }
}

impl Quantity {
    /// From the text in a manifest, or from what [`Self::to_json`] made. What is no quantity, or is beyond 128 bits in units of a
    /// billionth, is zero with its text.
    pub(super) fn of_json(json: &Value) -> Self {
        match json {
            Value::String(text) => {
                Self::parse(text.trim()).unwrap_or_else(|| Self { text: text.clone(), ..Self::default() })
            }
            Value::Object(_) => Self::deserialize(json).unwrap_or_default(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Self::default(),
        }
    }

    /// A form in which nothing is lost, unlike text.
    pub(super) fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// `ParseQuantity`.
    fn parse(text: &str) -> Option<Self> {
        if text == "0" {
            return Some(Self { text: text.to_owned(), format: Format::DecimalSI, ..Self::default() });
        }
        let written = Written::split(text)?;
        let (base, exponent, format) = unit(written.suffix)?;
        Self::parse_small(text, &written, exponent, format)
            .or_else(|| Self::parse_big(&written, base, exponent, format))
    }

    fn parse_small(text: &str, written: &Written<'_>, exponent: i32, format: Format) -> Option<Self> {
        let Written { is_negative, whole, fraction, .. } = *written;
        let is_binary = format == Format::BinarySI;
        // Go reckons with three digits for ten bits.
        let digits_max = match is_binary {
            true if fraction.is_empty() => 14 - exponent * 3 / 10,
            true => return None,
            false => i32::try_from(SMALL_DIGITS_MAX).ok()?,
        };
        if i32::try_from(whole.len() + fraction.len()).ok()? > digits_max {
            return None;
        }
        let shifted = format!("{whole}{fraction}");
        let power = if is_binary { 0 } else { exponent }.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        if power < NANO {
            return None;
        }
        let value: i64 = shifted.parse().ok()?;
        let factor = if is_binary { 1_i64 << exponent } else { 1 };
        let digits = value.checked_mul(factor)?;
        let is_canonical = match is_binary {
            true => value % 8 != 0,
            false => power % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0'),
        };
        let number = Number::Small { digits: if is_negative { -digits } else { digits }, power };
        Some(Self { number, text: if is_canonical { text.to_owned() } else { String::new() }, format })
    }

    fn parse_big(written: &Written<'_>, base: u8, exponent: i32, mut format: Format) -> Option<Self> {
        let digits: i128 = format!("{}{}", written.whole, written.fraction).parse().ok()?;
        let places = i32::try_from(written.fraction.len()).ok()?;
        let number = match base {
            2 => digits.checked_mul(1_i128 << exponent).map(|digits| (digits, -places)),
            _ => Some((digits, exponent.checked_sub(places)?)),
        };
        let exact = number.and_then(|(digits, power)| match digits {
            0 => Some((0, power)),
            _ => rounded(digits, power, NANO),
        });
        let max = (i128::from(i64::MAX), 0);
        let (digits, power) = match exact {
            // What overflows here is far more than Go lets a binary quantity be.
            None if format == Format::BinarySI => max,
            None => return None,
            Some(number) if format == Format::BinarySI && compare(number, max)? == Ordering::Greater => max,
            Some(number) => number,
        };
        if format == Format::BinarySI && digits != 0 && compare((digits, power), (1, 0))? == Ordering::Less {
            format = Format::DecimalSI;
        }
        let digits = if written.is_negative { -digits } else { digits };
        Some(Self { number: Number::Big { digits, power }, text: String::new(), format })
    }

    /// `SetDefaults_ResourceList`: in thousandths at the finest, rounded away from zero.
    pub(super) fn rounded_to_milli(mut self) -> Self {
        match self.number {
            Number::Small { power, .. } if power >= MILLI => {}
            Number::Small { digits, power } => {
                self.text.clear();
                let small = rounded(i128::from(digits), power, MILLI);
                let digits = small.and_then(|(digits, _)| i64::try_from(digits).ok()).unwrap_or_default();
                self.number = Number::Small { digits, power: MILLI };
            }
            Number::Big { digits, power } => {
                self.text.clear();
                if let Some((digits, power)) = rounded(digits, power, MILLI) {
                    self.number = Number::Big { digits, power };
                }
            }
        }
        self
    }

    /// `Add`.
    pub(super) fn add(&mut self, other: &Self) {
        self.text.clear();
        if self.parts().0 == 0 {
            self.format = other.format;
        }
        if let (Number::Small { digits, power }, Number::Small { digits: plus, power: finer }) =
            (self.number, other.number)
        {
            let sum = match (digits, plus) {
                (_, 0) => Some((digits, power)),
                (0, _) => Some((plus, finer)),
                _ => small_sum((digits, power), (plus, finer)),
            };
            if let Some((digits, power)) = sum {
                self.number = Number::Small { digits, power };
                return;
            }
        }
        let ((a, a_power), (b, b_power)) = (self.parts(), other.parts());
        let power = a_power.min(b_power);
        let sum =
            upscaled(a, a_power, power).zip(upscaled(b, b_power, power)).and_then(|(a, b)| a.checked_add(b));
        self.number = Number::Big { digits: sum.unwrap_or_default(), power };
    }

    /// Itself if it is more than the other, in the form that Go's comparison leaves it in: big, if the other is.
    pub(super) fn if_more_than(mut self, other: &Self) -> Option<Self> {
        let order = compare(self.parts(), other.parts())?;
        if matches!(other.number, Number::Big { .. }) {
            let (digits, power) = self.parts();
            self.number = Number::Big { digits, power };
        }
        (order == Ordering::Greater).then_some(self)
    }

    fn parts(&self) -> (i128, i32) {
        match self.number {
            Number::Small { digits, power } => (i128::from(digits), power),
            Number::Big { digits, power } => (digits, power),
        }
    }
}

/// As Go prints the struct, without its type.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (small, power) = match self.number {
            Number::Small { digits, power } => (digits, power),
            Number::Big { .. } => (0, 0),
        };
        write!(
            f,
            "{{i:(resource.int64Amount){{value:(int64){small} scale:(resource.Scale){power}}} d:(resource.infDecAmount){{Dec:(*inf.Dec)"
        )?;
        match self.number {
            Number::Small { .. } => write!(f, "<nil>")?,
            Number::Big { digits, power } => {
                let (is_negative, words) = (digits < 0, words(digits.unsigned_abs()));
                write!(
                    f,
                    "{{unscaled:(big.Int){{neg:(bool){is_negative} abs:(big.nat){words}}} scale:(inf.Scale){}}}",
                    power.wrapping_neg()
                )?;
            }
        }
        let format = match self.format {
            Format::None => "",
            Format::BinarySI => "BinarySI",
            Format::DecimalExponent => "DecimalExponent",
            Format::DecimalSI => "DecimalSI",
        };
        write!(f, "}} s:(string){} Format:(resource.Format){format}}}", self.text)
    }
}

/// The words of 64 bits that a big number has, the lowest first.
fn words(digits: u128) -> String {
    let [low, high] = [digits as u64, (digits >> 64) as u64];
    match (low, high) {
        (0, 0) => "<nil>".to_owned(),
        (low, 0) => format!("[{low}]"),
        (low, high) => format!("[{low} {high}]"),
    }
}

fn power_of_ten(power: i32) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(power).ok()?)
}

fn upscaled(digits: i128, power: i32, finer: i32) -> Option<i128> {
    if digits == 0 {
        return Some(0);
    }
    digits.checked_mul(power_of_ten(power.checked_sub(finer)?)?)
}

fn small_sum((a, a_power): (i64, i32), (b, b_power): (i64, i32)) -> Option<(i64, i32)> {
    let power = a_power.min(b_power);
    let small = |digits, of| i64::try_from(upscaled(i128::from(digits), of, power)?).ok();
    Some((small(a, a_power)?.checked_add(small(b, b_power)?)?, power))
}

/// With exactly this power of ten; what gets lost rounds away from zero.
fn rounded(digits: i128, power: i32, to: i32) -> Option<(i128, i32)> {
    if power >= to {
        return Some((upscaled(digits, power, to)?, to));
    }
    // What is beyond all digits rounds to one.
    let divisor = power_of_ten(to.checked_sub(power)?).unwrap_or(i128::MAX);
    let rest = if digits % divisor == 0 { 0 } else { digits.signum() };
    Some((digits / divisor + rest, to))
}

fn compare((a, a_power): (i128, i32), (b, b_power): (i128, i32)) -> Option<Ordering> {
    let power = a_power.min(b_power);
    Some(upscaled(a, a_power, power)?.cmp(&upscaled(b, b_power, power)?))
}

/// A quantity's parts.
struct Written<'a> {
    is_negative: bool,
    /// Without leading zeros, but for a last one before a point or suffix.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> Written<'a> {
    fn split(text: &'a str) -> Option<Self> {
        let is_negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let digits_of = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = unsigned.split_at(digits_of(unsigned));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits_of(rest)),
            None => ("", rest),
        };
        if text.is_empty() {
            return None;
        }
        let stripped = whole.trim_start_matches('0');
        Some(Self { is_negative, whole: if stripped.is_empty() { "0" } else { stripped }, fraction, suffix })
    }
}

/// Returns what a suffix stands for: base, exponent and how Go writes such quantities.
fn unit(suffix: &str) -> Option<(u8, i32, Format)> {
    const DECIMAL: [(&str, i32); 10] = [
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
    const BINARY: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
    let find =
        |table: &[(&str, i32)]| table.iter().find(|(name, _)| *name == suffix).map(|(_, power)| *power);
    if let Some(exponent) = find(&DECIMAL) {
        return Some((10, exponent, Format::DecimalSI));
    }
    if let Some(exponent) = find(&BINARY) {
        return Some((2, exponent, Format::BinarySI));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((10, exponent, Format::DecimalExponent))
}
