//! Bounds of the classes.

use super::*;

#[test]
fn an_image_is_in_the_class_that_it_is_larger_than() {
    for (bytes, class) in [
        (0, "N/A"),
        (1, "0-10MB"),
        (10 * MB, "0-10MB"),
        (10 * MB + 1, "10MB-100MB"),
        (3 * GB, "1GB-5GB"),
        (100 * GB, "60GB-100GB"),
        (u64::MAX, "GT100GB"),
    ] {
        assert_eq!(size_class(bytes), class, "{bytes}");
    }
}
