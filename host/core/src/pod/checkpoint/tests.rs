//! What a restarted agent remembers of a pod, and what is left out of a checkpoint that grows too large.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::json;

use super::*;
use crate::fixtures::{first, pod, spec};

fn resources(cpu: &str, storage: &str) -> ResourceRequirements {
    let amounts = [("cpu", cpu), ("ephemeral-storage", storage)];
    let amounts = amounts.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())));
    ResourceRequirements {
        requests: Some(amounts.clone().into()),
        limits: Some(amounts.into()),
        claims: None,
    }
}

/// Of a pod that ended with a message of so many bytes.
fn status(message_bytes: usize) -> PodStatus {
    let terminated = json!({"exitCode": 1, "message": "é".repeat(message_bytes / 2)});
    let container = json!({"name": "app", "ready": false, "restartCount": 0, "image": "", "imageID": "",
        "state": {"terminated": terminated}});
    serde_json::from_value(json!({"phase": "Failed", "containerStatuses": [container]})).unwrap()
}

/// Of an end that was decided at this second.
fn report(second: i64) -> EndReport {
    let at = Timestamp::from_second(second).unwrap();
    EndReport { at, annotations: [("starved_resource".to_owned(), "memory".to_owned())].into() }
}

fn admitted(pod: &Pod) -> PodCheckpoint {
    let mut checkpoint = PodCheckpoint::default();
    checkpoint.admit(pod);
    checkpoint
}

#[test]
fn an_admitted_pod_with_a_sandbox_is_not_judged_again() {
    let pod = pod("Always", &["a"]);
    assert!(!PodCheckpoint::default().is_remembered(&pod, true));
    let mut checkpoint = admitted(&pod);
    assert!(checkpoint.is_remembered(&pod, true));
    assert!(!checkpoint.is_remembered(&pod, false), "without a sandbox nothing of it runs");
    checkpoint.forget_admission();
    assert!(!checkpoint.is_remembered(&pod, true));
}

#[test]
fn a_changed_spec_is_judged_again_and_a_resize_is_not() {
    let mut pod = pod("Always", &["a"]);
    first(&mut pod).resources = Some(resources("1", "1Gi"));
    let checkpoint = admitted(&pod);
    let changed = |change: &dyn Fn(&mut Pod)| {
        let mut pod = pod.clone();
        change(&mut pod);
        checkpoint.is_remembered(&pod, true)
    };
    assert!(changed(&|pod| first(pod).resources = Some(resources("2", "1Gi"))), "CPU is resizable");
    assert!(changed(&|pod| pod.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into())));
    assert!(!changed(&|pod| first(pod).resources = Some(resources("1", "2Gi"))), "storage isn't");
    assert!(!changed(&|pod| first(pod).image = Some("newer".to_owned())));
    assert!(!changed(&|pod| spec(pod).host_network = Some(true)));
}

fn tolerate(pod: &mut Pod) {
    let added = serde_json::from_value(json!([{"key": "gpu", "operator": "Exists"}]));
    spec(pod).tolerations = Some(added.unwrap());
}

#[test]
fn what_people_may_edit_of_any_running_pod_has_it_judged_again_no_more() {
    let before = pod("Always", &["a"]);
    let checkpoint = PodCheckpoint::decode(&admitted(&before).encode()).unwrap();
    let edits: [fn(&mut Pod); 3] = [
        tolerate,
        |pod| spec(pod).active_deadline_seconds = Some(60),
        |pod| spec(pod).termination_grace_period_seconds = Some(1),
    ];
    for (index, edit) in edits.into_iter().enumerate() {
        let mut edited = before.clone();
        edit(&mut edited);
        assert!(checkpoint.is_remembered(&edited, true), "{index}");
        first(&mut edited).image = Some("newer".to_owned());
        assert!(!checkpoint.is_remembered(&edited, true), "{index}");
        assert!(checkpoint.is_edited(&Arc::new(edited), true), "{index}: the image is asked about alone");
    }
    let mut tolerant = before.clone();
    tolerate(&mut tolerant);
    assert!(admitted(&tolerant).is_remembered(&before, true));
}

