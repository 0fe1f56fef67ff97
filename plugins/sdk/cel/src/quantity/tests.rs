//! Amounts, also those that Kubernetes' own tests have.

use super::*;

fn nanos(text: &str) -> Option<i128> {
    Quantity::parse(text).map(|quantity| quantity.nanos)
}

#[test]
fn amounts_are_read_exactly() {
    for (text, expected) in [
        ("0", Some(0)),
        ("1", Some(ONE)),
        ("+1", Some(ONE)),
        ("-1", Some(-ONE)),
        ("1.", Some(ONE)),
        (".5", Some(ONE / 2)),
        ("100m", Some(ONE / 10)),
        ("1n", Some(1)),
        ("0.1n", Some(1)),
        ("1u", Some(1_000)),
        ("1k", Some(1_000 * ONE)),
        ("1Ki", Some(1_024 * ONE)),
        ("1.5Gi", Some((3 * ONE) << 29)),
        ("0.000000000001Ki", Some(2)),
        ("1e3", Some(1_000 * ONE)),
        ("1E3", Some(1_000 * ONE)),
        ("1E", Some(1_000_000_000_000_000_000 * ONE)),
        ("12e-1", Some(ONE * 12 / 10)),
        ("0.5Ei", Some(ONE << 59)),
        ("00000000000000000000000000000000000000000001", Some(ONE)),
        ("1.0000000000000000000000000000000000000000", Some(ONE)),
        ("1.00000000000000000000000000000000000000001", Some(ONE + 1)),
        ("9999999999999999999999999999999999999G", Some(i128::MAX)),
        ("1e-400", Some(1)),
        ("0e-400", Some(0)),
        ("200K", None),
        ("Three", None),
        ("Mi", None),
        ("1,3G", None),
        ("", None),
        (".", None),
        ("1.2.3", None),
        ("1e", None),
        ("1e+", None),
        ("1 Gi", None),
        ("--1", None),
        ("1mi", None),
    ] {
        assert_eq!(nanos(text), expected, "{text}");
    }
    assert_eq!(nanos(&"9".repeat(DIGITS_MAX + 1)), None);
    assert_eq!(nanos(&"9".repeat(DIGITS_MAX)), Some(i128::MAX));
}

#[test]
fn whole_amounts_are_integers() {
    let whole = |text: &str| Quantity::parse(text).and_then(Quantity::as_integer);
    assert_eq!(whole("50000000G"), Some(50_000_000_000_000_000));
    assert_eq!(whole("50k"), Some(50_000));
    assert_eq!(whole("1.5k"), Some(1_500));
    assert_eq!(whole("1500m"), None);
    assert_eq!(whole("9999999999999999999999999999999999999G"), None);
    assert_eq!(whole("-8Ei"), Some(i64::MIN));
    assert_eq!(whole("8Ei"), None);
    assert_eq!(whole("-7Ei"), Some(-(7 << 60)));
}
