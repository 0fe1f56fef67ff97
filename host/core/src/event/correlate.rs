//! Which events are sent, and how repeats and similar ones become one (upstream: client-go's `EventCorrelator`).

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::lru::Lru;
use super::{Event, EventObject, EventType};
use crate::pod::{PodFullName, PodUid};
use crate::text::shortened;

#[cfg(test)]
mod tests;

/// Entries of each table; what wasn't used for longest goes (upstream: `maxLruCacheEntries`).
pub const CORRELATED_MAX: usize = 4096;
/// Events about one object that are sent at once (upstream: `defaultSpamBurst`).
pub const SPAM_BURST: u32 = 25;
/// After that one more is sent each time so long has passed (upstream: `defaultSpamQPS`, 1 in 300 s).
pub const SPAM_REFILL: SignedDuration = SignedDuration::from_secs(300);
/// From so many messages on, events that differ by their message alone are one (upstream: `defaultAggregateMaxEvents`).
pub const SIMILAR_MAX: usize = 10;
/// When no similar event came for so long, the count starts over (upstream: `defaultAggregateIntervalInSeconds`).
pub const SIMILAR_INTERVAL: SignedDuration = SignedDuration::from_secs(600);
/// Bytes of a message that are sent: what the events API takes.
pub const MESSAGE_BYTES_MAX: usize = 1024;
/// Events that may be recorded again have names by their time and, within so many nanoseconds, by what they say.
const RECORDED_AGAIN_SPREAD: u32 = 1_000_000;
/// What a message of many begins with.
const COMBINED: &str = "(combined from similar events): ";

/// Which API object an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    Pod {
        full_name: PodFullName,
        uid: PodUid,
    },
    /// This node; also for what is no API object, such as a plugin or a source.
    Node,
}

impl Subject {
    fn of(object: &EventObject) -> Self {
        match object {
            EventObject::Pod { full_name, uid, field_path: _ } => {
                Self::Pod { full_name: full_name.clone(), uid: uid.clone() }
            }
            EventObject::Node | EventObject::Plugin(_) | EventObject::Source { .. } => Self::Node,
        }
    }
}

/// What makes two events the same one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventKey {
    /// What it is about.
    pub subject: Subject,
    /// The container of the pod that it concerns, as its place in the spec.
    pub field_path: Option<String>,
    /// Whether it is a warning.
    pub is_warning: bool,
    pub reason: String,
    /// Message; none if many are combined.
    message: Option<String>,
}

/// An event as it is to be in the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Which one it is; a later one with the same key replaces it.
    pub key: EventKey,
    /// Message, at most [`MESSAGE_BYTES_MAX`] bytes.
    pub message: String,
    /// Annotations of the object, as the first event of its key has them.
    pub annotations: BTreeMap<String, String>,
    /// Reports events about one object apart: nanoseconds of the first time, no two the same.
    pub stamp: i128,
    /// How often it happened, at least once. More than once is a change of the object that is there already.
    pub count: u32,
    pub first: Timestamp,
    pub last: Timestamp,
}

/// What stands for an event, or a part of one, in the tables: thousands of texts would cost megabytes. 128 bits are enough that
/// no one meets a collision, by chance or on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Mark([u8; 16]);

impl Mark {
    /// Hashes the texts with their lengths, so that their borders count.
    fn of(texts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(text);
        }
        let mut mark = [0; 16];
        mark.copy_from_slice(&hash.finalize()[..16]);
        Self(mark)
    }

    /// A part of it as a number.
    fn number(self) -> u32 {
        let [first, second, third, fourth, ..] = self.0;
        u32::from_le_bytes([first, second, third, fourth])
    }
}

impl Subject {
    fn texts(&self) -> [&str; 3] {
        match self {
            Self::Pod { full_name, uid } => [&full_name.namespace, &full_name.name, uid.as_str()],
            Self::Node => [""; 3],
        }
    }

    fn mark(&self) -> Mark {
        Mark::of(&self.texts())
    }

    /// Hashes what events have in common that differ by their message alone. The container isn't part of it, as upstream.
    fn mark_of_similar(&self, is_warning: bool, reason: &str) -> Mark {
        let [namespace, name, uid] = self.texts();
        Mark::of(&[namespace, name, uid, kind_word(is_warning), reason])
    }
}

fn kind_word(is_warning: bool) -> &'static str {
    if is_warning { "Warning" } else { "Normal" }
}

impl EventKey {
    fn mark(&self) -> Mark {
        let [namespace, name, uid] = self.subject.texts();
        let kind = kind_word(self.is_warning);
        // Paths are never empty.
        let path = self.field_path.as_deref().unwrap_or_default();
        let message = self.message.as_deref().unwrap_or_default();
        let is_combined = if self.message.is_none() { COMBINED } else { "" };
        Mark::of(&[namespace, name, uid, kind, &self.reason, path, is_combined, message])
    }
}

#[derive(Clone, Debug)]
struct Similar {
    /// Fewer than [`SIMILAR_MAX`], each once.
    messages: Vec<Mark>,
    last: Timestamp,
}