#[test]
fn what_is_saved_reads_back_the_same_and_another_content_has_another_form() {
    let mut checkpoint = PodCheckpoint::default();
    let mut forms = vec![checkpoint.encode()];
    assert_eq!(PodCheckpoint::decode(&checkpoint.encode()).unwrap(), checkpoint);
    checkpoint.admit(&pod("Always", &["a"]));
    forms.push(checkpoint.encode());
    checkpoint.end(&status(10));
    forms.push(checkpoint.encode());
    assert_eq!(PodCheckpoint::decode(&checkpoint.encode()).unwrap(), checkpoint);
    checkpoint.revise(&pod("Always", &["a", "b"]));
    assert!(checkpoint.ended().is_some(), "another spec doesn't take an end back");
    forms.push(checkpoint.encode());
    checkpoint.admit(&pod("Always", &["a"]));
    assert_eq!((checkpoint.ended(), checkpoint.encode()), (None, forms[1].clone()), "it begins again");
    forms.sort_unstable();
    forms.dedup();
    assert_eq!(forms.len(), 4);
}

#[test]
fn a_checkpoint_that_would_be_too_large_loses_messages_and_then_containers() {
    let mut checkpoint = PodCheckpoint::default();
    checkpoint.end(&status(4096));
    let message = |bytes_max: usize| {
        let read = PodCheckpoint::decode(&checkpoint.encode_within(bytes_max)).unwrap();
        let ended = read.ended().unwrap();
        assert_eq!(ended.phase.as_deref(), Some("Failed"));
        let container = ended.container_statuses.as_ref()?.first()?;
        container.state.as_ref()?.terminated.as_ref()?.message.as_ref().map(String::len)
    };
    assert_eq!(message(10_000), Some(4096));
    assert_eq!(message(1_000), Some(256));
    assert_eq!(message(100), None);
}

