//! What a handler may subscribe to.

use super::*;
use crate::worlds::remarks::WARNING_BYTES_MAX;

fn subscribed(names: &[&str]) -> Setup {
    let mut setup = Setup::default();
    for name in names {
        setup.subscribe(name);
    }
    setup
}

#[test]
fn a_handler_is_asked_about_what_it_subscribes_to() {
    let setup = subscribed(&["update", "add", "add"]);
    let asked: Vec<&str> = Operation::ALL
        .into_iter()
        .filter(|operation| setup.subscribes(*operation))
        .map(Operation::as_str)
        .collect();
    assert_eq!(asked, ["add", "update"]);
    assert_eq!(setup.fault(), None);
    let fixed = Setup::fixed(&[Operation::Add]);
    assert!(fixed.subscribes(Operation::Add) && !fixed.subscribes(Operation::Resize));
}

#[test]
fn what_is_of_no_use_is_said() {
    let cases: [(&[&str], &str); 3] = [
        (
            &[],
            "it subscribes to nothing; this host has add, resize, update, ephemeral, image-resolved, readmit, recheck",
        ),
        (
            &["add", "evict", "Add", "evict"],
            "it subscribes to \"evict\", \"Add\", which this host doesn't know; it has add, resize, update, ephemeral, image-resolved, readmit, recheck",
        ),
        (
            &["a\u{1b}[2J"],
            "it subscribes to \"a\\\\u{1b}[2J\", which this host doesn't know; it has add, resize, update, ephemeral, image-resolved, readmit, recheck",
        ),
    ];
    for (names, expected) in cases {
        assert_eq!(subscribed(names).fault().as_deref(), Some(expected));
    }
}

#[test]
fn what_is_said_is_bounded() {
    let mut setup = Setup::default();
    for number in 0..100 {
        setup.subscribe(&format!("unknown-{number}-{}", "x".repeat(1000)));
        setup.warn(&"w".repeat(2 * WARNING_BYTES_MAX));
    }
    let Warnings { kept, left_out } = &setup.warnings;
    assert_eq!((setup.unknown.len(), kept.len(), *left_out), (8, 16, 84));
    assert!(setup.fault().is_some_and(|fault| fault.len() < 1000));
}
