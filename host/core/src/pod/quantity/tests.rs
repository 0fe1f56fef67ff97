//! Quantities: what upstream's parser accepts and computes.

use super::*;

#[test]
fn quantities_become_upstreams_integers() {
    // text, base units, thousandths
    let cases: &[(&str, i64, i64)] = &[
        ("0", 0, 0),
        ("-0", 0, 0),
        ("+5", 5, 5000),
        ("1", 1, 1000),
        ("100m", 1, 100),
        ("1500m", 2, 1500),
        ("-1500m", -2, -1500),
        ("0.5", 1, 500),
        (".5", 1, 500),
        ("1.", 1, 1000),
        ("0.0001", 1, 1),
        ("1u", 1, 1),
        ("1n", 1, 1),
        ("1k", 1000, 1_000_000),
        ("1Ki", 1024, 1_024_000),
        ("1.5Gi", 1_610_612_736, 1_610_612_736_000),
        ("0.1Ki", 103, 102_400),
        ("64Mi", 67_108_864, 67_108_864_000),
        ("12e3", 12_000, 12_000_000),
        ("12E3", 12_000, 12_000_000),
        ("12e-3", 1, 12),
        ("1e+2", 100, 100_000),
        ("1E", 1_000_000_000_000_000_000, i64::MAX),
        ("1Ei", 1 << 60, i64::MAX),
        ("9223372036854775807", i64::MAX, i64::MAX),
        ("9223372036854775808", i64::MAX, i64::MAX),
        ("-100Ei", i64::MIN, i64::MIN),
        ("1e100000", i64::MAX, i64::MAX),
        ("1e-100000", 1, 1),
        ("0e100000", 0, 0),
        ("100000000000000000000000000000000000000000", i64::MAX, i64::MAX),
        ("0.00000000000000000000000000000000000000001", 1, 1),
        ("1.00000000000000000000000000000000000000001", 2, 1001),
        ("00000000000000000000000000000000000000000007", 7, 7000),
    ];
    for (text, base, thousandths) in cases {
        let amount = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((amount.value(), amount.milli()), (*base, *thousandths), "{text}");
    }
}

#[test]
fn what_is_no_quantity_is_refused_with_its_reason() {
    let cases = [
        ("", "quantity must not be empty"),
        ("m", "`m` is not a quantity: expected a number and a suffix, such as 500m, 1.5 or 64Mi"),
        ("-", "`-` is not a quantity: expected a number and a suffix, such as 500m, 1.5 or 64Mi"),
        (".", "`.` is not a quantity: expected a number and a suffix, such as 500m, 1.5 or 64Mi"),
        ("1.2.3", "`1.2.3` is not a quantity: expected a number and a suffix, such as 500m, 1.5 or 64Mi"),
    ];
    for (text, message) in cases {
        assert_eq!(parse(text).map(|_| ()).expect_err(text).to_string(), message);
    }
    for text in
        ["64MB", "64mi", "1K", "1 Gi", "1e", "1e1.5", "1Kii", "--1", "1,5", "1Gí", "0x10", "1e99999999999"]
    {
        let error = parse(text).map(|_| ()).expect_err(text);
        assert!(
            matches!(error, QuantityError::Suffix { .. } | QuantityError::Number { .. }),
            "{text}: {error}"
        );
    }
    assert_eq!(parse(&"1".repeat(129)).map(|_| ()), Err(QuantityError::TooLong));
}

#[test]
fn comparison_ignores_the_rounding() {
    let cases = [
        ("1500m", "1.5", Ordering::Equal),
        ("1Gi", "1024Mi", Ordering::Equal),
        ("1G", "1Gi", Ordering::Less),
        ("1n", "2n", Ordering::Less),
        ("-1", "1m", Ordering::Less),
        ("2", "1999m", Ordering::Greater),
    ];
    for (left, right, expected) in cases {
        let left_amount = parse(left).expect("a quantity");
        let right_amount = parse(right).expect("a quantity");
        assert_eq!(left_amount.compare(&right_amount), expected, "{left} ? {right}");
    }
}

#[test]
fn fractions_of_a_base_unit_are_seen() {
    for (text, expected) in [("1", false), ("1500m", true), ("1.5Ki", false), ("1m", true), ("1e30", false)] {
        assert_eq!(parse(text).expect("a quantity").has_fraction(), expected, "{text}");
    }
}

#[test]
fn quantities_are_printed_in_gos_canonical_form() {
    let cases = [
        ("0", "0"),
        ("500", "500"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("1024Mi", "1Gi"),
        ("100Mi", "100Mi"),
        ("0.5Gi", "512Mi"),
        ("1500Mi", "1500Mi"),
        ("1.5", "1500m"),
        ("100m", "100m"),
        ("1000m", "1"),
        ("-150Mi", "-150Mi"),
        ("2G", "2G"),
        ("1000000000G", "1E"),
        ("0Mi", "0"),
        ("not one", "not one"),
    ];
    for (text, expected) in cases {
        assert_eq!(canonical(text), expected, "{text}");
    }
    assert_eq!(
        [binary(1023), binary(1000), binary(1024), binary(1536), binary(1 << 40)],
        ["1023", "1k", "1Ki", "1536", "1Ti"]
    );
    assert_eq!(
        [decimal(1), decimal(1000), decimal(-2_000_000), decimal(i64::MAX)],
        ["1", "1k", "-2M", "9223372036854775807"]
    );
}
