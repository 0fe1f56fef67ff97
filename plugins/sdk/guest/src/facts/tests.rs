//! Tests of what every role's facts share.

use super::{LOG_LINES_MAX, set_secret, take_log};
use crate::info;
use crate::secret::{self, SecretError};

#[test]
fn the_log_is_bounded_and_taken_once() {
    for number in 0..=LOG_LINES_MAX {
        info!("line {number}");
    }
    assert_eq!(take_log().len(), LOG_LINES_MAX);
    assert_eq!(take_log(), []);
}

#[test]
fn a_secret_is_there_once_a_test_has_set_it() {
    assert!(matches!(secret::get("token"), Err(SecretError::NotGranted)));
    set_secret("token", Ok(b"first".to_vec()));
    set_secret("token", Ok(b"s3cret".to_vec()));
    assert_eq!(secret::get("token").expect("it was set"), b"s3cret");
    set_secret("gone", Err(SecretError::NotFound));
    assert!(matches!(secret::get("gone"), Err(SecretError::NotFound)));
}
