//! Quantities of manifests as numbers.

use serde_json::Value;

/// Suffixes with the powers of ten and of two that they stand for.
const SUFFIXES: [(&str, i64, u32); 16] = [
    ("", 0, 0),
    ("n", -9, 0),
    ("u", -6, 0),
    ("m", -3, 0),
    ("k", 3, 0),
    ("M", 6, 0),
    ("G", 9, 0),
    ("T", 12, 0),
    ("P", 15, 0),
    ("E", 18, 0),
    ("Ki", 0, 10),
    ("Mi", 0, 20),
    ("Gi", 0, 30),
    ("Ti", 0, 40),
    ("Pi", 0, 50),
    ("Ei", 0, 60),
];

/// The amount of a resource: `cpu` in thousandths, all else in base units, rounded away from zero. What is no quantity is 0, as it is
/// for the host.
pub(super) fn amount(resource: &str, quantity: &Value) -> i64 {
    let places = if resource == "cpu" { 3 } else { 0 };
    match quantity {
        Value::String(text) => scaled(text, places).unwrap_or_default(),
        Value::Number(number) => scaled(&number.to_string(), places).unwrap_or_default(),
        _ => 0,
    }
}

/// The number times 10^`places`.
fn scaled(text: &str, places: i64) -> Option<i64> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = unsigned.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, suffix) = unsigned.split_at(end.unwrap_or(unsigned.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // Refuses nothing at all, a second point, and more digits than any amount has.
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let (power_of_ten, power_of_two) = factor(suffix)?;
    let power = power_of_ten + places - i64::try_from(fraction.len()).ok()?;
    let binary = digits.saturating_mul(1 << power_of_two);
    let by = u32::try_from(power.unsigned_abs()).ok().and_then(|power| 10_u128.checked_pow(power));
    let magnitude = match by {
        _ if binary == 0 => 0,
        Some(by) if power >= 0 => binary.saturating_mul(by),
        Some(by) => binary.div_ceil(by),
        None if power >= 0 => u128::MAX,
        // Less than the smallest unit still rounds up to one.
        None => 1,
    };
    Some(i64::try_from(magnitude).map_or(if sign < 0 { i64::MIN } else { i64::MAX }, |amount| sign * amount))
}

fn factor(suffix: &str) -> Option<(i64, u32)> {
    let known = SUFFIXES.iter().find(|(known, ..)| *known == suffix);
    match known {
        Some((_, ten, two)) => Some((*ten, *two)),
        None => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            Some((exponent.into(), 0))
        }
    }
}

#[cfg(test)]
mod tests;
