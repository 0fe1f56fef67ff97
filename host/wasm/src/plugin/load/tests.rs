//! Which of a component's roles are used.

use super::*;
use crate::plugin::config::Grants;
use crate::worlds::{pod_source, probe};

fn all() -> Detected {
    Detected {
        admission: admission::serving("0.1.0"),
        probe: probe::serving("0.1.0"),
        pod_source: pod_source::serving("0.1.0"),
        ..Detected::default()
    }
}

#[test]
fn only_the_roles_that_an_entry_names_are_used() {
    let (used, unused) = choose(all(), &[Role::Probe]).expect("it has it");
    assert_eq!((used.admission, used.pod_source), (None, None));
    assert!(used.probe.is_some());
    assert_eq!(unused, [Role::Admission, Role::PodSource]);
    let (used, unused) = choose(all(), &Role::ALL).expect("it has all");
    assert_eq!((used, unused), (all(), Vec::new()));
}

#[test]
fn each_role_that_is_missing_is_reported() {
    let found = Detected { admission: None, pod_source: None, ..all() };
    let reported = match choose(found, &Role::ALL) {
        Err(error) => error.sentence(),
        Ok(_) => panic!("taken"),
    };
    assert_eq!(
        reported,
        "the component can't be loaded: its entry names the role admission, but the component has only probe; \
         its entry names the role podSource, but the component has only probe"
    );
}

#[test]
fn commands_need_a_grant_only_where_there_is_a_container() {
    let (none, commands) = (Grants::default(), Grants { exec: true, ..Grants::default() });
    for (grants, role, expected) in [
        (&none, Role::Probe, false),
        (&commands, Role::Probe, true),
        (&none, Role::Admission, true),
        (&none, Role::PodSource, true),
    ] {
        assert_eq!(granted(grants, &[role]).exec, expected, "{role}, granted: {}", grants.exec);
    }
    assert!(!granted(&none, &Role::ALL).exec, "a probe type among other roles");
    assert!(!granted(&none, &[Role::Admission]).secret, "secrets are for all roles");
}