#[test]
fn what_earlier_releases_saved_of_all_pods_is_each_pods_own_now() {
    let mut older = OlderCheckpoints::default();
    older.add_admitted(br#"{"version":1,"admitted":{"uid-1":"9f54d6b6ff1e82cf"}}"#).unwrap();
    older.add_ended(br#"{"uid-1":{"phase":"Failed"},"uid-2":{"phase":"Succeeded"}}"#).unwrap();
    let pods = older.into_pods();
    let (first, second) = (&pods[&PodUid::from("uid-1")], &pods[&PodUid::from("uid-2")]);
    assert!(first.is_remembered(&pod("Always", &["a"]), true));
    let phase = |checkpoint: &PodCheckpoint| checkpoint.ended().unwrap().phase.clone().unwrap();
    assert_eq!((phase(first), phase(second)), ("Failed".to_owned(), "Succeeded".to_owned()));
}

#[test]
fn what_is_no_checkpoint_is_refused_and_says_why() {
    for bytes in [&b""[..], b"{", b"[]", b"\xff", b"{}"] {
        assert!(matches!(PodCheckpoint::decode(bytes), Err(CheckpointError::Malformed(_))), "{bytes:?}");
        assert!(matches!(
            OlderCheckpoints::default().add_admitted(bytes),
            Err(CheckpointError::Malformed(_))
        ));
    }
    let error = PodCheckpoint::decode(br#"{"version":2}"#).unwrap_err();
    assert_eq!(error.to_string(), "unsupported checkpoint version 2, expected 1");
}

#[test]
fn the_grace_of_an_evicted_pod_is_kept_until_it_is_admitted_again() {
    let mut checkpoint = PodCheckpoint::default();
    checkpoint.end_by_node(&PodStatus::default(), Some(7), report(1));
    let read = PodCheckpoint::decode(&checkpoint.encode()).expect("its own form");
    assert_eq!((read.grace_seconds(), read.ended()), (Some(7), Some(&PodStatus::default())));
    checkpoint.end(&PodStatus::default());
    assert_eq!(checkpoint.grace_seconds(), Some(7));
    checkpoint.admit(&Pod::default());
    assert_eq!((checkpoint.grace_seconds(), checkpoint.ended()), (None, None));
    let older = PodCheckpoint::decode(br#"{"version":1,"ended":{}}"#).expect("the form of earlier builds");
    assert_eq!((older.grace_seconds(), older.unreported()), (None, None));
}

#[test]
fn what_probes_had_found_is_kept_until_the_pod_is_admitted_again_and_left_out_before_its_images() {
    let mut checkpoint = admitted(&pod("Always", &["a"]));
    let started: StartedContainers = [("a-0".into(), true), ("b-0".into(), false)].into();
    checkpoint.set_started(started.clone());
    checkpoint.revise(&pod("Always", &["a", "b"]));
    let read = PodCheckpoint::decode(&checkpoint.encode()).expect("its own form");
    assert_eq!((&read, read.started()), (&checkpoint, &started));
    let all = checkpoint.encode().len();
    let shorter = PodCheckpoint::decode(&checkpoint.encode_within(all - 1)).expect("its own form");
    assert_eq!((shorter.started().len(), shorter.accepted()), (0, checkpoint.accepted()));
    checkpoint.admit(&pod("Always", &["a"]));
    assert_eq!(checkpoint.started().len(), 0);
}

#[test]
fn the_report_of_an_end_by_the_node_is_kept_until_it_is_made() {
    let evicted = PodStatus { reason: Some("Evicted".to_owned()), ..status(10) };
    let mut checkpoint = PodCheckpoint::default();
    checkpoint.end_by_node(&evicted, Some(1), report(1));
    let read = PodCheckpoint::decode(&checkpoint.encode()).expect("its own form");
    assert_eq!((&read, read.unreported()), (&checkpoint, Some(&report(1))));
    checkpoint.end(&evicted);
    assert_eq!(checkpoint.unreported(), Some(&report(1)), "its last status doesn't report it");
    checkpoint.end_by_node(&evicted, None, report(2));
    checkpoint.reported(&report(1));
    assert_eq!(checkpoint.unreported(), Some(&report(2)), "another end came meanwhile");
    checkpoint.reported(&report(2));
    assert_eq!(checkpoint.unreported(), None);
    checkpoint.end_by_node(&evicted, None, report(3));
    let ended_first = PodStatus { phase: Some("Succeeded".to_owned()), ..PodStatus::default() };
    checkpoint.end(&ended_first);
    assert_eq!(checkpoint.unreported(), None, "it ended by itself before");
}

#[test]
fn an_edit_of_images_and_ephemeral_containers_alone_is_known_for_one() {
    let before = pod("Always", &["a", "b"]);
    let checkpoint = PodCheckpoint::decode(&admitted(&before).encode()).unwrap();
    let edited = |change: &dyn Fn(&mut Pod)| {
        let mut pod = before.clone();
        change(&mut pod);
        let pod = Arc::new(pod);
        assert!(!checkpoint.is_edited(&pod, false), "without a sandbox nothing of it runs");
        (checkpoint.is_edited(&pod, true), checkpoint.is_remembered(&pod, true))
    };
    let debug = || serde_json::from_value(json!([{"name": "debug", "image": "debug:1"}])).unwrap();
    assert_eq!(edited(&|_| {}), (false, true));
    assert_eq!(edited(&|pod| first(pod).image = Some("newer".to_owned())), (true, false));
    assert_eq!(edited(&|pod| spec(pod).ephemeral_containers = debug()), (true, false));
    let both = |pod: &mut Pod| {
        spec(pod).ephemeral_containers = debug();
        first(pod).image = Some("newer".to_owned());
    };
    assert_eq!(edited(&both), (true, false));
    let more = |pod: &mut Pod| {
        both(pod);
        spec(pod).host_network = Some(true);
    };
    assert_eq!(edited(&more), (false, false), "what else changed is judged as a whole");
}

#[test]
fn what_an_earlier_build_saved_knows_no_images_and_what_is_saved_now_is_read_by_it() {
    let hash = admitted(&pod("Always", &["a"])).admitted.unwrap();
    let earlier =
        PodCheckpoint::decode(format!(r#"{{"version":1,"admitted":"{hash}"}}"#).as_bytes()).unwrap();
    assert!(earlier.is_remembered(&pod("Always", &["a"]), true));
    assert!(!earlier.is_whole() && admitted(&pod("Always", &["a"])).is_whole());
    assert_eq!(earlier.accepted(), None);
    let mut tolerant = pod("Always", &["a"]);
    tolerate(&mut tolerant);
    let of_tolerant = admitted(&tolerant);
    let earlier_of_tolerant = PodCheckpoint { judged: None, ..of_tolerant.clone() };
    assert!(earlier_of_tolerant.is_remembered(&tolerant, true), "an upgrade has no pod judged again");
    assert!(!earlier_of_tolerant.is_remembered(&pod("Always", &["a"]), true));
    assert_ne!(
        of_tolerant.admitted.as_ref(),
        Some(&hash),
        "earlier builds find the hash that they would save"
    );
    let mut newer = pod("Always", &["a"]);
    first(&mut newer).image = Some("newer".to_owned());
    assert!(!earlier.is_edited(&Arc::new(newer), true));
    /// As earlier builds have it.
    #[derive(Deserialize)]
    struct Earlier {
        version: u32,
        admitted: Option<String>,
    }
    let read: Earlier = serde_json::from_slice(&admitted(&pod("Always", &["a"])).encode()).unwrap();
    assert_eq!((read.version, read.admitted), (1, Some(hash)));
}
