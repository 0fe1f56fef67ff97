//! Ephemeral containers: upstream's table of pod actions with init and ephemeral containers, and rules beyond it.

use super::claims;
use crate::container::plan::tests::language;
use crate::container::plan::{ContainerKind, container_at, container_named};

const POD: &str = "Always i:one i:two a:x a:y e:debug";

#[test]
fn ephemeral_containers_start_at_any_time_and_only_once() {
    claims(&[
        ("it runs: nothing to do", POD, "ready debug=running x=running y=running two=exit0", &[]),
        ("it isn't there: it starts", POD, "ready x=running y=running two=exit0", &["start debug #0"]),
        (
            "a second one starts next to the first",
            "Always a:x e:debug e:trace",
            "ready debug=running x=running",
            &["start trace #0"],
        ),
        ("it ended: it stays ended", POD, "ready debug=exit1 x=running y=running two=exit0", &[]),
        ("it was made, and no more", POD, "ready debug=created x=running y=running", &[]),
        ("no one knows: it is left alone", POD, "ready debug=unknown x=running y=running", &[]),
        ("it starts while an init container runs", POD, "ready one=running", &["start debug #0"]),
        ("it starts next to the first init container", POD, "ready", &["start debug #0", "start one #0"]),
        (
            "it starts before app containers do",
            POD,
            "ready two=exit0",
            &["start debug #0", "start x #0", "start y #0"],
        ),
    ]);
}

#[test]
fn an_ephemeral_container_keeps_no_pod_alive() {
    claims(&[
        (
            "all else has ended",
            "Never a:x a:y e:debug",
            "ready debug=running x=exit0 y=exit1",
            &["kill pod PodEnds [debug-0] [s0]"],
        ),
        (
            "it doesn't start any more either",
            "OnFailure a:x e:debug",
            "ready x=exit0",
            &["kill pod PodEnds [] [s0]"],
        ),
        (
            "an init container failed under Never",
            "Never i:one a:x e:debug",
            "ready one=exit1",
            &["kill pod PodEnds [] [s0]"],
        ),
    ]);
}

#[test]
fn an_ephemeral_container_ends_with_its_sandbox() {
    claims(&[
        (
            "a new sandbox starts without it",
            POD,
            "dead debug=running x=running two=exit0",
            &[
                "kill pod SandboxChanged [debug-0 x-0] [s0]",
                "remove NewSandbox [two-0]",
                "sandbox 1",
                "start one #0",
            ],
        ),
        (
            "the same after a failed init container under OnFailure",
            "OnFailure i:one a:x e:debug",
            "dead one=exit137 debug=exit0",
            &["kill pod SandboxChanged [] [s0]", "remove NewSandbox [one-0]", "sandbox 1", "start one #1"],
        ),
    ]);
}

#[test]
fn containers_of_all_kinds_are_found_by_name_and_by_place() {
    let pod = language::pod("Never i:setup s:proxy a:x a:y e:debug");
    let kinds = ["setup", "proxy", "x", "y", "debug"]
        .map(|name| container_named(&pod, name).map(|found| (found.kind, found.index)));
    let expected = [
        (ContainerKind::Init, 0),
        (ContainerKind::Sidecar, 1),
        (ContainerKind::App, 0),
        (ContainerKind::App, 1),
        (ContainerKind::Ephemeral, 0),
    ];
    assert_eq!(kinds, expected.map(Some));
    for (kind, index) in expected {
        let found = container_at(&pod, kind, index).unwrap();
        assert_eq!((found.kind, found.index), (kind, index));
    }
    assert_eq!(container_named(&pod, "no-one"), None);
    assert_eq!(container_at(&pod, ContainerKind::Init, 1), None, "that one is a sidecar");
}
