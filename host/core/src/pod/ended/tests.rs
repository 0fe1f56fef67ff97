//! Parts, and what is left out of one that grows too large.

use serde_json::json;

use super::*;

/// A pod that ended at this second with a message of so many bytes.
fn status(second: i64, message_bytes: usize) -> PodStatus {
    let at = Timestamp::from_second(second).unwrap().to_string();
    let terminated = json!({"exitCode": 1, "message": "é".repeat(message_bytes / 2)});
    let container = json!({"name": "app", "ready": false, "restartCount": 0, "image": "", "imageID": "",
        "state": {"terminated": terminated}});
    let target = json!({"type": "DisruptionTarget", "status": "True", "lastTransitionTime": at});
    let status = json!({"phase": "Failed", "conditions": [target], "containerStatuses": [container]});
    serde_json::from_value(status).unwrap()
}

fn uid(number: usize) -> PodUid {
    PodUid::from(format!("uid-{number}").as_str())
}

#[test]
fn an_end_changes_one_part_and_what_was_saved_is_read_back() {
    let mut ended = EndedPods::default();
    for number in 0..1000 {
        ended.insert(&uid(number), &status(1, 10));
    }
    let parts = ended.take_changed();
    assert_eq!(parts.len(), usize::from(PARTS));
    let largest = parts.iter().map(|part| part.pods.len()).max().unwrap();
    assert!(largest < 100, "{largest} of 1,000 pods are in one part");
    let mut read = EndedPods::default();
    for part in parts {
        read.add_saved(&part.encode()).unwrap();
    }
    assert_eq!(read.pods, ended.pods);
    assert!(!ended.is_changed());
    ended.insert(&uid(7), &status(1, 10));
    assert!(!ended.is_changed(), "it was known to have ended so");
    ended.insert(&uid(7), &status(2, 10));
    assert_eq!(ended.take_changed().len(), 1);
    ended.remove(&uid(7));
    ended.remove(&uid(7));
    assert_eq!(ended.take_changed().len(), 1);
    ended.retain(|known| *known != uid(8));
    assert_eq!(ended.take_changed().len(), 1);
    // What couldn't be saved is saved with what comes next, and no more.
    ended.not_saved();
    assert_eq!(ended.take_changed().len(), 1);
    ended.set_changed();
    assert_eq!(ended.take_changed().len(), usize::from(PARTS));
}

#[test]
fn a_part_that_would_be_too_large_loses_messages_then_containers_then_the_oldest_pods() {
    let pods: BTreeMap<PodUid, PodStatus> =
        (0..8).map(|number| (uid(number), status(i64::try_from(number).unwrap(), 4096))).collect();
    let within = |bytes_max: usize| {
        let part = EndedPart { number: 0, pods: pods.clone() };
        let bytes = part.encode_within(bytes_max);
        assert!(bytes.len() <= bytes_max, "{} of {bytes_max}", bytes.len());
        let read: BTreeMap<PodUid, PodStatus> = serde_json::from_slice(&bytes).unwrap();
        assert!(read.values().all(|status| status.phase.as_deref() == Some("Failed")));
        let messages: usize = read
            .values()
            .flat_map(|status| status.container_statuses.iter().flatten())
            .filter_map(|container| container.state.as_ref()?.terminated.as_ref()?.message.as_ref())
            .map(String::len)
            .sum();
        (read.into_keys().map(|uid| uid.to_string()).collect::<Vec<_>>().join(" "), messages)
    };
    let all = "uid-0 uid-1 uid-2 uid-3 uid-4 uid-5 uid-6 uid-7".to_owned();
    assert_eq!(within(100_000), (all.clone(), 8 * 4096));
    assert_eq!(within(10_000), (all.clone(), 8 * 256));
    assert_eq!(within(1_500), (all, 0));
    assert_eq!(within(600), ("uid-4 uid-5 uid-6 uid-7".to_owned(), 0));
    assert_eq!(within(10), (String::new(), 0));
}
