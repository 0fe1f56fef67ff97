//! Quantities as Go keeps them; `../tests/containers.txt` has them in pods.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn small(digits: i64, power: i32) -> Number {
    Number::Small { digits, power }
}

fn big(digits: i128, power: i32) -> Number {
    Number::Big { digits, power }
}

fn of(text: &str) -> Quantity {
    Quantity::of_json(&json!(text))
}

#[test]
fn a_quantity_is_kept_in_the_form_that_its_text_asks_for() {
    use Format::{BinarySI, DecimalExponent, DecimalSI, None};
    for (text, number, kept, format) in [
        ("0", small(0, 0), "0", DecimalSI),
        ("00", small(0, 0), "", DecimalSI),
        ("100m", small(100, -3), "100m", DecimalSI),
        ("1000m", small(1000, -3), "", DecimalSI),
        ("0.1", small(1, -1), "", DecimalSI),
        ("-5", small(-5, 0), "-5", DecimalSI),
        ("1e3", small(1, 3), "1e3", DecimalExponent),
        ("1E", small(1, 18), "1E", DecimalSI),
        ("7Ki", small(7168, 0), "7Ki", BinarySI),
        ("8Ki", small(8192, 0), "", BinarySI),
        ("1.5Ki", big(1_536_000_000_000, -9), "", BinarySI),
        ("0.0001Ki", big(102_400_000, -9), "", DecimalSI),
        ("9Ei", big(9_223_372_036_854_775_807, 0), "", BinarySI),
        ("0.1n", big(1, -9), "", DecimalSI),
        ("much", small(0, 0), "much", None),
    ] {
        assert_eq!(of(text), Quantity { number, text: kept.to_owned(), format }, "{text}");
    }
}

#[test]
fn sums_and_comparisons_leave_the_forms_that_go_leaves() {
    for (a, b, sum, more) in [
        ("1", "100m", small(1100, -3), None),
        ("0", "100m", small(100, -3), Some(small(100, -3))),
        ("100m", "0", small(100, -3), None),
        ("1", "1.5Ki", big(1_537_000_000_000, -9), Some(big(1_536_000_000_000, -9))),
        ("1.5Ki", "2Ki", big(3_584_000_000_000, -9), Some(big(2048, 0))),
        ("9223372036854775807", "1", big(9_223_372_036_854_775_808_000_000_000, -9), None),
    ] {
        let mut found = of(a);
        found.add(&of(b));
        assert_eq!(found.number, sum, "{a} + {b}");
        assert_eq!(of(b).if_more_than(&of(a)).map(|more| more.number), more, "{b} > {a}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_odd(text in "[-+]?[0-9.]{0,45}[a-zA-Z0-9+-]{0,13}", other in "[0-9.]{1,30}[a-zA-Z]{0,2}") {
        let mut sum = of(&text);
        sum.add(&of(&other));
        prop_assert_eq!(Quantity::of_json(&sum.to_json()), sum.clone());
        let rounded = sum.clone().rounded_to_milli();
        prop_assert_eq!(&rounded.clone().rounded_to_milli(), &rounded);
        let more = sum.if_more_than(&of(&text)).unwrap_or(rounded);
        prop_assert_ne!(more.to_string(), "");
    }
}
