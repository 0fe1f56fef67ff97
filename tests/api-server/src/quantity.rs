//! Quantities in the form in which upstream writes them: the largest suffix without a fraction.

use serde_json::Value;

/// Rewrites a quantity in its canonical form; what isn't one stays.
pub(crate) fn canonicalize(value: &mut Value) {
    let text = match &*value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return,
    };
    if let Some(canonical) = canonical(text.trim()) {
        *value = Value::String(canonical);
    }
}

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
/// Suffix and power of ten, largest first.
const DECIMAL: [(&str, i32); 10] =
    [("E", 18), ("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3), ("", 0), ("m", -3), ("u", -6), ("n", -9)];

/// The canonical text; none if it isn't a quantity that fits (whole nanos, at most 128 bits).
fn canonical(text: &str) -> Option<String> {
    if let Some((digits, bits)) =
        BINARY.iter().find_map(|(suffix, bits)| Some((text.strip_suffix(suffix)?, *bits)))
    {
        let nanos = nanos(digits, 0)?.checked_mul(1_i128.checked_shl(bits)?)?;
        return binary(nanos);
    }
    let (digits, power) = DECIMAL
        .iter()
        .filter(|(suffix, _)| !suffix.is_empty())
        .find_map(|(suffix, power)| Some((text.strip_suffix(suffix)?, *power)))
        .filter(|(digits, _)| !digits.contains(['e', 'E']))
        .unwrap_or((text, 0));
    match digits.split_once(['e', 'E']) {
        // An exponent is kept as it was written.
        Some(_) => Some(text.to_owned()),
        None => decimal(nanos(digits, power)?),
    }
}

/// So many billionths; digits beyond are rounded up, as upstream does.
fn nanos(digits: &str, power: i32) -> Option<i128> {
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits.strip_prefix('+').unwrap_or(digits)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = power + 9 - i32::try_from(fraction.len()).ok()?;
    let factor = 10_i128.checked_pow(scale.unsigned_abs())?;
    let nanos = if scale >= 0 {
        mantissa.checked_mul(factor)?
    } else {
        mantissa / factor + i128::from(mantissa % factor != 0)
    };
    Some(if negative { -nanos } else { nanos })
}

fn decimal(nanos: i128) -> Option<String> {
    if nanos == 0 {
        return Some("0".to_owned());
    }
    DECIMAL.iter().find_map(|(suffix, power)| {
        let unit = 10_i128.pow(u32::try_from(power + 9).ok()?);
        (nanos % unit == 0).then(|| format!("{}{suffix}", nanos / unit))
    })
}

fn binary(nanos: i128) -> Option<String> {
    const ONE: i128 = 1_000_000_000;
    // Below 1024, and with a fraction, the form is decimal.
    if nanos % ONE != 0 || nanos.abs() < 1024 * ONE {
        return decimal(nanos);
    }
    let whole = nanos / ONE;
    let largest = BINARY.iter().rev().find(|(_, bits)| whole % (1_i128 << bits) == 0);
    Some(match largest {
        Some((suffix, bits)) => format!("{}{suffix}", whole >> bits),
        None => whole.to_string(),
    })
}

#[cfg(test)]
mod tests {
    //! Forms by table, as upstream's `Quantity` writes them.

    use super::canonical;

    #[test]
    fn quantities_take_the_largest_suffix_without_a_fraction() {
        let table = [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("100m", "100m"),
            ("1.5", "1500m"),
            ("1024Mi", "1Gi"),
            ("1536Mi", "1536Mi"),
            ("1500Mi", "1500Mi"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("0", "0"),
            ("0Mi", "0"),
            ("512", "512"),
            ("2000000", "2M"),
            ("110", "110"),
            ("0.5Gi", "512Mi"),
            ("1e3", "1e3"),
            ("12E", "12E"),
            ("-5m", "-5m"),
            ("1Ki", "1Ki"),
            ("1.0", "1"),
            ("8145604Ki", "8145604Ki"),
        ];
        for (given, expected) in table {
            assert_eq!(canonical(given).as_deref(), Some(expected), "{given}");
        }
        assert_eq!(canonical("many"), None);
        assert_eq!(canonical(""), None);
    }
}
