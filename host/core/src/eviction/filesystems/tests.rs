//! Layouts of file systems.

use super::*;

#[test]
fn layout_follows_which_file_systems_are_one() {
    for (node, images, containers, expected) in [
        (1, 1, 1, Filesystems::Single),
        (1, 2, 2, Filesystems::DedicatedImages),
        (1, 2, 1, Filesystems::Split),
        (1, 1, 2, Filesystems::Split),
        (1, 2, 3, Filesystems::Split),
    ] {
        assert_eq!(Filesystems::of(&node, &images, &containers), expected, "{node} {images} {containers}");
    }
}
