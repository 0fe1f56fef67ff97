//! Ranges of ids: no one shares one, and what is kept over a restart.

use proptest::prelude::*;

use super::*;
use crate::fixtures::{pod, spec};

fn uid(number: usize) -> PodUid {
    PodUid::from(format!("uid-{number}"))
}

fn first_id(namespace: &UserNamespace) -> u32 {
    namespace.uids[0].host_id
}

#[test]
fn only_a_pod_that_says_so_has_ids_of_its_own() {
    let mut pod = pod("Always", &["a"]);
    assert!(!wants_own(&pod));
    spec(&mut pod).host_users = Some(true);
    assert!(!wants_own(&pod));
    spec(&mut pod).host_users = Some(false);
    assert!(wants_own(&pod));
}

#[test]
fn a_pod_has_65536_ids_from_0_and_keeps_them() {
    let mut ranges = UserNamespaces::default();
    let ids = ranges.allocate(&uid(1)).unwrap();
    let mapping = IdMapping { host_id: 65_536, container_id: 0, length: 65_536 };
    assert_eq!(ids, UserNamespace { uids: vec![mapping], gids: vec![mapping] });
    assert_eq!(first_id(&ranges.allocate(&uid(2)).unwrap()), 131_072);
    assert_eq!(ranges.allocate(&uid(1)).unwrap(), ids);
    assert_eq!(ranges.of(&uid(3)), None);
}

#[test]
fn a_range_that_was_given_up_is_given_again() {
    let mut ranges = UserNamespaces::default();
    for number in 0..3 {
        ranges.allocate(&uid(number)).unwrap();
    }
    ranges.retain(|kept| *kept != uid(1));
    assert_eq!(ranges.of(&uid(1)), None);
    assert_eq!(first_id(&ranges.allocate(&uid(9)).unwrap()), 2 * 65_536);
}

#[test]
fn when_all_are_taken_no_one_gets_anothers() {
    let mut ranges = UserNamespaces::default();
    for number in 0..PODS_MAX as usize {
        ranges.allocate(&uid(number)).unwrap();
    }
    assert_eq!(ranges.allocate(&uid(5000)), Err(UserNamespaceError::NoneFree));
    assert!(ranges.allocate(&uid(7)).is_ok(), "who has ids keeps them");
}

