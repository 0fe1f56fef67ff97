//! What is recorded of images: when each was detected and last used. Kept over restarts of the agent.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::node::readings::NodeImage;

/// The form that this release writes and reads.
const VERSION: u32 = 1;
/// Images whose times are saved at most, those first that are removed first: about 1 MiB. After a restart the others count as
/// detected then.
pub const RECORDS_SAVED_MAX: usize = 4096;

/// An image that nothing uses and that isn't pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedImage {
    pub id: String,
    /// Bytes, as the runtime lists them.
    pub size: u64,
    /// When it was seen first.
    pub first_detected: Timestamp,
    /// When it was last seen in use; none if it never was.
    pub last_used: Option<Timestamp>,
}

impl UnusedImage {
    /// Removal order: least recently used first, then first detected first. Upstream leaves further ties to chance; here the
    /// identifier breaks them.
    pub(super) fn rank(&self) -> (Option<Timestamp>, Timestamp, &str) {
        (self.last_used, self.first_detected, &self.id)
    }
}

/// Saved times that can't be used.
#[derive(Debug, Error)]
pub enum ImageTimesError {
    /// Not what this program writes.
    #[error("failed to read image times")]
    Malformed(#[from] serde_json::Error),
    /// Another release wrote it, in a form that this one doesn't know.
    #[error("unsupported version {found} of image times, expected {VERSION}")]
    Version {
        /// The version in the file.
        found: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImageRecord {
    pub(super) first_detected: Timestamp,
    pub(super) last_used: Option<Timestamp>,
    size: u64,
    is_pinned: bool,
    is_in_use: bool,
}

/// The images that the runtime has, with their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRecords {
    pub(super) tracked_since: Timestamp,
    pub(super) images: BTreeMap<String, ImageRecord>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Saved {
    version: u32,
    tracked_since: Timestamp,
    images: BTreeMap<String, SavedTimes>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedTimes {
    first_detected: Timestamp,
    /// Left out while the image is in use: that time changes with each check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_used: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    in_use: bool,
}

impl ImageRecords {
    /// No images yet.
    pub fn new(now: Timestamp) -> Self {
        Self { tracked_since: now, images: BTreeMap::new() }
    }

    /// Since when times have been recorded, over restarts.
    pub fn tracked_since(&self) -> Timestamp {
        self.tracked_since
    }

    /// Takes over what the runtime lists now: new images are detected now, those of `in_use` are used now, images that aren't
    /// listed are forgotten. Of an image that is listed twice the last entry counts.
    pub fn observe(&mut self, listed: &[NodeImage], in_use: &BTreeSet<String>, now: Timestamp) {
        for image in listed.iter().filter(|image| !image.id.is_empty()) {
            let record = self.images.entry(image.id.clone()).or_insert(ImageRecord {
                first_detected: now,
                last_used: None,
                size: 0,
                is_pinned: false,
                is_in_use: false,
            });
            record.size = image.size;
            record.is_pinned = image.pinned;
            record.is_in_use = in_use.contains(&image.id);
            if record.is_in_use {
                record.last_used = Some(now);
            }
            // The clock may have been set back: no image is protected until it catches up.
            record.first_detected = record.first_detected.min(now);
            record.last_used = record.last_used.map(|last_used| last_used.min(now));
        }
        let ids: BTreeSet<&str> = listed.iter().map(|image| image.id.as_str()).collect();
        self.images.retain(|id, _| ids.contains(id.as_str()));
        self.tracked_since = self.tracked_since.min(now);
    }

    /// Moves all times by as much as the clock was set. Ages stay what they were.
    pub fn follow_clock(&mut self, set_by: SignedDuration) {
        let moved = |time: Timestamp| time.saturating_add(set_by).unwrap_or(time);
        self.tracked_since = moved(self.tracked_since);
        for record in self.images.values_mut() {
            record.first_detected = moved(record.first_detected);
            record.last_used = record.last_used.map(moved);
        }
    }

    /// Forgets an image that was removed.
    pub fn remove(&mut self, id: &str) {
        self.images.remove(id);
    }

    /// The images that may be removed, in the order in which they are: nothing uses them, and they aren't pinned.
    pub fn unused(&self) -> Vec<UnusedImage> {
        let unused = self.images.iter().filter(|(_, record)| !record.is_in_use && !record.is_pinned);
        let mut unused: Vec<UnusedImage> = unused
            .map(|(id, record)| UnusedImage {
                id: id.clone(),
                size: record.size,
                first_detected: record.first_detected,
                last_used: record.last_used,
            })
            .collect();
        unused.sort_by(|a, b| a.rank().cmp(&b.rank()));
        unused
    }

    /// Returns what is saved. It stays the same while images only go on being used, or unused.
    pub fn encode(&self) -> Vec<u8> {
        let mut images: Vec<(&String, &ImageRecord)> = self.images.iter().collect();
        if images.len() > RECORDS_SAVED_MAX {
            images.sort_by_key(|(id, record)| {
                (record.is_in_use, record.last_used, record.first_detected, id.as_str())
            });
            images.truncate(RECORDS_SAVED_MAX);
        }
        let times = |(id, record): (&String, &ImageRecord)| {
            let times = SavedTimes {
                first_detected: record.first_detected,
                last_used: record.last_used.filter(|_| !record.is_in_use),
                in_use: record.is_in_use,
            };
            (id.clone(), times)
        };
        let saved = Saved {
            version: VERSION,
            tracked_since: self.tracked_since,
            images: images.into_iter().map(times).collect(),
        };
        // Texts, times and numbers always have a form in JSON.
        serde_json::to_vec(&saved).unwrap_or_default()
    }

    /// Reads what was saved. An image that was in use then counts as used until `now`: nothing was seen of it in between. No
    /// time is later than `now`.
    ///
    /// # Errors
    /// When it isn't what [`ImageRecords::encode`] writes.
    pub fn decode(saved: &[u8], now: Timestamp) -> Result<Self, ImageTimesError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version } = serde_json::from_slice(saved)?;
        if version != VERSION {
            return Err(ImageTimesError::Version { found: version });
        }
        let Saved { tracked_since, images, .. } = serde_json::from_slice(saved)?;
        let record = |(id, times): (String, SavedTimes)| {
            let last_used = if times.in_use { Some(now) } else { times.last_used };
            let record = ImageRecord {
                first_detected: times.first_detected.min(now),
                last_used: last_used.map(|last_used| last_used.min(now)),
                size: 0,
                is_pinned: false,
                is_in_use: times.in_use,
            };
            (id, record)
        };
        let images = images.into_iter().take(RECORDS_SAVED_MAX).map(record).collect();
        Ok(Self { tracked_since: tracked_since.min(now), images })
    }
}
