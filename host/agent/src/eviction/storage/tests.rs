//! How often is measured.

use super::*;

#[test]
fn what_takes_long_is_measured_seldom() {
    let cases = [(0, 9), (9, 9), (10, 10), (25, 25), (60, 60), (600_000, 60)];
    for (took, expected) in cases {
        let (took, expected) = (Duration::from_millis(took), Duration::from_secs(expected));
        assert_eq!(pause(took), expected, "{took:?}");
    }
}
