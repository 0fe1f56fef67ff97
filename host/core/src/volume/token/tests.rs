//! Tests of the moment when tokens are replaced.

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn a_token_is_replaced_when_a_fifth_of_its_life_is_left_or_after_a_day() {
    let end = "2026-01-02T00:00:00Z";
    for (lifetime_seconds, jitter, expected) in [
        (3600, 0.0, "2026-01-01T23:48:00Z"),
        (3600, 0.5, "2026-01-01T23:47:55Z"),
        (3600, 1.0, "2026-01-01T23:47:50Z"),
        // Chance stays within its bounds.
        (3600, 7.0, "2026-01-01T23:47:50Z"),
        (600, 0.0, "2026-01-01T23:58:00Z"),
        // Ten days: a day after it was issued.
        (864_000, 0.0, "2025-12-24T00:00:00Z"),
        // 30 hours: a fifth is 6 hours, and both are the same moment.
        (108_000, 0.0, "2026-01-01T18:00:00Z"),
        (0, 0.0, "2026-01-02T00:00:00Z"),
        (-5, 0.0, "2026-01-02T00:00:00Z"),
    ] {
        assert_eq!(
            refresh_at(at(end), lifetime_seconds, jitter),
            at(expected),
            "{lifetime_seconds} {jitter}"
        );
    }
    assert_eq!(refresh_at(Timestamp::MIN, i64::MAX, 1.0), Timestamp::MIN);
}
