//! Tests of delays, on times that are given.

use proptest::prelude::*;

use super::*;
use crate::fixtures::{at, first, pod};

fn key() -> BackoffKey {
    let pod = pod("Always", &["a"]);
    BackoffKey::of(&pod, &pod.spec.as_ref().unwrap().containers[0])
}

/// Crashes at each of these seconds and starts again as soon as it may; says how long each wait was.
fn waits(crashes_after_start: &[i64]) -> Vec<u64> {
    let mut table = BackoffTable::new(CRASH);
    let mut now = 0;
    let mut waits = Vec::new();
    for run in crashes_after_start {
        now += run;
        let finished = at(now);
        let wait = table.wait(&key(), finished, finished);
        waits.push(wait.map_or(0, |wait| wait.delay.as_secs()));
        if let Some(wait) = wait {
            now = wait.until.as_second() - at(0).as_second();
        }
        table.record(key(), finished, at(now));
    }
    waits
}

#[test]
fn a_container_that_crashes_at_once_waits_from_0_to_300_seconds() {
    assert_eq!(waits(&[1; 9]), [0, 10, 20, 40, 80, 160, 300, 300, 300]);
}

#[test]
fn a_container_that_ran_for_more_than_600_seconds_starts_afresh() {
    assert_eq!(waits(&[1, 1, 1, 1, 600, 1]), [0, 10, 20, 40, 80, 160]);
    assert_eq!(waits(&[1, 1, 1, 1, 601, 1, 1]), [0, 10, 20, 40, 0, 10, 20]);
}

#[test]
fn the_delay_counts_from_the_end_of_the_container_not_from_when_it_is_asked() {
    let mut table = BackoffTable::new(CRASH);
    table.record(key(), at(0), at(0));
    let ten = Duration::from_secs(10);
    for (now, expected) in [(5, Some(15)), (9, Some(15)), (14, Some(15)), (15, None), (16, None)] {
        let expected = expected.map(|until| Wait { until: at(until), delay: ten });
        assert_eq!(table.wait(&key(), at(5), at(now)), expected, "at {now}");
    }
}

#[test]
fn a_clock_set_back_holds_up_nothing_for_longer_than_twice_the_delay() {
    let mut table = BackoffTable::new(CRASH);
    table.record(key(), at(5000), at(5000));
    assert!(table.wait(&key(), at(5009), at(5000)).is_some(), "a little ahead");
    assert_eq!(table.wait(&key(), at(5000), at(1000)), None, "an hour ahead");
}

#[test]
fn what_never_was_tried_again_needs_not_wait() {
    assert_eq!(BackoffTable::new(CRASH).wait(&key(), at(0), at(0)), None);
}

#[test]
fn another_uid_image_or_resources_have_a_delay_of_their_own() {
    let base = pod("Always", &["a", "b"]);
    let of = |pod: &Pod, index: usize| BackoffKey::of(pod, &pod.spec.as_ref().unwrap().containers[index]);
    let mut other_uid = base.clone();
    other_uid.metadata.uid = Some("uid-2".to_owned());
    let mut other_image = base.clone();
    first(&mut other_image).image = Some("newer".to_owned());
    let mut other_resources = base.clone();
    let limits =
        [("cpu".to_owned(), k8s_openapi::apimachinery::pkg::api::resource::Quantity("1".to_owned()))];
    first(&mut other_resources).resources = Some(k8s_openapi::api::core::v1::ResourceRequirements {
        limits: Some(limits.into()),
        ..Default::default()
    });
    let mut other_args = base.clone();
    first(&mut other_args).args = Some(vec!["-v".to_owned()]);
    for different in [of(&other_uid, 0), of(&other_image, 0), of(&other_resources, 0), of(&base, 1)] {
        assert_ne!(of(&base, 0), different);
    }
    assert_eq!(of(&base, 0), of(&other_args, 0));
}

#[test]
fn garbage_is_what_starts_over_anyway() {
    let mut table = BackoffTable::new(CRASH);
    table.record(BackoffKey::pull(&"old".into(), "image"), at(0), at(0));
    table.record(BackoffKey::pull(&"new".into(), "image"), at(0), at(1));
    table.collect_garbage(at(600));
    assert_eq!(table.len(), 2);
    table.collect_garbage(at(601));
    assert_eq!(table.len(), 1);
    table.collect_garbage(at(602));
    assert!(table.is_empty());
}

#[test]
fn each_image_of_each_pod_has_a_delay_of_its_own() {
    let mut table = BackoffTable::new(IMAGE_PULL);
    let [failed, other_image, other_pod] =
        [("one", "x"), ("one", "y"), ("two", "x")].map(|(uid, image)| BackoffKey::pull(&uid.into(), image));
    table.record(failed.clone(), at(0), at(0));
    assert!(table.wait(&failed, at(0), at(0)).is_some());
    assert_eq!(table.wait(&other_image, at(0), at(0)), None);
    assert_eq!(table.wait(&other_pod, at(0), at(0)), None);
}

#[test]
fn a_clock_that_was_set_back_makes_no_one_panic() {
    let mut table = BackoffTable::new(CRASH);
    table.record(key(), at(0), at(1_000));
    assert!(table.wait(&key(), at(900), at(900)).is_some());
    table.collect_garbage(at(0));
    assert_eq!(table.len(), 1);
    assert_eq!(table.wait(&key(), Timestamp::MAX, at(1_000)), None);
}

#[test]
fn the_loop_waits_100_milliseconds_to_5_seconds_and_starts_over_after_a_success() {
    let mut backoff = ExponentialBackoff::new(LOOP);
    let waits: Vec<u128> = (0..8).map(|_| backoff.fail().as_millis()).collect();
    assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
    backoff.succeed();
    assert_eq!(backoff.fail().as_millis(), 100);
}

proptest! {
    #[test]
    fn delays_stay_within_the_policy(runs in prop::collection::vec(0..2_000i64, 1..40)) {
        for wait in waits(&runs) {
            prop_assert!(wait == 0 || (10..=300).contains(&wait));
        }
    }
}
