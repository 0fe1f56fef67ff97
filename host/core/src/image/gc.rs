//! Image garbage collection: which unused images are removed, in which order, and when (upstream:
//! `images/image_gc_manager.go`).
//!
//! Images leave when the image file system is fuller than the high threshold, until it is at the low one; when they have been
//! unused for the maximum age; and all at once when eviction asks for it. Images in use and pinned images stay.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use crate::error::aggregate;
use crate::{go, text};

mod records;
#[cfg(test)]
mod tests;

pub use records::{ImageRecords, ImageTimesError, RECORDS_SAVED_MAX, UnusedImage};

/// Thresholds and ages. Upstream: `ImageGCPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageGcPolicy {
    high_percent: u8,
    low_percent: u8,
    min_age: SignedDuration,
    max_age: SignedDuration,
}

/// Thresholds that make no sense, in upstream's words.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ImageGcPolicyError {
    #[error("invalid {name} {value}, must be in range [0-100]")]
    Range {
        /// Upstream's name of the threshold.
        name: &'static str,
        value: i32,
    },
    /// The collection would free less than nothing.
    #[error("LowThresholdPercent {low} can not be higher than HighThresholdPercent {high}")]
    Order { low: i32, high: i32 },
}

impl Default for ImageGcPolicy {
    /// The kubelet's defaults: 85 %, 80 %, two minutes, no maximum age.
    fn default() -> Self {
        Self {
            high_percent: 85,
            low_percent: 80,
            min_age: SignedDuration::from_mins(2),
            max_age: SignedDuration::ZERO,
        }
    }
}

impl ImageGcPolicy {
    /// Thresholds are percentages of the image file system in use. An image younger than `min_age` stays when space is needed;
    /// one that was unused for longer than `max_age` goes in any case, unless `max_age` is zero.
    ///
    /// # Errors
    /// When a threshold isn't a percentage, or the low one is above the high one.
    pub fn new(
        high: i32,
        low: i32,
        min_age: SignedDuration,
        max_age: SignedDuration,
    ) -> Result<Self, ImageGcPolicyError> {
        let percent = |name, value| match u8::try_from(value) {
            Ok(percent) if percent <= 100 => Ok(percent),
            Ok(_) | Err(_) => Err(ImageGcPolicyError::Range { name, value }),
        };
        let high_percent = percent("HighThresholdPercent", high)?;
        let low_percent = percent("LowThresholdPercent", low)?;
        if low > high {
            return Err(ImageGcPolicyError::Order { low, high });
        }
        Ok(Self { high_percent, low_percent, min_age, max_age })
    }

    /// Whether images are collected regularly at all. On demand they are in any case.
    pub fn is_enabled(&self) -> bool {
        self.high_percent < 100 || !self.max_age.is_zero()
    }

    /// The percentage in use from which on space is freed.
    pub fn high_percent(&self) -> u8 {
        self.high_percent
    }

    /// The percentage in use down to which space is freed.
    pub fn low_percent(&self) -> u8 {
        self.low_percent
    }
}

/// Why an image is removed, as the metric `image_garbage_collected_total` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was unused for longer than the maximum age.
    Age,
    Space,
}

/// A collection that failed, in upstream's words.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReclaimError {
    /// Images beyond the maximum age couldn't be removed.
    #[error("wanted to free images older than {max_age}, encountered errors in image deletion: {errors}")]
    Old {
        /// The maximum age, as Go prints it.
        max_age: String,
        /// What the runtime said.
        errors: String,
    },
    /// Images couldn't be removed while space was freed.
    #[error(
        "wanted to free {to_free} bytes, but freed {freed} bytes space with errors in image deletion: {errors}"
    )]
    Space {
        /// Bytes that were to be freed.
        to_free: i64,
        /// Bytes of the images that were removed.
        freed: u64,
        /// What the runtime said.
        errors: String,
    },
    /// The image file system has no size.
    #[error("invalid capacity 0 on image filesystem")]
    InvalidCapacity,
    /// The unused images weren't enough.
    #[error(
        "Insufficient free disk space on the node's image filesystem ({usage_percent}% of {capacity} used). Failed to free \
         sufficient space by deleting unused images (freed {freed} bytes). Investigate disk usage, as it could be used by \
         active images, logs, volumes, or other data."
    )]
    NotEnough {
        /// Percent in use before.
        usage_percent: i64,
        /// The file system's size, for people.
        capacity: String,
        /// Bytes of the images that were removed.
        freed: u64,
    },
}

impl ReclaimError {
    /// The reason of the event that reports it at once; none if only a repeated failure is worth one.
    pub fn event_reason(&self) -> Option<&'static str> {
        match self {
            Self::InvalidCapacity => Some("InvalidDiskCapacity"),
            Self::NotEnough { .. } => Some("FreeDiskSpaceFailed"),
            Self::Old { .. } | Self::Space { .. } => None,
        }
    }
}

/// Size and free bytes of the image file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskUsage {
    pub capacity: u64,
    pub available: u64,
}

/// The image file system is at the high threshold or above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceNeed {
    /// Percent in use.
    pub usage_percent: i64,
    /// Bytes to free to reach the low threshold. Rounding may leave nothing to free; one image goes even then.
    pub to_free: i64,
    capacity: u64,
}

