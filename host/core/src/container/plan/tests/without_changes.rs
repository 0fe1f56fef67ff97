//! What is done for a running pod whose spec hasn't been admitted yet.

use super::*;

#[test]
fn a_pod_that_goes_on_without_changes_gets_nothing_of_a_spec_that_was_not_admitted() {
    let was = pod("Always", &THREE);
    let without_changes =
        |pod: &Pod, seen: &ObservedPod| render(&plan_of(pod, seen, &[]).without_changes(pod, seen));
    let mut edited = was.clone();
    spec(&mut edited).containers[1].image = Some("newer".to_owned());
    let all = in_sandbox(all_running(&was));
    assert!(without_changes(&edited, &all).is_empty());
    // What ended is started again, unless it would be another one now.
    let mut seen = all.clone();
    for index in [0, 1] {
        seen.containers[index] = exited(&was, THREE[index], 1);
    }
    assert_eq!(without_changes(&edited, &seen), ["start a #1"]);
    // A container that is new, or that the spec has no more, waits.
    let more = pod("Always", &["a", "b", "new"]);
    assert!(without_changes(&more, &all).is_empty());
    // Another network asks for another sandbox, and a lost one for nothing else than the same again.
    let mut on_host = was.clone();
    spec(&mut on_host).host_network = Some(true);
    assert!(without_changes(&on_host, &all).is_empty());
    let lost = in_dead_sandbox(THREE.iter().map(|name| exited(&was, name, 137)).collect());
    let again = ["sandbox 1", "start a #1", "start c #1"];
    let steps = without_changes(&edited, &lost);
    assert_eq!(steps[steps.len() - 3..], again, "{steps:?}");
}
