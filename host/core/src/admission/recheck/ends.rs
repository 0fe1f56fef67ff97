//! When running pods were ended because handlers rejected them: a restarted agent goes on with the same bounds.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{ENDS_MAX, INTERVAL_MAX};

/// The form that this release writes and reads.
const VERSION: u32 = 1;

/// What was saved can't be used.
#[derive(Debug, Error)]
pub enum RecheckEndsError {
    /// It isn't what this program writes.
    #[error("expected a list of times")]
    Malformed(#[from] serde_json::Error),
    /// Another release wrote it, in a form that this one doesn't know.
    #[error("unsupported version {found}, expected {VERSION}")]
    Version {
        /// What it says it is.
        found: u32,
    },
}

/// The moments, as they are saved: the newest 4096, none older than [`INTERVAL_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecheckEnds {
    ends: VecDeque<Timestamp>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    ends: VecDeque<Timestamp>,
}

impl RecheckEnds {
    /// A pod is ended now.
    pub fn add(&mut self, now: Timestamp) {
        self.ends.retain(|at| age(*at, now) < INTERVAL_MAX);
        self.ends.push_back(now);
        self.keep_newest();
    }

    /// How long ago each of them was. Of a clock that was set back, those that it has yet to come to are of now.
    pub fn ages(&self, now: Timestamp) -> Vec<Duration> {
        self.ends.iter().map(|at| age(*at, now)).collect()
    }

    /// The form that is saved.
    pub fn encode(&self) -> Vec<u8> {
        let saved = Saved { version: VERSION, ends: self.ends.clone() };
        serde_json::to_vec(&saved).expect("a number and times always have a JSON form")
    }

    /// Reads what [`Self::encode`] wrote.
    ///
    /// # Errors
    /// When it is something else.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecheckEndsError> {
        let Saved { version, ends } = serde_json::from_slice(bytes)?;
        if version != VERSION {
            return Err(RecheckEndsError::Version { found: version });
        }
        let mut read = Self { ends };
        read.keep_newest();
        Ok(read)
    }

    fn keep_newest(&mut self) {
        let beyond = self.ends.len().saturating_sub(ENDS_MAX);
        self.ends.drain(..beyond);
    }
}

fn age(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(at)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
