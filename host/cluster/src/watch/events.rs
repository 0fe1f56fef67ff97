//! The events of a watch, from the bytes that a server sends.

use std::marker::PhantomData;

use super::answers::{self, Said};
use super::change::{WatchError, Watched};
use super::lines::{Line, Lines};

/// Bytes of one event; the server's own bound for an object is far below.
pub const EVENT_BYTES_MAX: usize = 8 << 20;

/// Reads events off a stream. Where the pieces that it is fed begin and end changes nothing.
#[derive(Debug)]
pub struct Events<K> {
    bytes_max: usize,
    lines: Lines,
    objects: PhantomData<fn() -> K>,
}

impl<K: Watched> Events<K> {
    /// Reads events of at most so many bytes, usually [`EVENT_BYTES_MAX`]. A longer one is passed over and counts as one that can't be read.
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, lines: Lines::new(bytes_max), objects: PhantomData }
    }

    /// Takes the bytes that follow. All events of those before must have been taken.
    pub fn feed(&mut self, data: &[u8]) {
        self.lines.feed(data);
    }

    /// The next event, if all of it is there; an error if it says that the watch failed.
    ///
    /// # Errors
    /// The event can't be decoded, or says that the watch failed.
    #[allow(clippy::should_implement_trait, reason = "none now doesn't mean none ever")]
    pub fn next(&mut self) -> Option<Result<Said<K>, WatchError>> {
        Some(match self.lines.next()? {
            Line::Whole(line) => answers::event(line),
            Line::TooLong => Ok(Said::unread(format!("an event has more than {} bytes", self.bytes_max))),
        })
    }
}