impl SpaceNeed {
    /// Returns what is to be freed on this file system, if anything. More bytes available than there are count as all of them.
    ///
    /// # Errors
    /// When the file system has no size.
    pub fn of(policy: &ImageGcPolicy, disk: DiskUsage) -> Result<Option<Self>, ReclaimError> {
        let DiskUsage { capacity, available } = disk;
        if capacity == 0 {
            return Err(ReclaimError::InvalidCapacity);
        }
        let (all, free) = (i128::from(capacity), i128::from(available.min(capacity)));
        let usage_percent = 100 - free * 100 / all;
        if usage_percent < i128::from(policy.high_percent) {
            return Ok(None);
        }
        let to_free = all * (100 - i128::from(policy.low_percent)) / 100 - free;
        Ok(Some(Self {
            // A percentage.
            usage_percent: i64::try_from(usage_percent).unwrap_or(100),
            to_free: i64::try_from(to_free).unwrap_or(i64::MAX),
            capacity,
        }))
    }

    /// Whether so many freed bytes are enough.
    ///
    /// # Errors
    /// When they aren't.
    pub fn satisfied_by(&self, freed: u64) -> Result<(), ReclaimError> {
        if i128::from(freed) >= i128::from(self.to_free) {
            return Ok(());
        }
        let (usage_percent, capacity) = (self.usage_percent, readable_size(self.capacity));
        Err(ReclaimError::NotEnough { usage_percent, capacity, freed })
    }
}

/// The images that are removed one after the other, until enough bytes are free or none is left. A removal that fails doesn't
/// stop the others.
#[derive(Clone, Debug)]
pub struct Reclaim {
    queue: VecDeque<UnusedImage>,
    goal: Goal,
    freed: u64,
    is_enough: bool,
    errors: Vec<String>,
}

#[derive(Clone, Debug)]
enum Goal {
    Old(SignedDuration),
    Bytes(i64),
}

impl Reclaim {
    /// Removes the images that were unused for longer than the maximum age, and takes them out of `unused`. `tracked_since` is
    /// when their times began to be recorded: before the maximum age has passed since then, an image may have been used without
    /// a record of it, so nothing is removed. An image that was never used is as old as its detection.
    pub fn old(
        policy: &ImageGcPolicy,
        unused: &mut Vec<UnusedImage>,
        tracked_since: Timestamp,
        now: Timestamp,
    ) -> Self {
        let max_age = policy.max_age;
        let is_over = |since: Timestamp| now.duration_since(since) > max_age;
        let mut queue = VecDeque::new();
        if !max_age.is_zero() && is_over(tracked_since) {
            let is_old = |image: &UnusedImage| is_over(image.last_used.unwrap_or(image.first_detected));
            let (old, others): (Vec<_>, Vec<_>) = std::mem::take(unused).into_iter().partition(is_old);
            (queue, *unused) = (old.into(), others);
        }
        Self { queue, goal: Goal::Old(max_age), freed: 0, is_enough: false, errors: Vec::new() }
    }

    /// Removes images until `to_free` bytes are freed. Those younger than the minimum age stay: they may have been pulled just
    /// now, for a container that is about to be made.
    pub fn space(policy: &ImageGcPolicy, unused: Vec<UnusedImage>, to_free: i64, now: Timestamp) -> Self {
        let may_go = |image: &UnusedImage| {
            image.last_used.is_none_or(|last_used| last_used < now)
                && now.duration_since(image.first_detected) >= policy.min_age
        };
        let queue = unused.into_iter().filter(may_go).collect();
        Self { queue, goal: Goal::Bytes(to_free), freed: 0, is_enough: false, errors: Vec::new() }
    }

    /// Removes all images that may go.
    pub fn all(policy: &ImageGcPolicy, unused: Vec<UnusedImage>, now: Timestamp) -> Self {
        Self::space(policy, unused, i64::MAX, now)
    }

    /// The next image to remove.
    pub fn next_image(&mut self) -> Option<UnusedImage> {
        if self.is_enough { None } else { self.queue.pop_front() }
    }

    /// The image was removed.
    pub fn removed(&mut self, image: &UnusedImage) {
        self.freed = self.freed.saturating_add(image.size);
        self.is_enough = match self.goal {
            Goal::Old(_) => false,
            Goal::Bytes(to_free) => i128::from(self.freed) >= i128::from(to_free),
        };
    }

    /// The image couldn't be removed.
    pub fn failed(&mut self, error: String) {
        self.errors.push(error);
    }

    /// Why images are removed here.
    pub fn reason(&self) -> Reason {
        match self.goal {
            Goal::Old(_) => Reason::Age,
            Goal::Bytes(_) => Reason::Space,
        }
    }

    /// How many bytes the removed images had.
    ///
    /// # Errors
    /// When one couldn't be removed.
    pub fn outcome(self) -> Result<u64, ReclaimError> {
        let Self { goal, freed, errors, .. } = self;
        if errors.is_empty() {
            return Ok(freed);
        }
        let errors = aggregate(errors);
        Err(match goal {
            Goal::Old(max_age) => ReclaimError::Old { max_age: go_duration(max_age), errors },
            Goal::Bytes(to_free) => ReclaimError::Space { to_free, freed, errors },
        })
    }
}

fn go_duration(duration: SignedDuration) -> String {
    go::duration(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}

fn readable_size(bytes: u64) -> String {
    text::readable_bytes(i64::try_from(bytes).unwrap_or(i64::MAX))
}
