//! Tables of the runtime's health.

use witlet_core::runtime::RuntimeCondition;

use super::*;

const MAX: Duration = Duration::from_secs(180);

fn status(runtime: bool, network: bool) -> Result<RuntimeStatus, String> {
    let condition = |kind: &str, status| RuntimeCondition {
        kind: kind.into(),
        status,
        reason: "R".into(),
        message: "m".into(),
    };
    let conditions = vec![condition("RuntimeReady", runtime), condition("NetworkReady", network)];
    Ok(RuntimeStatus { conditions, ..RuntimeStatus::default() })
}

#[test]
fn the_runtime_is_well_if_it_says_so_and_is_listed_often_enough() {
    let fresh = Some(Duration::from_secs(1));
    let cases = [
        (status(true, true), fresh, vec![], None),
        (status(true, true), Some(MAX), vec![], None),
        (status(true, false), fresh, vec![], Some("NetworkReady=false reason:R message:m")),
        (
            status(false, true),
            fresh,
            vec!["container runtime not ready: RuntimeReady=false reason:R message:m"],
            None,
        ),
        (Err("no answer".to_owned()), fresh, vec!["container runtime is down: no answer"], None),
        (status(true, true), None, vec!["PLEG is not healthy: pleg has yet to be successful"], None),
        (
            status(true, true),
            Some(Duration::from_secs(181)),
            vec!["PLEG is not healthy: pleg was last seen active 181s ago; threshold is 180s"],
            None,
        ),
        (
            Ok(RuntimeStatus::default()),
            fresh,
            vec!["container runtime not ready: RuntimeReady: the runtime doesn't report it"],
            Some("NetworkReady: the runtime doesn't report it"),
        ),
    ];
    for (status, age, errors, network) in cases {
        let health = assess(&"fake".into(), status.clone(), age, MAX);
        assert_eq!(health.errors, errors, "{status:?} {age:?}");
        assert_eq!(health.network.as_deref(), network, "{status:?} {age:?}");
        assert_eq!(health.is_ready(), errors.is_empty());
    }
}

#[test]
fn a_missing_network_is_a_problem_of_the_node() {
    let health = |errors: &[&str], network: Option<&str>| Health {
        errors: errors.iter().map(|error| (*error).to_owned()).collect(),
        network: network.map(str::to_owned),
        ..Health::unknown()
    };
    let network = "container runtime network not ready: n";
    assert_eq!(health(&["a"], None).problems(), ["a"]);
    assert_eq!(health(&[], Some("n")).problems(), [network]);
    assert_eq!(health(&["a"], Some("n")).problems(), ["a", network]);
}
