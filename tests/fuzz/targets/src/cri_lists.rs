//! What a runtime lists: `host/cri`'s sums, which tell whether a list is the one before.

use bytes::Bytes;
use prost::Message;
use witlet_cri::lists::{Entries, LastList};
use witlet_proto::cri;

use crate::mutate::Random;
use crate::{Target, check_message};

pub(crate) const TARGET: Target = Target {
    name: "cri_lists",
    run,
    words: &[
        "\x0a\x02s1",
        "\x12\x04\x0a\x02u1",
        "\x2a\x06\x0a\x01a\x12\x01b",
        "\x42\x06\x0a\x01a\x12\x01b",
        "\x30\x01",
        "\x38\x7f",
        "io.kubernetes.pod.uid",
    ],
};

/// Above this, shuffling takes longer than it shows.
const ENTRIES_MAX: usize = 200;

fn run(data: &[u8]) {
    let (middle, rest) = data.split_first().map_or((0, data), |(byte, rest)| (usize::from(*byte), rest));
    let (sandboxes, containers) = rest.split_at(rest.len() * middle / 255);
    any_bytes(sandboxes, containers);
    let (Ok(sandboxes), Ok(containers)) =
        (cri::ListPodSandboxResponse::decode(sandboxes), cri::ListContainersResponse::decode(containers))
    else {
        return;
    };
    if sandboxes.items.len() + containers.containers.len() <= ENTRIES_MAX {
        orders(&sandboxes, &containers, &mut Random::new(data.len() as u64));
    }
}

/// Whatever comes is read or refused, each time alike.
fn any_bytes(sandboxes: &[u8], containers: &[u8]) {
    let entries = |bytes: &[u8]| Entries::decode(Bytes::copy_from_slice(bytes));
    let (Ok(sandboxes), Ok(containers)) = (entries(sandboxes), entries(containers)) else { return };
    let list = LastList::default();
    match (list.pods(&sandboxes, &containers), list.pods(&sandboxes, &containers)) {
        (Ok(first), Ok(again)) => assert_eq!(first, again),
        (Err(error), Err(again)) => {
            assert_eq!(error.to_string(), again.to_string());
            check_message(&error.to_string(), 0);
        }
        (first, again) => panic!("once {first:?}, once {again:?}"),
    }
}

/// The order of entries, fields and maps is no change; anything else is one.
fn orders(
    sandboxes: &cri::ListPodSandboxResponse,
    containers: &cri::ListContainersResponse,
    random: &mut Random,
) {
    let list = LastList::default();
    let read = |sandboxes: &[cri::PodSandbox], containers: &[cri::Container], random: &mut Random| {
        let sandboxes: Vec<Vec<u8>> =
            sandboxes.iter().map(|sandbox| sandbox_in_some_order(sandbox, random)).collect();
        let containers: Vec<Vec<u8>> =
            containers.iter().map(|container| container_in_some_order(container, random)).collect();
        list.pods(&sent(sandboxes, random), &sent(containers, random)).expect("what was read is read again")
    };
    let (items, listed) = (&sandboxes.items, &containers.containers);
    let first = read(items, listed, random);
    let again = read(items, listed, random);
    assert!(std::sync::Arc::ptr_eq(&first, &again), "another order is no change");

    let mut changed = (items.clone(), listed.clone());
    let is_changed = if let Some(at) = (!changed.1.is_empty()).then(|| random.below(changed.1.len())) {
        let container = &mut changed.1[at];
        match random.below(4) {
            0 => container.state = container.state.wrapping_add(1),
            1 => container.id.push('x'),
            2 => drop(container.labels.insert(format!("{:x}", random.any()), String::new())),
            _ => drop(changed.1.remove(at)),
        }
        true
    } else if let Some(sandbox) = changed.0.first_mut() {
        sandbox.created_at = sandbox.created_at.wrapping_add(1);
        true
    } else {
        false
    };
    if is_changed {
        let other = read(&changed.0, &changed.1, random);
        assert!(!std::sync::Arc::ptr_eq(&first, &other), "a change was missed: {changed:?}");
    }
}

fn shuffled<T>(mut all: Vec<T>, random: &mut Random) -> Vec<T> {
    for last in (1..all.len()).rev() {
        all.swap(last, random.below(last + 1));
    }
    all
}

/// As a runtime sends a list of these entries.
fn sent(entries: Vec<Vec<u8>>, random: &mut Random) -> Entries {
    let mut bytes = Vec::new();
    for entry in shuffled(entries, random) {
        prost::encoding::encode_key(1, prost::encoding::WireType::LengthDelimited, &mut bytes);
        prost::encoding::encode_varint(entry.len() as u64, &mut bytes);
        bytes.extend(entry);
    }
    Entries::decode(Bytes::from(bytes)).expect("entries are a list")
}

/// A message with its maps taken apart: parts that follow each other are one message.
fn sandbox_in_some_order(sandbox: &cri::PodSandbox, random: &mut Random) -> Vec<u8> {
    let mut rest = sandbox.clone();
    let (labels, annotations) = (std::mem::take(&mut rest.labels), std::mem::take(&mut rest.annotations));
    let labels =
        labels.into_iter().map(|label| cri::PodSandbox { labels: [label].into(), ..Default::default() });
    let annotations = annotations
        .into_iter()
        .map(|note| cri::PodSandbox { annotations: [note].into(), ..Default::default() });
    let parts = [rest].into_iter().chain(labels).chain(annotations).collect();
    shuffled(parts, random).iter().flat_map(Message::encode_to_vec).collect()
}

fn container_in_some_order(container: &cri::Container, random: &mut Random) -> Vec<u8> {
    let mut rest = container.clone();
    let (labels, annotations) = (std::mem::take(&mut rest.labels), std::mem::take(&mut rest.annotations));
    let labels =
        labels.into_iter().map(|label| cri::Container { labels: [label].into(), ..Default::default() });
    let annotations = annotations
        .into_iter()
        .map(|note| cri::Container { annotations: [note].into(), ..Default::default() });
    let parts = [rest].into_iter().chain(labels).chain(annotations).collect();
    shuffled(parts, random).iter().flat_map(Message::encode_to_vec).collect()
}
