//! Tests of what sources answer.

use std::time::Duration;

use super::{Poll, Snapshot, SourceError};
use crate::secret::SecretError;
use crate::{Error, http};

#[test]
fn answers_carry_what_was_asked_for() {
    let poll = Poll::unchanged().with_cursor("7").again_after(Duration::from_millis(1_500));
    assert_eq!(
        poll,
        Poll {
            snapshot: Snapshot::Unchanged,
            cursor: Some("7".to_owned()),
            next_poll_milliseconds: Some(1_500)
        }
    );
    assert_eq!(Poll::unchanged().again_after(Duration::MAX).next_poll_milliseconds, Some(u64::MAX));
    let error = SourceError::new("Unavailable", "no answer").retry_after(Duration::from_secs(2));
    assert_eq!((error.reason.as_str(), error.retry_after_milliseconds), ("Unavailable", Some(2_000)));
}

#[test]
fn an_error_of_the_sdk_becomes_one_of_the_source_with_its_reason() {
    let secret = Error::Secret { name: "token".to_owned(), cause: SecretError::NotGranted };
    let error = SourceError::from(secret);
    assert_eq!(
        (error.reason.as_str(), error.message.as_str()),
        ("Denied", "secret token: not granted to the plugin")
    );
    assert_eq!(SourceError::from(Error::invalid("url", "is empty")).reason, "Invalid");
    assert_eq!(SourceError::from(Error::nothing_found("it is being written")).reason, "Unavailable");
    let late = SourceError::from(http::Error::HeadersLate);
    assert_eq!((late.reason.as_str(), late.message), ("Unavailable", http::Error::HeadersLate.to_string()));
}
