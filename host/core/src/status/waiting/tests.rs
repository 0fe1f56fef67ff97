//! Tests of the words for waiting.

use super::*;
use crate::fixtures::{pod, spec};

#[test]
fn a_crash_loop_is_reported_in_upstreams_words() {
    for (seconds, expected) in [(10, "10s"), (60, "1m0s"), (160, "2m40s"), (300, "5m0s")] {
        let waiting = Waiting::crash_loop(&pod("Always", &["a"]), "a", Duration::from_secs(seconds));
        let message = format!("back-off {expected} restarting failed container=a pod=web_ns(uid-1)");
        assert_eq!(waiting, Waiting { reason: WaitingReason::CrashLoopBackOff, message });
    }
}

#[test]
fn a_container_to_which_nothing_happened_waits_for_itself_or_for_its_pod() {
    let mut pod = pod("Always", &["a"]);
    assert_eq!(Waiting::untouched(&pod).reason, WaitingReason::ContainerCreating);
    spec(&mut pod).init_containers = Some(vec![]);
    assert_eq!(Waiting::untouched(&pod).reason, WaitingReason::ContainerCreating);
    let init = spec(&mut pod).containers.clone();
    spec(&mut pod).init_containers = Some(init);
    assert_eq!(Waiting::untouched(&pod).reason, WaitingReason::PodInitializing);
}
