//! Sizes of images as monitoring groups them (upstream: `GetImageSizeBucket`).

#[cfg(test)]
mod tests;

const MB: u64 = 1024 * 1024;
const GB: u64 = 1024 * MB;
/// Bytes that an image has more than, and the word for its size.
const CLASSES: [(u64, &str); 12] = [
    (100 * GB, "GT100GB"),
    (60 * GB, "60GB-100GB"),
    (40 * GB, "40GB-60GB"),
    (30 * GB, "30GB-40GB"),
    (20 * GB, "20GB-30GB"),
    (10 * GB, "10GB-20GB"),
    (5 * GB, "5GB-10GB"),
    (GB, "1GB-5GB"),
    (500 * MB, "500MB-1GB"),
    (100 * MB, "100MB-500MB"),
    (10 * MB, "10MB-100MB"),
    (0, "0-10MB"),
];

/// The word for an image of so many bytes; 0 is an unknown size.
pub fn size_class(bytes: u64) -> &'static str {
    CLASSES.into_iter().find(|(more_than, _)| bytes > *more_than).map_or("N/A", |(_, class)| class)
}
