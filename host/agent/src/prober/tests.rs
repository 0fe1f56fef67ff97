//! The manager on probe types by script and paused time.

mod annotations;
mod bench;
mod reports;
mod series;

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Probe};
use tokio::time::sleep;

use super::shared::PROBES_OF_POD_AT_ONCE_MAX;
use super::*;
use ProbeKind::{Liveness, Readiness, Startup};
use ProbeResult::{Failure, Success};
use bench::*;
use witlet_core::probe::ProbeResult;
use witlet_core::runtime::ContainerId;
use witlet_ports::Clock;

#[tokio::test(start_paused = true)]
async fn a_probe_begins_at_once_and_goes_on_each_period() {
    let mut bench = Bench::settled().await;
    let web = web();
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.add(&web);
    sleep(Duration::from_millis(3_500)).await;
    assert_eq!(bench.times("ready"), [0, 1_000, 2_000, 3_000]);
    assert_eq!(bench.result(&web, "a1", Readiness), Some(Success));
    assert_eq!(
        bench.updates(),
        [
            ("a1".to_owned(), Readiness, Failure),
            ("a1".to_owned(), Liveness, Success),
            ("a1".to_owned(), Readiness, Success),
        ],
        "only what changes is reported"
    );
    assert_eq!(bench.world.events(), [""; 0]);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn probes_of_a_new_agent_begin_after_a_part_of_their_period() {
    let bench = Bench::new(Duration::ZERO).await;
    let web = web();
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.add(&web);
    sleep(Duration::from_millis(2_900)).await;
    assert_eq!(bench.world.times("ready"), [500, 1_500, 2_500]);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_outlasts_its_period_is_followed_by_the_next_at_once() {
    let bench = Bench::settled().await;
    let web = web();
    bench.world.script("ready", Script::Takes(Duration::from_millis(1_300)));
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.add(&web);
    sleep(Duration::from_millis(4_500)).await;
    // Ticks that passed meanwhile are made up for once, not one by one.
    assert_eq!(bench.times("ready"), [0, 1_300, 2_600, 3_900]);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_container_without_status_is_waited_for() {
    let bench = Bench::settled().await;
    let web = web();
    bench.add(&web);
    seconds(3).await;
    assert_eq!((bench.times("ready").len(), bench.prober.results(&PodUid::of(&web)).len()), (0, 0));
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    seconds(1).await;
    assert_eq!(bench.times("ready").len(), 1);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn startup_gates_the_other_probes_and_ends_once_it_passed() {
    let mut bench = Bench::settled().await;
    let mut web = web();
    let spec = &mut web.spec.as_mut().unwrap().containers[0];
    spec.startup_probe = probe("start").map(|probe| Probe { failure_threshold: Some(3), ..probe });
    bench.world.script("start", Script::Fails);
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), false)]));
    bench.add(&web);
    sleep(Duration::from_millis(1_500)).await;
    bench.world.script("start", Script::Passes);
    seconds(1).await;
    assert_eq!((bench.times("start").len(), bench.times("ready").len()), (3, 0));
    assert!(bench.updates().contains(&("a1".to_owned(), Startup, Success)));
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    seconds(2).await;
    assert_eq!((bench.times("start").len(), bench.times("ready").len()), (3, 2));
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_container_is_notified_of_once_and_left_alone_until_it_is_another() {
    let mut bench = Bench::settled().await;
    let web = web();
    bench.world.script("live", Script::Fails);
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.add(&web);
    seconds(5).await;
    assert_eq!(bench.times("live").len(), 1);
    let failed = ("a1".to_owned(), Liveness, Failure);
    assert_eq!(bench.updates().iter().filter(|updates| **updates == failed).count(), 1);

    bench.world.script("live", Script::Passes);
    bench.world.set_status(&web, status(vec![runs("a", "a2", bench.world.now(), true)]));
    seconds(1).await;
    assert_eq!(bench.result(&web, "a2", Liveness), Some(Success));
    assert_eq!(bench.prober.results(&PodUid::of(&web)).len(), 1, "nothing is kept of the old instance");
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn events_say_what_went_wrong_in_upstreams_words() {
    let bench = Bench::settled().await;
    let containers = [("fails", Script::Fails), ("warns", Script::Warns), ("errs", Script::Errs)];
    let specs = containers.iter().map(|(name, script)| {
        bench.world.script(name, script.clone());
        Container { liveness_probe: probe(name), ..container(name) }
    });
    let mut pod = pod("u1", specs.collect());
    let no_port = Probe { exec: None, ..probe("").unwrap() };
    pod.spec.as_mut().unwrap().containers[0].readiness_probe = Some(no_port);
    let now = bench.world.now();
    let statuses = containers.iter().map(|(name, _)| runs(name, name, now, true));
    bench.world.set_status(&pod, status(statuses.collect()));
    bench.add(&pod);
    settle().await;
    let mut events = bench.world.events();
    events.sort();
    assert_eq!(
        events,
        [
            "Warning ProbeWarning: Liveness probe warning: moved".to_owned(),
            "Warning Unhealthy: Liveness probe errored and resulted in unknown state: no such container"
                .to_owned(),
            format!("Warning Unhealthy: Liveness probe failed: {}", "x".repeat(10 * 1024)),
            "Warning Unhealthy: Readiness probe errored and resulted in unknown state: missing handler"
                .to_owned(),
        ]
    );
    let results = ["fails", "warns", "errs"].map(|name| bench.result(&pod, name, Liveness));
    assert_eq!(results, [Some(Failure), Some(Success), Some(Success)], "an error changes nothing");
    assert_eq!(bench.world.times("errs").len(), 3, "what could not be carried out is tried three times");
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_changes_nothing_and_ends_nothing() {
    let bench = Bench::settled().await;
    let web = web();
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.add(&web);
    settle().await;
    bench.world.script("ready", Script::Panics);
    seconds(2).await;
    assert_eq!(bench.result(&web, "a1", Readiness), Some(Success));
    bench.world.script("ready", Script::Fails);
    seconds(1).await;
    assert_eq!(bench.result(&web, "a1", Readiness), Some(Failure));
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_never_ends_is_cut_off_and_holds_up_no_other() {
    let bench = Bench::settled().await;
    let web = web();
    bench.world.script("ready", Script::Takes(Duration::from_secs(1_000_000)));
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.add(&web);
    sleep(Duration::from_millis(4_500)).await;
    // Its limit is a second, and one more is for the type of probe to keep the limit itself.
    assert_eq!(bench.times("ready"), [0, 2_000, 4_000]);
    assert_eq!(bench.times("live").len(), 5);
    assert_eq!(bench.world.events()[0], "Warning Unhealthy: Readiness probe failed: no answer within 1s");
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn changes_that_no_one_takes_hold_up_nothing_and_the_newest_is_reported() {
    let mut bench = Bench::settled().await;
    let pods: Vec<Pod> = (0..30)
        .map(|n| {
            let name = format!("ready-{n}");
            bench.world.script(&name, Script::Passes);
            pod(&format!("u{n}"), vec![Container { readiness_probe: probe(&name), ..container("a") }])
        })
        .collect();
    for (n, pod) in pods.iter().enumerate() {
        bench.world.set_status(pod, status(vec![runs("a", &format!("a{n}"), bench.world.now(), true)]));
        bench.add(pod);
    }
    for round in 0..3 {
        for n in 0..30 {
            bench
                .world
                .script(&format!("ready-{n}"), if round % 2 == 0 { Script::Fails } else { Script::Passes });
        }
        seconds(1).await;
    }
    assert!(bench.times("ready-29").len() >= 3, "probes go on though no one listens");
    let mut newest = HashMap::new();
    while newest.len() < 30 || !bench.updates.is_empty() {
        let update = bench.updates.recv().await.expect("the manager runs");
        newest.insert(update.container, update.result);
    }
    settle().await;
    for (container, _, result) in bench.updates() {
        newest.insert(container.as_str().into(), result);
    }
    for (n, pod) in pods.iter().enumerate() {
        let id = ContainerId::from(format!("a{n}"));
        assert_eq!(
            newest.get(&id).copied(),
            bench.result(pod, id.as_str(), Readiness),
            "what was reported last holds"
        );
    }
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn changes_of_instances_that_are_gone_arent_kept() {
    let mut bench = Bench::settled().await;
    let web = web();
    bench.add(&web);
    for n in 0..50 {
        bench.world.set_status(&web, status(vec![runs("a", &format!("a{n}"), bench.world.now(), true)]));
        seconds(1).await;
    }
    let mut updates = bench.updates();
    assert_eq!(updates.len(), 20, "as many as the channel holds");
    updates.clear();
    settle().await;
    updates.extend(bench.updates());
    assert!(updates.iter().all(|(container, _, _)| container == "a49"), "{updates:?}");
    assert!(!updates.is_empty());
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn pods_have_the_probes_that_their_spec_has_now() {
    let bench = Bench::settled().await;
    let mut pod =
        pod("u1", vec![container("none"), Container { liveness_probe: probe("live"), ..container("a") }]);
    let init = Container { readiness_probe: probe("init"), ..container("init") };
    let sidecar = Container {
        restart_policy: Some("Always".to_owned()),
        readiness_probe: probe("ready"),
        startup_probe: probe("start"),
        ..container("sidecar")
    };
    pod.spec.as_mut().unwrap().init_containers = Some(vec![init, sidecar]);
    bench.add(&pod);
    assert_eq!(bench.probes(), 3, "an init container that isn't a sidecar has none");
    bench.add(&pod);
    settle().await;
    bench.add(&pod);
    assert_eq!(bench.probes(), 3, "a pod is added once");

    pod.spec.as_mut().unwrap().init_containers = None;
    pod.spec.as_mut().unwrap().containers[0].readiness_probe = probe("ready");
    bench.add(&pod);
    assert_eq!(bench.probes(), 2);
    bench.prober.remove_pod(&PodUid::of(&pod));
    bench.prober.remove_pod(&PodUid::of(&pod));
    assert_eq!(bench.probes(), 0);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_ends_is_only_probed_for_readiness() {
    let bench = Bench::settled().await;
    let mut web = web();
    web.spec.as_mut().unwrap().containers[0].startup_probe = probe("start");
    bench.world.script("live", Script::Takes(Duration::from_secs(5)));
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.add(&web);
    settle().await;
    bench.prober.stop_liveness_and_startup(&PodUid::of(&web));
    bench.add(&web);
    bench.world.script("ready", Script::Fails);
    seconds(3).await;
    assert_eq!(bench.times("ready").len(), 4);
    assert_eq!(bench.times("live").len(), 1, "the one that ran was dropped");
    let results = ProbeKind::ALL.map(|kind| bench.result(&web, "a1", kind));
    assert_eq!(results, [Some(Success), Some(Failure), Some(Success)]);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_removed_pod_leaves_nothing_and_its_uid_can_come_back() {
    let bench = Bench::settled().await;
    let web = web();
    let uid = PodUid::of(&web);
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.world.script("ready", Script::Takes(Duration::from_millis(500)));
    bench.add(&web);
    settle().await;
    assert_eq!(bench.world.running.load(Ordering::Relaxed), 1);
    bench.prober.stop_liveness_and_startup(&uid);
    bench.prober.remove_pod(&uid);
    settle().await;
    assert_eq!(bench.world.running.load(Ordering::Relaxed), 0, "the one that ran was dropped");
    seconds(3).await;
    assert_eq!(bench.times("ready").len(), 1);
    assert_eq!((bench.prober.results(&uid).len(), bench.prober.shared.lock().first_due()), (0, None));
    bench.add(&web);
    seconds(1).await;
    assert_eq!(bench.result(&web, "a1", Liveness), Some(Success));
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn pods_that_no_one_knows_are_cleaned_up() {
    let bench = Bench::settled().await;
    for uid in ["u1", "u2", "u3"] {
        bench.add(&pod(uid, vec![Container { liveness_probe: probe("live"), ..container("a") }]));
    }
    let known = BTreeSet::from([PodUid::from("u2")]);
    for _ in 0..10 {
        bench.prober.clean_up(|uid| known.contains(uid));
        assert_eq!(bench.probes(), 1);
    }
    bench.prober.clean_up(|_| false);
    assert_eq!(bench.probes(), 0);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn readiness_is_probed_out_of_turn_on_demand() {
    let bench = Bench::settled().await;
    let mut web = web();
    let slow = probe("ready").map(|probe| Probe { period_seconds: Some(60), ..probe });
    web.spec.as_mut().unwrap().containers[0].readiness_probe = slow;
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    let uid = PodUid::of(&web);
    bench.prober.probe_readiness_now(&uid, "a");
    bench.add(&web);
    settle().await;
    seconds(10).await;
    bench.prober.probe_readiness_now(&uid, "a");
    bench.prober.probe_readiness_now(&uid, "a");
    bench.prober.probe_readiness_now(&uid, "other");
    sleep(Duration::from_secs(60)).await;
    let times: Vec<u128> = bench.times("ready").into_iter().map(|at| at / 1_000).collect();
    assert_eq!(times, [0, 10, 60], "its turns stay where they were");

    // What is asked for while a probe runs comes after it.
    bench.world.script("ready", Script::Takes(Duration::from_millis(1_500)));
    bench.prober.probe_readiness_now(&uid, "a");
    sleep(Duration::from_millis(500)).await;
    bench.prober.probe_readiness_now(&uid, "a");
    seconds(2).await;
    assert_eq!(bench.times("ready").len(), 5);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_ended_with_its_container_begins_again_with_the_next_instance() {
    let mut bench = Bench::settled().await;
    let mut web = web();
    web.spec.as_mut().unwrap().restart_policy = Some("Never".to_owned());
    bench.world.set_status(&web, status(vec![ended("a", "a1")]));
    bench.add(&web);
    settle().await;
    assert_eq!(
        bench.updates(),
        [("a1".to_owned(), Readiness, Failure), ("a1".to_owned(), Liveness, Failure),]
    );
    for _ in 0..3 {
        bench.add(&web);
        seconds(1).await;
    }
    assert_eq!(bench.updates(), [], "the same instance is reported once");
    assert_eq!(bench.prober.shared.lock().first_due(), None, "nothing is checked any more");

    // Its definition changed: it was made again all the same.
    bench.world.set_status(&web, status(vec![runs("a", "a2", bench.world.now(), true)]));
    bench.add(&web);
    settle().await;
    assert_eq!(bench.result(&web, "a2", Readiness), Some(Success));
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_agent_found_stands_until_a_probe_says_otherwise() {
    let bench = Bench::new(Duration::ZERO).await;
    let mut web = web();
    let spec = &mut web.spec.as_mut().unwrap().containers[0];
    spec.readiness_probe = probe("ready").map(|probe| Probe { failure_threshold: Some(2), ..probe });
    bench.world.script("ready", Script::Fails);
    let long_ago = bench.world.now() - SignedDuration::from_secs(60);
    bench.world.set_status(&web, status(vec![runs("a", "a1", long_ago, true)]));
    bench.add(&web);
    sleep(Duration::from_millis(1_000)).await;
    assert_eq!(bench.world.times("ready").len(), 1);
    assert_eq!(bench.result(&web, "a1", Readiness), None, "one failure of two");
    seconds(1).await;
    assert_eq!(bench.result(&web, "a1", Readiness), Some(Failure));
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn only_so_many_probes_run_at_the_same_time() {
    let bench = Bench::settled().await;
    let world = &bench.world;
    let containers = |pod: usize| {
        (0..20).map(move |n| {
            let name = format!("live-{pod}-{n}");
            world.script(&name, Script::Takes(Duration::from_millis(900)));
            Container { liveness_probe: probe(&name), ..container(&format!("c{n}")) }
        })
    };
    let pods: Vec<Pod> = (0..75).map(|n| pod(&format!("u{n}"), containers(n).collect())).collect();
    for pod in &pods {
        let now = bench.world.now();
        let statuses = (0..20).map(|n| runs(&format!("c{n}"), &format!("i{n}"), now, true));
        bench.world.set_status(pod, status(statuses.collect()));
        bench.add(pod);
    }
    sleep(Duration::from_millis(1_850)).await;
    assert_eq!(bench.world.most_running.load(Ordering::Relaxed), PROBES_AT_ONCE_MAX);
    let probed: BTreeSet<String> =
        bench.world.log.lock().unwrap().iter().map(|(_, name)| name.clone()).collect();
    assert_eq!(probed.len(), 1_500, "those that didn't fit had their turn");
    assert_eq!(bench.result(&pods[74], "i19", Liveness), Some(Success));
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_probes_hang_holds_up_its_own_only() {
    let bench = Bench::settled().await;
    let count = 2 * PROBES_AT_ONCE_MAX;
    let stuck = (0..count).map(|n| {
        bench.world.script(&format!("stuck-{n}"), Script::Takes(Duration::from_secs(100_000)));
        let slow =
            probe(&format!("stuck-{n}")).map(|probe| Probe { timeout_seconds: Some(200_000), ..probe });
        Container { liveness_probe: slow, ..container(&format!("c{n}")) }
    });
    let stuck = pod("stuck", stuck.collect());
    let now = bench.world.now();
    let statuses = (0..count).map(|n| runs(&format!("c{n}"), &format!("i{n}"), now, true));
    bench.world.set_status(&stuck, status(statuses.collect()));
    bench.add(&stuck);
    seconds(2).await;
    assert_eq!(bench.world.running.load(Ordering::Relaxed), PROBES_OF_POD_AT_ONCE_MAX);
    let web = web();
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.add(&web);
    seconds(2).await;
    assert_eq!(bench.result(&web, "a1", Readiness), Some(Success));
    // Those that ran are over, and those that waited never begin.
    bench.prober.remove_pod(&PodUid::of(&stuck));
    seconds(1).await;
    assert_eq!(bench.world.running.load(Ordering::Relaxed), 0);
    // It comes back, and has its capacity again.
    bench.add(&stuck);
    seconds(2).await;
    assert_eq!(bench.world.running.load(Ordering::Relaxed), PROBES_OF_POD_AT_ONCE_MAX);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_type_is_notified_of_the_instance_and_of_the_addresses_that_there_are() {
    let bench = Bench::settled().await;
    let mut web = web();
    let grpc = k8s_openapi::api::core::v1::GRPCAction { port: 9, service: None };
    let probe = Probe { exec: None, grpc: Some(grpc), timeout_seconds: Some(7), ..probe("").unwrap() };
    web.spec.as_mut().unwrap().containers[0].readiness_probe = Some(probe);
    let restarted = ContainerStatus { restart_count: 3, ..runs("a", "a4", bench.world.now(), true) };
    let no_address = PodStatus { pod_ip: None, ..status(vec![restarted]) };
    let name = "grpc {\"port\":9}";
    for (status, addresses) in [
        (no_address.clone(), ""),
        (PodStatus { pod_ip: Some("10.0.0.7".to_owned()), ..no_address }, "10.0.0.7"),
    ] {
        bench.world.set_status(&web, status);
        bench.add(&web);
        seconds(1).await;
        let request = bench.world.request(name).expect("it was probed");
        let found: Vec<String> = request.pod_ips.iter().map(ToString::to_string).collect();
        assert_eq!(found.join(" "), addresses);
        assert_eq!((request.container_id.as_str(), request.restarts, request.kind), ("a4", 3, Readiness));
        assert_eq!((&*request.probe_type, request.container.as_str()), ("grpc", "a"));
        assert_eq!(request.timeout, Duration::from_secs(7));
    }
    bench.end().await;
}
