//! How objects of an API server are read and watched for good: what is asked next, and how long is waited after a failure
//! (upstream: client-go's `Reflector`).
//!
//! Versions only go forward: what is read again is never older than what was seen, unless the server says that it doesn't have
//! that version (any more, or yet). Then the newest is read.

use std::time::Duration;

use crate::container::backoff::BackoffPolicy;

use thiserror::Error;

pub mod outage;
#[cfg(test)]
mod tests;

/// The first failure is waited for this long, each further one twice as long; the jitter adds up to as much again.
pub const BACK_OFF_MIN: Duration = Duration::from_millis(800);
/// At most this long, before jitter.
pub const BACK_OFF_MAX: Duration = Duration::from_secs(30);
/// After this long without a failure the next one counts as the first. A server that answers after it was away has that happen
/// too, at most once in this time: one that comes and goes isn't asked without a pause.
pub const BACK_OFF_RESET: Duration = Duration::from_secs(120);
/// Where no one listens, the next try costs no one anything.
pub const REFUSED_WAIT: Duration = Duration::from_secs(1);
/// What a server may ask us to wait (`Retry-After`); what it asks beyond that is cut.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);
/// A watch lasts this long, and up to as long again by chance, so that not all end at once.
pub const WATCH_MIN: Duration = Duration::from_secs(300);
/// Objects that are asked for at once, where the server pages.
pub const PAGE_OBJECTS: u32 = 500;
/// Pages of one list. Servers fill each but the last.
pub const PAGES_MAX: u32 = 500;
/// A watch that ends sooner isn't simply opened again.
pub const SHORT_WATCH: Duration = Duration::from_secs(1);
/// After so many streams in a row that ended before all objects came, these are read by pages.
pub const EARLY_ENDS_MAX: u32 = 2;
/// After so many failures in a row of a server that can't open or keep a watch, all objects are read again after each further one: they
/// are no older than that where watches never work.
pub const FAILING_WATCHES_MAX: u32 = 3;

/// How all objects are read at first, and after a version was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Initial {
    /// By a watch that begins with them (`sendInitialEvents`). When one fails, by pages at once, as client-go does; only a server that
    /// refuses connections or asks for a pause is asked for a watch again. By pages for good where the server doesn't do such watches.
    #[default]
    Stream,
    Pages,
}

/// What is asked of the server next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A watch that begins with all objects, no older than the version; an empty one is the newest.
    Stream {
        version: String,
        /// How long it is to last.
        timeout: Duration,
    },
    /// A part of a list, or all of it.
    Page {
        /// No older than this; none is the newest, or what the token says.
        version: Option<String>,
        /// How many objects; none is all.
        limit: Option<u32>,
        /// Where the part before ended.
        token: Option<String>,
    },
    /// A watch of what changes after the version.
    Watch {
        version: String,
        /// How long it is to last.
        timeout: Duration,
    },
}

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server doesn't have the version any more (410).
    Expired,
    /// The server doesn't have the version yet.
    TooLarge,
    Refused,
    /// The server doesn't do watches that begin with all objects.
    Unsupported,
    /// The server asks for a pause (429), and may have said for how long.
    Busy(Option<Duration>),
    /// The server can't (5xx), and may have said when to come again.
    Failing(Option<Duration>),
    /// The connection broke, or there was no answer.
    Broken,
    /// Any other refusal, or an answer that makes no sense.
    Other,
}

impl Failure {
    /// Whether someone who knows what was asked refused it, rather than that there is no one, or no one who can.
    fn is_answer(self) -> bool {
        match self {
            Self::Expired | Self::TooLarge | Self::Unsupported | Self::Other => true,
            Self::Refused | Self::Busy(_) | Self::Failing(_) | Self::Broken => false,
        }
    }
}

/// A list that has more than [`PAGES_MAX`] pages.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("more than {PAGES_MAX} pages")]
pub struct TooManyPages;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Begin,
    /// So many pages came.
    Pages {
        token: String,
        count: u32,
    },
    Watch,
}

