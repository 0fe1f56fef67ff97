//! Time and chance of the machine.

use super::*;

#[test]
fn jitter_stays_in_its_range_and_varies() {
    let numbers: Vec<f64> = (0..1000).map(|_| ThreadJitter.unit()).collect();
    assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
    assert!(numbers.iter().any(|number| *number < 0.5) && numbers.iter().any(|number| *number >= 0.5));
}

#[test]
fn the_clock_tells_this_age() {
    let first = "2024-01-01T00:00:00Z".parse::<Timestamp>().expect("a time");
    assert!(SystemClock.now() > first);
}
