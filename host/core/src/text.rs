//! Texts of others, within bounds.

/// What a text that was cut ends with.
const CUT: char = '…';

/// A text of at most `bytes_max` bytes; one that is longer is cut, and ends with `…`.
pub fn shortened(text: impl Into<String>, bytes_max: usize) -> String {
    let mut text = text.into();
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max.saturating_sub(CUT.len_utf8())));
        text.push(CUT);
        // What is kept isn't kept in the memory of what was cut.
        text.shrink_to_fit();
    }
    text
}

/// The first bytes of a text, at most `bytes_max`, up to the end of a letter.
pub fn truncated(text: impl Into<String>, bytes_max: usize) -> String {
    let mut text = text.into();
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

/// An amount of bytes for people: one decimal of the largest unit that it fills, from KiB to TiB.
#[allow(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub fn readable_bytes(amount: i64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut number, mut unit) = (amount as f64, 0);
    while number.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{amount} B") } else { format!("{number:.1} {}", UNITS[unit]) }
}

/// Whether a name is as a pattern in which `*` stands for any text: the first and last part must stand at the ends, those between in
/// order.
pub fn glob(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(tail)
}

#[cfg(test)]
mod tests {
    //! Where a text is cut.

    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_stays_within_its_bound() {
        let cases =
            [("", 3, ""), ("abcd", 4, "abcd"), ("abcde", 4, "a…"), ("ääää", 7, "ää…"), ("ääää", 6, "ä…")];
        for (text, bytes_max, expected) in cases {
            assert_eq!(shortened(text, bytes_max), expected, "{text} {bytes_max}");
            assert!(expected.len() <= bytes_max);
        }
    }
}