/// Where one list and watch stands.
#[derive(Clone, Debug)]
pub struct Reflector {
    initial: Initial,
    /// The newest that was seen; empty before the first.
    version: String,
    /// Whether the server doesn't have that version.
    is_lost: bool,
    stage: Stage,
    /// Whether all objects are read by pages this time, for a stream of them failed.
    falls_back: bool,
    /// Streams in a row that ended before all objects came.
    early_ends: u32,
    /// Failures in a row of a server that can't watch.
    failing_watches: u32,
    /// Whether an event was missed, so that what was seen isn't all that there is.
    has_missed: bool,
    /// Whether a request had no answer since the back-off last started over.
    was_away: bool,
    back_off: BackOff,
}

impl Reflector {
    /// One that has seen nothing.
    pub fn new(initial: Initial) -> Self {
        let back_off = BackOff { next: BACK_OFF_MIN, last: None, restarted_at: None };
        Self {
            initial,
            version: String::new(),
            is_lost: false,
            stage: Stage::Begin,
            falls_back: false,
            early_ends: 0,
            failing_watches: 0,
            has_missed: false,
            was_away: false,
            back_off,
        }
    }

    /// Returns what to ask now. `unit` is a random number in `[0, 1)`.
    pub fn next(&self, unit: f64) -> Request {
        let timeout = WATCH_MIN + WATCH_MIN.mul_f64(unit);
        let known = if self.is_lost { "" } else { self.version.as_str() };
        let initial = if self.falls_back { Initial::Pages } else { self.initial };
        match (&self.stage, initial) {
            (Stage::Watch, _) => Request::Watch { version: self.version.clone(), timeout },
            (Stage::Pages { token, .. }, _) => {
                Request::Page { version: None, limit: Some(PAGE_OBJECTS), token: Some(token.clone()) }
            }
            (Stage::Begin, Initial::Stream) => Request::Stream { version: known.to_owned(), timeout },
            // With a limit the server would take the version for an exact one.
            (Stage::Begin, Initial::Pages) if !known.is_empty() => {
                Request::Page { version: Some(known.to_owned()), limit: None, token: None }
            }
            // At first what the server has in memory will do.
            (Stage::Begin, Initial::Pages) => {
                let version = (!self.is_lost).then(|| "0".to_owned());
                Request::Page { version, limit: Some(PAGE_OBJECTS), token: None }
            }
        }
    }

