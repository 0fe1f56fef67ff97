//! Which versions serve which components.

use super::*;

#[test]
fn a_version_serves_itself_and_what_is_older_in_its_track() {
    let cases = [
        ("0.1.0", "0.1.0", true),
        ("0.2.1", "0.2.0", true),
        ("0.2.0", "0.2.1", false),
        ("0.2.1", "0.1.0", false),
        ("0.1.0", "0.9.0", false),
        ("0.0.2", "0.0.1", false),
        ("1.4.0", "1.2.7", true),
        ("1.4.0", "1.4.1", false),
        ("1.4.0", "0.4.0", false),
        ("2.0.0", "1.0.0", false),
    ];
    for (served, required, expected) in cases {
        assert_eq!(serves(served, required), expected, "{served} for {required}");
    }
}

#[test]
fn what_is_no_released_version_is_served_by_none() {
    for required in ["", "0.1", "0.1.0.0", "0.1.0-rc1", "0.1.x", "+0.1.0", "0.+1.0", "00.1.0", "0.1.0 ", "0.1.99999999999"] {
        assert!(!serves("0.1.0", required), "{required:?}");
    }
}
