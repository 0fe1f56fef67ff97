//! Policy × presence × delay, and a container's way through failing pulls.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::ImageRefusal::{BackOff, NeverPull};
use super::PullPolicy::{Always, IfNotPresent, Never};
use super::*;
use crate::container::backoff::{BackoffKey, BackoffTable, IMAGE_PULL};
use crate::pod::PodUid;

const ABSENT: Presence<'_> = Presence::Absent;
const PRESENT: Presence<'_> = Presence::Present { image_ref: "sha256:aa", must_verify: false };
const UNVERIFIED: Presence<'_> = Presence::Present { image_ref: "sha256:aa", must_verify: true };

#[test]
fn policy_presence_and_delay_decide() {
    let wait = Wait { until: Timestamp::UNIX_EPOCH, delay: Duration::from_secs(10) };
    let used = || ImageStep::Use { image_ref: "sha256:aa".to_owned() };
    let refused = ImageStep::Refuse;
    for (policy, presence, free, delayed) in [
        (Always, ABSENT, ImageStep::Pull, refused(BackOff(wait))),
        (Always, PRESENT, ImageStep::Pull, refused(BackOff(wait))),
        (Always, UNVERIFIED, ImageStep::Pull, refused(BackOff(wait))),
        (IfNotPresent, ABSENT, ImageStep::Pull, refused(BackOff(wait))),
        (IfNotPresent, PRESENT, used(), used()),
        (IfNotPresent, UNVERIFIED, ImageStep::Pull, refused(BackOff(wait))),
        (Never, ABSENT, refused(NeverPull), refused(NeverPull)),
        (Never, PRESENT, used(), used()),
        (Never, UNVERIFIED, refused(NeverPull), refused(NeverPull)),
    ] {
        assert_eq!(next_step(policy, presence, None), free, "{policy:?} {presence:?}");
        assert_eq!(next_step(policy, presence, Some(wait)), delayed, "{policy:?} {presence:?} delayed");
    }
}

#[test]
fn refusals_have_upstreams_reasons() {
    let wait = Wait { until: Timestamp::UNIX_EPOCH, delay: Duration::from_secs(10) };
    for (refusal, reason) in [
        (NeverPull, WaitingReason::ErrImageNeverPull),
        (NeverPull, WaitingReason::ErrImageNeverPull),
        (BackOff(wait), WaitingReason::ImagePullBackOff),
    ] {
        assert_eq!(refusal.waiting_reason(), reason);
    }
}

/// Checks a container each second while all its pulls fail, and says when it was pulled.
fn pulled_at(seconds: i64) -> Vec<i64> {
    let mut table = BackoffTable::new(IMAGE_PULL);
    let key = BackoffKey::pull(&PodUid::from("u"), "app:1");
    let mut failed_at = None;
    let mut pulls = Vec::new();
    for second in 0..seconds {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second);
        let wait = failed_at.and_then(|at| table.wait(&key, at, now));
        match next_step(IfNotPresent, ABSENT, wait) {
            ImageStep::Pull => {
                pulls.push(second);
                table.record(key.clone(), now, now);
                failed_at = Some(now);
            }
            ImageStep::Refuse(BackOff(wait)) => {
                assert!(wait.until > now, "a delay that is over delays nothing")
            }
            other => panic!("{other:?}"),
        }
    }
    pulls
}

#[test]
fn failing_pulls_wait_from_10_to_300_seconds() {
    assert_eq!(pulled_at(1500), [0, 10, 30, 70, 150, 310, 610, 910, 1210]);
}

#[test]
fn a_containers_policy_is_read_from_its_spec() {
    for (text, policy) in [
        (Some("Always"), Always),
        (Some("Never"), Never),
        (Some("IfNotPresent"), IfNotPresent),
        (None, IfNotPresent),
    ] {
        let image_pull_policy = text.map(str::to_owned);
        assert_eq!(PullPolicy::of(&Container { image_pull_policy, ..Container::default() }), policy);
    }
}

#[test]
fn the_runtimes_word_tells_what_a_pull_met() {
    for (message, reason) in [
        ("RegistryUnavailable: dial tcp: no route to host", "RegistryUnavailable"),
        ("SignatureValidationFailed", "SignatureValidationFailed"),
        ("rpc error: code = Internal desc = SignatureValidationFailed", "ErrImagePull"),
        ("failed: NotRegistryUnavailableAtAll", "ErrImagePull"),
        ("pull access denied", "ErrImagePull"),
        ("", "ErrImagePull"),
    ] {
        assert_eq!(PullFailureKind::of(message).reason(), reason, "{message}");
    }
}

#[test]
fn special_failures_are_explained_in_upstreams_words() {
    for (said, expected) in [
        ("rpc error: code = NotFound desc = 404", "rpc error: code = NotFound desc = 404"),
        (
            "RegistryUnavailable: dial tcp: no route to host",
            "image pull failed for app:1 because the registry is unavailable: dial tcp: no route to host",
        ),
        ("SignatureValidationFailed", "image pull failed for app:1 because the signature validation failed"),
    ] {
        assert_eq!(PullFailureKind::of(said).waiting_message("app:1", said), expected);
    }
}