#[test]
fn what_is_read_back_is_checked() {
    let json = r#"{"a":65536,"b":131072}"#;
    let ranges: UserNamespaces = serde_json::from_str(json).unwrap();
    assert_eq!(ranges.clone().within(IdRange::default()), Ok(ranges.clone()));
    assert_eq!(serde_json::to_string(&ranges).unwrap(), json);
    for bad in [r#"{"a":0}"#, r#"{"a":65537}"#] {
        let ranges: UserNamespaces = serde_json::from_str(bad).unwrap();
        assert!(ranges.within(IdRange::default()).is_err(), "{bad}");
    }
    let twice: UserNamespaces = serde_json::from_str(r#"{"a":65536,"b":65536}"#).unwrap();
    assert_eq!(twice.within(IdRange::default()), Err(UserNamespaceError::BadRange { first_id: 65_536 }));
    let mut ranges = ranges;
    assert!(ranges.restore(&PodUid::from("a"), 65_536).is_ok());
    assert!(ranges.restore(&PodUid::from("a"), 196_608).is_err(), "a pod doesn't change its ids");
}

proptest! {
    #[test]
    fn no_two_pods_share_an_id(steps in prop::collection::vec((0_usize..20, any::<bool>()), 0..100)) {
        let mut ranges = UserNamespaces::default();
        for (number, keep) in steps {
            if keep { ranges.allocate(&uid(number)).unwrap(); } else { ranges.retain(|pod| *pod != uid(number)); }
            prop_assert_eq!(ranges.clone().within(IdRange::default()), Ok(ranges.clone()));
        }
    }
}

#[test]
fn the_kubelets_file_of_a_pod_is_read_back_and_a_bad_one_is_an_error() {
    let (mut ours, mut theirs) = (UserNamespaces::default(), UserNamespaces::default());
    let ids = ours.allocate(&PodUid::from("a")).unwrap();
    let file = to_file(&ids);
    let text = r#"{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[{"hostId":65536,"containerId":0,"length":65536}]}"#;
    assert_eq!(String::from_utf8(file.clone()).unwrap(), text);
    theirs.restore_from_file(&PodUid::from("a"), &file).unwrap();
    assert_eq!(theirs, ours);
    // A kubelet gives out ids up to the last.
    let far = text.replace("65536,\"containerId\"", "4294901760,\"containerId\"");
    theirs.restore_from_file(&PodUid::from("b"), far.as_bytes()).unwrap();
    let one = text.replacen("65536,\"containerId\"", "131072,\"containerId\"", 1);
    for (content, why) in [
        ("{", "invalid user namespace mappings file"),
        (r#"{"uidMappings":[],"gidMappings":[]}"#, "no more than one mapping allowed"),
        (&one, "GID and UID mapping should be identical"),
        (&text.replace("\"containerId\":0", "\"containerId\":1"), "UID 0 must be mapped"),
        (&text.replace("\"length\":65536", "\"length\":1"), "wrong user namespace length"),
        (&text.replace("65536,\"containerId\"", "65537,\"containerId\""), "IDs from 65537"),
        (text, "IDs from 65536"),
    ] {
        let error = theirs.restore_from_file(&PodUid::from("c"), content.as_bytes()).unwrap_err();
        assert!(error.to_string().contains(why), "{content}: {error}");
    }
}

#[test]
fn ids_that_were_delegated_to_the_kubelet_are_taken_or_refused_with_the_reason() {
    let delegated = |line: &str, pods_max| IdRange::delegated(line, line, pods_max);
    let range = delegated("0: kubelet 131072 7208960\n", 110).unwrap();
    let mut pods = UserNamespaces::of_range(range);
    assert_eq!(first_id(&pods.allocate(&uid(1)).unwrap()), 131_072);
    assert!(pods.restore(&uid(2), 65_536).is_err(), "below what was delegated");
    assert!(pods.restore(&uid(2), 131_072 + 110 * 65_536).is_err(), "above what was delegated");
    assert!(pods.restore(&uid(2), 131_072 + 109 * 65_536).is_ok());
    for (line, error) in [
        ("", "invalid line"),
        ("0: kubelet 131072", "invalid line"),
        ("0: kubelet 131072 -1", "invalid line"),
        ("0: kubelet 4294967296 7208960", "invalid line"),
        ("0: kubelet 131072 65536\n1: kubelet 262144 65536\n", "it must contain only one line"),
        ("0: kubelet 131073 7208960", "assigned ID 131073 is not a multiple of 65536"),
        ("0: kubelet 0 7208960", "assigned ID 0 must be greater or equal to 65536"),
        ("0: kubelet 131072 7208961", "assigned IDs length 7208961 is not a multiple of 65536"),
        ("0: kubelet 131072 7143424", "assigned IDs are not enough to support 110 pods"),
        ("0: kubelet 4294901760 7208960", "end above the last ID"),
    ] {
        let refused = delegated(line, 110).unwrap_err().to_string();
        assert!(refused.contains(error), "{line:?}: {refused}");
    }
    assert!(delegated("0: kubelet 4287758336 7208960", 110).is_ok(), "up to the last");
    let mismatch = IdRange::delegated("0: kubelet 131072 7208960", "0: kubelet 65536 7208960", 110);
    assert_eq!(mismatch, Err(IdRangeError::Mismatch));
}

#[test]
fn no_more_pods_have_ids_than_were_delegated() {
    let range = IdRange::delegated("0: kubelet 65536 131072", "0: kubelet 65536 131072", 2).unwrap();
    let mut pods = UserNamespaces::of_range(range);
    assert!(pods.allocate(&uid(1)).is_ok() && pods.allocate(&uid(2)).is_ok());
    assert_eq!(pods.allocate(&uid(3)), Err(UserNamespaceError::NoneFree));
}
