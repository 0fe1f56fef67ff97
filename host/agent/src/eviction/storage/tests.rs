//! How often is measured.

use super::*;

#[test]
fn what_takes_long_is_measured_seldom() {
    let seconds = Duration::from_secs;
    let cases = [(0, 9), (1, 20), (2, 40), (3, 60), (600, 60)];
    for (took, expected) in cases {
        assert_eq!(pause(seconds(took)), seconds(expected), "{took} s");
    }
}
