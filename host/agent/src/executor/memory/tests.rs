//! Tests of what is remembered, and for how long.

use k8s_openapi::api::core::v1::{Container, PodSpec};
use witlet_core::container::backoff::BackoffKey;
use witlet_core::status::WaitingReason;

use super::*;

const RETRY: SignedDuration = SignedDuration::from_secs(10);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn pod(name: &str) -> Pod {
    let image = Some(format!("{name}:1"));
    let container = Container { name: name.to_owned(), image, ..Container::default() };
    Pod { spec: Some(PodSpec { containers: vec![container], ..PodSpec::default() }), ..Pod::default() }
}

#[test]
fn a_failed_start_is_left_alone_for_a_while_and_never_longer() {
    let mut memory = PodMemory::new();
    memory.start_failed("app", "hash".to_owned(), at(100), RETRY);
    for (name, hash, now, until) in [
        ("just failed", "hash", 100, Some(at(110))),
        ("soon over", "hash", 109, Some(at(110))),
        ("over", "hash", 110, None),
        ("edited", "other", 101, None),
        ("the clock was set back", "hash", 50, None),
    ] {
        assert_eq!(memory.left_alone_until("app", hash, at(now), RETRY), until, "{name}");
    }
    memory.started("app");
    assert_eq!(memory.left_alone_until("app", "hash", at(100), RETRY), None);
}

#[test]
fn a_pod_that_is_edited_again_and_again_is_remembered_as_it_is_now() {
    let mut memory = PodMemory::new();
    for n in 0..100 {
        let name = format!("app{n}");
        let waiting = Waiting { reason: WaitingReason::ErrImagePull, message: String::new() };
        memory.waiting.insert(name.clone(), waiting);
        memory.start_failed(&name, String::new(), at(n * 1000), RETRY);
        let image = format!("{name}:1");
        memory.pulls.record(BackoffKey::pull(&"u".into(), &image), at(n * 1000), at(n * 1000));
        memory.failed_pulls.insert(image, PullFailure::at(at(n * 1000)));
        let seen = ObservedPod::absent("u".into(), at(n * 1000));
        memory.prune(&pod(&name), &seen, at(n * 1000));
    }
    assert_eq!(memory.waiting.keys().collect::<Vec<_>>(), ["app99"]);
    assert_eq!(memory.failed_starts.keys().collect::<Vec<_>>(), ["app99"]);
    assert_eq!(memory.failed_pulls.keys().collect::<Vec<_>>(), ["app99:1"]);
    assert_eq!(memory.pulls.len(), 1);
}