    /// A page came, of a list with this version; with a token there is more. Gives whether that was all.
    ///
    /// # Errors
    /// There is no end of pages. The caller says so by [`Self::failed`].
    pub fn page(&mut self, version: &str, token: Option<String>) -> Result<bool, TooManyPages> {
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            self.synced(version);
            return Ok(true);
        };
        let before = if let Stage::Pages { count, .. } = self.stage { count } else { 0 };
        let count = before.saturating_add(1);
        if count >= PAGES_MAX {
            return Err(TooManyPages);
        }
        self.stage = Stage::Pages { token, count };
        Ok(false)
    }

    /// Notes that all objects were read, at this version.
    pub fn synced(&mut self, version: &str) {
        self.version = version.to_owned();
        self.is_lost = false;
        self.has_missed = false;
        self.falls_back = false;
        self.early_ends = 0;
        self.stage = Stage::Watch;
    }

    /// Whether the last failure was a stream's, and its objects are read by pages next: nothing is known to be outdated yet.
    pub fn is_falling_back(&self) -> bool {
        self.falls_back && self.stage == Stage::Begin
    }

    /// A change or a bookmark of this version was seen.
    pub fn saw(&mut self, version: &str) {
        if self.stage == Stage::Watch && !version.is_empty() {
            self.version = version.to_owned();
        }
    }

    /// An event came that doesn't even tell its object. When this watch has ended all objects are read again.
    pub fn missed(&mut self) {
        self.has_missed = true;
    }

    /// The watch ended, however, after it was open for so long; `events` came, bookmarks included. Gives how long to wait
    /// before the next request. The watch goes on where it ended; if nothing ever came, or not all objects had come, all are read again:
    /// by pages after [`EARLY_ENDS_MAX`] streams.
    pub fn ended(&mut self, lived: Duration, events: u64, now: Duration, unit: f64) -> Duration {
        let is_short = lived < SHORT_WATCH;
        let was_watched = self.stage == Stage::Watch;
        self.failing_watches = 0;
        if !was_watched {
            self.early_ends = self.early_ends.saturating_add(1);
            self.falls_back = self.early_ends >= EARLY_ENDS_MAX;
        }
        if (is_short && events == 0) || self.has_missed {
            self.stage = Stage::Begin;
        }
        if was_watched && !is_short {
            return Duration::ZERO;
        }
        self.back_off.next(now, unit)
    }

    /// An attempt failed at `now`, counted from any fixed moment. Gives how long to wait before the next request. The first answer of a
    /// server that was away isn't waited for as long as its last silence was: after an outage that is often a 410.
    pub fn failed(&mut self, failure: Failure, now: Duration, unit: f64) -> Duration {
        if !failure.is_answer() {
            self.was_away = true;
        } else if self.was_away && self.back_off.start_over(now) {
            self.was_away = false;
        }
        let watched = self.stage == Stage::Watch;
        let streamed = self.stage == Stage::Begin && self.initial == Initial::Stream && !self.falls_back;
        if streamed && let Some(wait) = self.fall_back(failure) {
            return wait;
        }
        match failure {
            Failure::Expired | Failure::TooLarge if !watched => {
                let is_first = !self.is_lost;
                self.is_lost = true;
                self.stage = Stage::Begin;
                if is_first {
                    return Duration::ZERO;
                }
            }
            // A list of what isn't older than the version still has an answer.
            Failure::Expired => self.stage = Stage::Begin,
            Failure::TooLarge => {
                self.is_lost = true;
                self.stage = Stage::Begin;
            }
            Failure::Failing(_) if watched => {
                self.failing_watches = self.failing_watches.saturating_add(1);
                if self.failing_watches >= FAILING_WATCHES_MAX {
                    self.stage = Stage::Begin;
                }
            }
            Failure::Refused | Failure::Busy(_) | Failure::Broken if watched => {}
            _ => self.stage = Stage::Begin,
        }
        // The next reading begins with a stream again.
        self.falls_back = false;
        match failure {
            Failure::Refused => REFUSED_WAIT,
            Failure::Busy(Some(asked)) | Failure::Failing(Some(asked)) => {
                self.back_off.next(now, unit).max(asked.min(RETRY_AFTER_MAX))
            }
            _ => self.back_off.next(now, unit),
        }
    }
}

impl Reflector {
    /// Returns what a failed stream leads to, where that isn't another stream: pages, after a time that the server asked for.
    fn fall_back(&mut self, failure: Failure) -> Option<Duration> {
        let wait = match failure {
            Failure::Refused | Failure::Busy(_) => return None,
            // Once more, with the newest version.
            Failure::Expired | Failure::TooLarge if !self.is_lost => return None,
            Failure::Unsupported => {
                self.initial = Initial::Pages;
                Duration::ZERO
            }
            Failure::Failing(asked) => asked.unwrap_or_default().min(RETRY_AFTER_MAX),
            Failure::Expired | Failure::TooLarge | Failure::Broken | Failure::Other => Duration::ZERO,
        };
        self.falls_back = true;
        Some(wait)
    }
}

#[derive(Clone, Copy, Debug)]
struct BackOff {
    next: Duration,
    last: Option<Duration>,
    /// When an answer last made it starts over.
    restarted_at: Option<Duration>,
}

impl BackOff {
    /// Counts the next failure as the first, if that wasn't done lately. Gives whether it did.
    fn start_over(&mut self, now: Duration) -> bool {
        if self.restarted_at.is_some_and(|restarted_at| now.saturating_sub(restarted_at) <= BACK_OFF_RESET) {
            return false;
        }
        self.restarted_at = Some(now);
        self.next = BACK_OFF_MIN;
        true
    }

    fn next(&mut self, now: Duration, unit: f64) -> Duration {
        if self.last.is_some_and(|last| now.saturating_sub(last) > BACK_OFF_RESET) {
            self.next = BACK_OFF_MIN;
        }
        self.last = Some(now);
        let wait = self.next;
        self.next = BackoffPolicy { initial: BACK_OFF_MIN, max: BACK_OFF_MAX }.next(wait);
        wait + wait.mul_f64(unit)
    }
}
