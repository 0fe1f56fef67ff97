//! What a request for a log asks for: upstream's `PodLogOptions`, as they come in a query.

use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use super::LogStream;

#[cfg(test)]
mod tests;

/// Why a query for a log is refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum LogRequestError {
    /// A value that isn't of its type: 400.
    #[error("{{\"message\": \"Unable to decode query.\"}}")]
    Undecodable,
    /// Values that make no sense, alone or together: 422.
    #[error("{{\"message\": \"Invalid request.\"}}")]
    Invalid,
}

/// What is to be shown of a container's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRequest {
    /// What is written from now on, too, until the container ends.
    pub follow: bool,
    /// The log of the instance before.
    pub previous: bool,
    /// A time before each line.
    pub timestamps: bool,
    /// Only the last lines, as many as this.
    pub tail_lines: Option<u64>,
    /// Nothing older than so many seconds.
    pub since_seconds: Option<i64>,
    /// Nothing older than this.
    pub since_time: Option<Timestamp>,
    /// At most so many bytes.
    pub limit_bytes: Option<u64>,
    /// What was written to this stream only.
    pub stream: Option<LogStream>,
}

impl LogRequest {
    /// Reads a query. The first value of a name counts; names that aren't known are left alone, as upstream does.
    ///
    /// # Errors
    /// A value isn't of its type, or makes no sense, alone or with the others.
    pub fn from_query(pairs: &[(String, String)]) -> Result<Self, LogRequestError> {
        let first = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let flag = |name| first(name).is_some_and(is_true);
        // An older name, whose `all` is what is shown without it.
        let tail = match first("tail").filter(|tail| !tail.is_empty()) {
            Some("all") => None,
            Some(tail) => Some(tail),
            None => first("tailLines"),
        };
        let since_seconds = first("sinceSeconds").map(number).transpose()?;
        let since_time = first("sinceTime").map(time).transpose()?.flatten();
        let (tail, limit) = (tail.map(number).transpose()?, first("limitBytes").map(number).transpose()?);
        let stream = first("stream").map(stream).transpose();
        let at_least =
            |least: i64, value: Option<i64>| value.is_none_or(|value| value >= least).then_some(value);
        let checked = (|| {
            let tail = at_least(0, tail)?;
            let limit = at_least(1, limit)?;
            let since_seconds = at_least(1, since_seconds)?;
            let stream = stream.ok()?.flatten();
            let apart = !(since_seconds.is_some() && since_time.is_some());
            // Lines are counted before a check of their streams.
            let countable = !(stream.is_some() && tail.is_some());
            (apart && countable).then_some(Self {
                follow: flag("follow"),
                previous: flag("previous"),
                timestamps: flag("timestamps"),
                tail_lines: tail.and_then(|tail| u64::try_from(tail).ok()),
                since_seconds,
                since_time,
                limit_bytes: limit.and_then(|limit| u64::try_from(limit).ok()),
                stream,
            })
        })();
        checked.ok_or(LogRequestError::Invalid)
    }

    /// Returns the time of the oldest line that is shown.
    pub fn since(&self, now: Timestamp) -> Option<Timestamp> {
        let ago = self
            .since_seconds
            .map(|seconds| now.checked_sub(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MIN));
        ago.max(self.since_time)
    }
}

/// Reads a boolean as the API does in a query: what is there and doesn't say no.
fn is_true(value: &str) -> bool {
    !value.eq_ignore_ascii_case("false") && value != "0"
}

fn number(value: &str) -> Result<i64, LogRequestError> {
    value.parse().map_err(|_| LogRequestError::Undecodable)
}

/// Returns `None` for a time that isn't set.
fn time(value: &str) -> Result<Option<Timestamp>, LogRequestError> {
    match value {
        "" | "null" => Ok(None),
        time => time.parse().map(Some).map_err(|_| LogRequestError::Undecodable),
    }
}

/// Returns `None` for both.
fn stream(value: &str) -> Result<Option<LogStream>, LogRequestError> {
    match value {
        "All" => Ok(None),
        "Stdout" => Ok(Some(LogStream::Stdout)),
        "Stderr" => Ok(Some(LogStream::Stderr)),
        _ => Err(LogRequestError::Invalid),
    }
}
