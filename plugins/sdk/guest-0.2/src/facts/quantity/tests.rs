//! Tests of quantities.

use serde_json::json;

use super::amount;

#[test]
fn quantities_are_numbers_however_they_are_written() {
    for (quantity, cpu, other) in [
        (json!("1"), 1_000, 1),
        (json!(2), 2_000, 2),
        (json!(0.5), 500, 1),
        (json!("500m"), 500, 1),
        (json!("1.5"), 1_500, 2),
        (json!("-1.5"), -1_500, -2),
        (json!("+3"), 3_000, 3),
        (json!("64Mi"), 64_000 << 20, 64 << 20),
        (json!("0.5Ki"), 512_000, 512),
        (json!("1e3"), 1_000_000, 1_000),
        (json!("1E"), i64::MAX, 1_000_000_000_000_000_000),
        (json!("16Ei"), i64::MAX, i64::MAX),
        (json!("-16Ei"), i64::MIN, i64::MIN),
        (json!("1n"), 1, 1),
        (json!("1e-99"), 1, 1),
        (json!("1e99"), i64::MAX, i64::MAX),
        (json!("0e99"), 0, 0),
        (json!("1e2000000000"), i64::MAX, i64::MAX),
        (json!(""), 0, 0),
        (json!("lots"), 0, 0),
        (json!("1.2.3"), 0, 0),
        (json!("1 Gi"), 0, 0),
        (json!(null), 0, 0),
    ] {
        assert_eq!((amount("cpu", &quantity), amount("memory", &quantity)), (cpu, other), "{quantity}");
    }
}
