//! Lists that say what the ones before said, and those that don't.

use std::collections::BTreeMap;

use proptest::prelude::*;
use witlet_core::runtime::labels;
use witlet_proto::cri;

use super::*;

fn sandbox(number: u32, state: i32) -> cri::PodSandbox {
    cri::PodSandbox {
        id: format!("s{number}"),
        metadata: Some(cri::PodSandboxMetadata { attempt: 1, ..Default::default() }),
        state,
        created_at: 5,
        labels: BTreeMap::from([
            (labels::POD_UID.to_owned(), format!("u{number}")),
            (labels::POD_NAME.to_owned(), "web".to_owned()),
            (labels::POD_NAMESPACE.to_owned(), "default".to_owned()),
        ]),
        ..Default::default()
    }
}

fn container(number: u32) -> cri::Container {
    let labels = BTreeMap::from([(labels::POD_UID.to_owned(), format!("u{number}"))]);
    cri::Container { id: format!("c{number}"), state: 1, labels, ..Default::default() }
}

fn entries<T: Message>(messages: &[T]) -> Entries {
    Entries { entries: messages.iter().map(|message| message.encode_to_vec().into()).collect() }
}

/// As a runtime sends it, and as it is taken.
fn sent(message: &impl Message) -> Entries {
    Entries::decode(Bytes::from(message.encode_to_vec())).expect("both are the same on the wire")
}

#[test]
fn the_answers_of_both_calls_are_read_whole() {
    let items = vec![sandbox(1, 0), sandbox(2, 1)];
    let read = sent(&cri::ListPodSandboxResponse { items: items.clone() });
    assert_eq!(read.read::<cri::PodSandbox>("ListPodSandbox").expect("they make sense"), items);
    let containers = vec![container(1), container(2)];
    let read = sent(&cri::ListContainersResponse { containers: containers.clone() });
    assert_eq!(read.read::<cri::Container>("ListContainers").expect("they make sense"), containers);
}

#[test]
fn pods_are_the_same_ones_until_something_changes() {
    let list = LastList::default();
    let (both, containers) = ([sandbox(1, 0), sandbox(2, 0)], [container(1), container(2)]);
    let first = list.pods(&entries(&both), &entries(&containers)).expect("they make sense");
    assert_eq!(first.len(), 2);
    let turned = [both[1].clone(), both[0].clone()];
    let again = list.pods(&entries(&turned), &entries(&containers)).expect("they make sense");
    assert!(Arc::ptr_eq(&first, &again), "another order is no change");

    let changes = [
        (vec![sandbox(1, 1), sandbox(2, 0)], containers.to_vec()),
        (vec![sandbox(1, 0)], containers.to_vec()),
        (both.to_vec(), vec![container(1)]),
        (both.to_vec(), vec![container(1), container(2), container(3)]),
        // What was a sandbox twice isn't what was there once.
        (vec![sandbox(1, 0), sandbox(1, 0), sandbox(2, 0)], containers.to_vec()),
        (Vec::new(), Vec::new()),
    ];
    for (sandboxes, containers) in changes {
        let before =
            list.pods(&entries(&both), &entries(&[container(1), container(2)])).expect("they make sense");
        let after = list.pods(&entries(&sandboxes), &entries(&containers)).expect("they make sense");
        assert!(!Arc::ptr_eq(&before, &after), "{sandboxes:?} {containers:?}");
        assert_eq!(*after, convert::group_by_pod(sandboxes, containers));
    }
}

/// Go writes the entries of a map in another order each time.
#[test]
fn the_order_of_labels_is_no_change() {
    let keys = RandomState::new();
    let labels = [(labels::POD_UID, "u1"), (labels::POD_NAME, "web"), ("app", "web")];
    let message = |order: [usize; 3]| {
        let mut bytes = cri::Container { id: "c1".to_owned(), ..Default::default() }.encode_to_vec();
        for index in order {
            let (key, value) = labels[index];
            let labels = BTreeMap::from([(key.to_owned(), value.to_owned())]);
            bytes.extend(cri::Container { labels, ..Default::default() }.encode_to_vec());
        }
        bytes
    };
    let sum = |bytes: &[u8]| fields_sum(bytes, &keys).expect("it makes sense");
    assert_eq!(sum(&message([0, 1, 2])), sum(&message([2, 0, 1])));
    assert_ne!(sum(&message([0, 1, 2])), sum(&message([0, 1, 1])));
}

#[test]
fn entries_that_make_no_sense_are_an_error_each_time() {
    let list = LastList::default();
    let broken = Entries { entries: vec![Bytes::from_static(&[0x0a, 0x7f])] };
    for _ in 0..2 {
        let error = list.pods(&entries::<cri::PodSandbox>(&[]), &broken).expect_err("an entry is cut off");
        assert!(matches!(&error, RuntimeError::Malformed { call: "ListContainers", .. }), "{error}");
    }
    let pods = list.pods(&entries(&[sandbox(1, 0)]), &entries(&[container(1)])).expect("they make sense");
    assert_eq!(pods.len(), 1);
}

proptest! {
    #[test]
    fn any_bytes_have_a_sum_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        // Reading anything must neither panic nor hang.
        let keys = RandomState::new();
        prop_assert_eq!(fields_sum(&bytes, &keys).ok(), fields_sum(&bytes, &keys).ok());
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_listed_a_moment_ago_is_good_enough_for_some() {
    let second = Duration::from_secs(1);
    let recent = RecentPods::default();
    assert_eq!(recent.within(second), None, "nothing was listed");
    let pods = |uid: &str| {
        let pod = RuntimePod {
            uid: uid.into(),
            name: uid.to_owned(),
            namespace: "ns".to_owned(),
            sandboxes: Vec::new(),
            containers: Vec::new(),
        };
        Arc::new(vec![pod])
    };
    let begun = Instant::now();
    recent.keep(begun, pods("first"));
    tokio::time::advance(second / 2).await;
    assert_eq!(recent.within(second), Some(pods("first")));
    recent.keep(Instant::now(), pods("second"));
    recent.keep(begun, pods("a slower list"));
    tokio::time::advance(second * 3 / 4).await;
    assert_eq!(recent.within(second), Some(pods("second")), "the one that began last");
    tokio::time::advance(second / 4).await;
    assert_eq!(recent.within(second), None, "it is a second old");
}
