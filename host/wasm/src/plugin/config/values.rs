//! Values as people write them in the file: durations, sizes, patterns.

use std::time::Duration;

use serde::Deserialize;
use serde::de::{self, Deserializer};
use witlet_core::duration;
use witlet_core::text::glob;

/// Patterns of names: `*` stands for any run of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Globs(Vec<String>);

impl Globs {
    /// Creates a list of these patterns.
    pub fn new(patterns: Vec<String>) -> Self {
        Self(patterns)
    }

    /// Whether one of them matches the whole name.
    pub fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| glob(pattern, name))
    }
}

/// `500ms`, `1.5s`, `1m30s`.
#[derive(Clone, Copy)]
pub(super) struct DurationText(pub(super) Duration);

impl<'de> Deserialize<'de> for DurationText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        duration::parse(&text).map(Self).ok_or_else(|| {
            de::Error::custom(format!("expected a duration such as 500ms or 2s, found {text:?}"))
        })
    }
}

/// A quantity in bytes, such as `16Mi`.
#[derive(Clone, Copy)]
pub(super) struct BytesText(pub(super) usize);

impl<'de> Deserialize<'de> for BytesText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let amount = witlet_core::pod::quantity::parse(&text).map_err(de::Error::custom)?;
        usize::try_from(amount.value())
            .map(Self)
            .map_err(|_negative| de::Error::custom(format!("expected a size such as 16Mi, found {text:?}")))
    }
}

/// Returns the text as people write it: `100ms`, `30s`, `24h`.
pub(super) fn format_duration(duration: Duration) -> String {
    let (seconds, rest) = (duration.as_secs(), duration.subsec_nanos());
    match (seconds, rest) {
        (0, _) => format!("{}ms", duration.as_secs_f64() * 1000.0),
        (_, 1..) => format!("{}s", duration.as_secs_f64()),
        (_, 0) if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        (_, 0) => format!("{seconds}s"),
    }
}