/// Permits for events about one object.
#[derive(Clone, Debug)]
struct Bucket {
    left: u32,
    /// When the permits were counted last; the part of a permit that had grown by then is kept.
    since: Timestamp,
}

impl Bucket {
    fn take(&mut self, now: Timestamp) -> bool {
        let passed = now.duration_since(self.since);
        if passed.is_negative() {
            self.since = now;
        }
        let grown = (passed.as_secs() / SPAM_REFILL.as_secs()).max(0);
        if grown > 0 {
            self.left = u32::try_from(grown).unwrap_or(u32::MAX).saturating_add(self.left).min(SPAM_BURST);
            let counted = SignedDuration::from_secs(grown.saturating_mul(SPAM_REFILL.as_secs()));
            self.since = self.since.checked_add(counted).unwrap_or(now);
        }
        let may = self.left > 0;
        if self.left == SPAM_BURST {
            self.since = now;
        }
        self.left = self.left.saturating_sub(1);
        may
    }
}

#[derive(Clone, Debug)]
struct Observed {
    count: u32,
    first: Timestamp,
    stamp: i128,
}

/// Remembers events to tell what is new. A value: the time comes in from outside.
#[derive(Clone, Debug)]
pub struct Correlator {
    spam: Lru<Mark, Bucket>,
    similar: Lru<Mark, Similar>,
    observed: Lru<Mark, Observed>,
    last_stamp: i128,
}

impl Default for Correlator {
    fn default() -> Self {
        Self {
            spam: Lru::new(CORRELATED_MAX),
            similar: Lru::new(CORRELATED_MAX),
            observed: Lru::new(CORRELATED_MAX),
            last_stamp: i128::MIN,
        }
    }
}

impl Correlator {
    /// Returns what is to be sent of an event that happened at `now`; none if there were too many about its object.
    pub fn correlate(&mut self, event: &Event, now: Timestamp) -> Option<Outgoing> {
        self.correlate_of(event, None, now)
    }

    /// The same for an event that happened at `at` and may have been sent before, by an agent that was killed since: it is the same
    /// object of the API then.
    pub fn correlate_once(&mut self, event: &Event, at: Timestamp, now: Timestamp) -> Option<Outgoing> {
        self.correlate_of(event, Some(at), now)
    }

    fn correlate_of(&mut self, event: &Event, at: Option<Timestamp>, now: Timestamp) -> Option<Outgoing> {
        let subject = Subject::of(&event.object);
        let bucket =
            self.spam.get_or_insert_with(&subject.mark(), || Bucket { left: SPAM_BURST, since: now });
        if !bucket.take(now) {
            return None;
        }
        let field_path = match &event.object {
            EventObject::Pod { field_path, .. } => field_path.clone(),
            EventObject::Node | EventObject::Plugin(_) | EventObject::Source { .. } => None,
        };
        let said = shortened(event.message.as_str(), MESSAGE_BYTES_MAX);
        let is_warning = event.kind == EventType::Warning;
        let is_combined = self.is_combined(&subject, is_warning, &event.reason, &said, now);
        let message = match is_combined {
            true => shortened(format!("{COMBINED}{}", event.message), MESSAGE_BYTES_MAX),
            false => said.clone(),
        };
        let key = EventKey {
            subject,
            // Combined ones are about the pod, whichever of its containers it was.
            field_path: field_path.filter(|_| !is_combined),
            is_warning,
            reason: event.reason.clone(),
            message: (!is_combined).then_some(said),
        };
        let mark = key.mark();
        let stamp = match at {
            Some(at) => at.as_nanosecond().saturating_add(i128::from(mark.number() % RECORDED_AGAIN_SPREAD)),
            None => now.as_nanosecond().max(self.last_stamp.saturating_add(1)),
        };
        let happened = at.unwrap_or(now);
        let known = self.observed.get_or_insert_with(&mark, || Observed { count: 0, first: happened, stamp });
        known.count = known.count.saturating_add(1);
        let Observed { count, first, stamp: named } = known.clone();
        if named == stamp {
            self.last_stamp = self.last_stamp.max(stamp);
        }
        let annotations = event.annotations.clone();
        Some(Outgoing { key, message, annotations, stamp: named, count, first, last: happened })
    }

    fn is_combined(
        &mut self,
        subject: &Subject,
        is_warning: bool,
        reason: &str,
        message: &str,
        now: Timestamp,
    ) -> bool {
        let key = subject.mark_of_similar(is_warning, reason);
        let fresh = || Similar { messages: Vec::new(), last: now };
        let similar = self.similar.get_or_insert_with(&key, fresh);
        if now.duration_since(similar.last) > SIMILAR_INTERVAL {
            similar.messages.clear();
        }
        similar.last = now;
        let mark = Mark::of(&[message]);
        if !similar.messages.contains(&mark) {
            similar.messages.push(mark);
        }
        let is_combined = similar.messages.len() >= SIMILAR_MAX;
        if is_combined {
            // Which one goes doesn't matter: only their number does.
            similar.messages.swap_remove(0);
        }
        is_combined
    }
}
