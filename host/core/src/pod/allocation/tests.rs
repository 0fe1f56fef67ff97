//! Tests of allocation: what is a resize, what of it can be, and who goes first.

use std::time::Duration;

use k8s_openapi::api::core::v1::ContainerResizePolicy;

use super::*;
use crate::admission::Decision;
use crate::fixtures::{at, pod, resources, spec};
use crate::pod::PodUid;
use crate::pod::resources::QosClass;

const MI: i64 = 1024 * 1024;

/// A pod with one app container `a` that has these resources.
fn with(text: &str) -> Pod {
    let mut made = pod("Always", &["a"]);
    spec(&mut made).containers[0].resources = resources(text);
    made
}

fn node() -> NodePolicy {
    NodePolicy { cpu_milli: Some(4_000), memory_bytes: Some(1024 * MI), ..NodePolicy::default() }
}

const GUARANTEED: &str = "cpu 100m/100m memory 100Mi/100Mi";
const BURSTABLE: &str = "cpu 100m/200m memory 100Mi/200Mi";

#[test]
fn a_container_that_states_a_limit_alone_asks_for_as_much() {
    let of = |text: &str| {
        let pod = with(text);
        ContainerResources::of(&pod, &pod.spec.as_ref().unwrap().containers[0])
    };
    let expected = ContainerResources {
        cpu_request_milli: 200,
        cpu_limit_milli: 200,
        memory_request_bytes: 5 * MI,
        memory_limit_bytes: 10 * MI,
    };
    assert_eq!(of("cpu -/200m memory 5Mi/10Mi"), expected);
    assert_eq!(of(""), ContainerResources::default());
    assert_eq!(ContainerResources::of(&Pod::default(), &Container::default()), ContainerResources::default());
}

#[test]
fn a_container_without_a_limit_may_use_what_its_pod_may() {
    let of = |own: &str, of_pod: &str| {
        let mut pod = with(own);
        spec(&mut pod).resources = resources(of_pod);
        let found = ContainerResources::of(&pod, &pod.spec.as_ref().unwrap().containers[0]);
        [found.cpu_request_milli, found.cpu_limit_milli, found.memory_request_bytes, found.memory_limit_bytes]
    };
    assert_eq!(of("", "cpu 300m/400m memory 3Mi/4Mi"), [400, 400, 4 * MI, 4 * MI]);
    assert_eq!(of("cpu 50m/- memory 1Mi/-", "cpu 300m/400m memory 3Mi/4Mi"), [50, 400, MI, 4 * MI]);
    assert_eq!(of("cpu 50m/100m memory 1Mi/2Mi", "cpu 300m/400m memory 3Mi/4Mi"), [50, 100, MI, 2 * MI]);
    assert_eq!(of("cpu 50m/0", "cpu 300m/400m"), [50, 400, 0, 0], "zero is no limit");
}

#[test]
fn only_other_amounts_of_cpu_and_memory_are_a_resize() {
    let cases = [
        ("the same", BURSTABLE, false),
        ("in other words", "cpu 0.1/0.2 memory 102400Ki/200Mi", false),
        ("more CPU", "cpu 150m/200m memory 100Mi/200Mi", true),
        ("a lower limit of memory", "cpu 100m/200m memory 100Mi/150Mi", true),
        ("another resource", "cpu 100m/200m memory 100Mi/200Mi ephemeral-storage 1Gi/1Gi", false),
        ("a limit less", "cpu 100m/- memory 100Mi/200Mi", true),
        ("nothing at all", "", true),
    ];
    let allocation = Allocation::of(&with(BURSTABLE));
    for (claim, text, expected) in cases {
        assert_eq!(allocation.differs_from(&with(text)), expected, "{claim}");
    }
    let mut renamed = with("cpu 900m/900m");
    spec(&mut renamed).containers[0].name = "b".to_owned();
    assert!(!allocation.differs_from(&renamed), "another container is no resize");
    assert!(!Allocation::default().differs_from(&Pod::default()));
}

#[test]
fn an_allocation_stands_in_for_what_the_pod_asks_for_and_for_nothing_else() {
    let allocation = Allocation::of(&with(BURSTABLE));
    let mut wish = with("cpu 300m/300m memory 300Mi/300Mi ephemeral-storage 1Gi/1Gi");
    spec(&mut wish).containers[0].image = Some("newer".to_owned());
    let allocated = allocation.apply(&wish);
    let container = &allocated.spec.as_ref().unwrap().containers[0];
    assert_eq!(container.image.as_deref(), Some("newer"));
    assert_eq!(container.resources, resources(&format!("{BURSTABLE} ephemeral-storage 1Gi/1Gi")));
    assert_eq!(Allocation::of(&wish).apply(&wish), wish);
    let none = Allocation::of(&with(""));
    assert_eq!(
        none.apply(&with(BURSTABLE)).spec.unwrap().containers[0].resources,
        Some(ResourceRequirements::default())
    );
}

#[test]
fn a_wish_that_can_be_is_asked_about() {
    let cases = [
        ("nothing", BURSTABLE, BURSTABLE, Wish::None),
        ("more", BURSTABLE, "cpu 200m/300m memory 200Mi/300Mi", Wish::Ask),
        ("less", BURSTABLE, "cpu 50m/100m memory 50Mi/60Mi", Wish::Ask),
        ("all that the node has", BURSTABLE, "cpu 4/5 memory 1Gi/2Gi", Wish::Ask),
        ("Guaranteed that stays so", GUARANTEED, "cpu 200m/200m memory 200Mi/200Mi", Wish::Ask),
        (
            "a limit where there was none",
            "cpu 100m/- memory 100Mi/-",
            "cpu 100m/1 memory 100Mi/1Gi",
            Wish::Ask,
        ),
    ];
    for (claim, before, now, expected) in cases {
        assert_eq!(judge(&with(now), &Allocation::of(&with(before)), node()), expected, "{claim}");
    }
}

#[test]
fn a_wish_may_not_make_another_class_than_the_pods_status_has() {
    let wish = |before: &str, now: &str, class: &str| {
        let mut pod = with(now);
        pod.status.get_or_insert_default().qos_class = Some(class.to_owned());
        judge(&pod, &Allocation::of(&with(before)), node())
    };
    let (from, to) = (QosClass::Guaranteed, QosClass::Burstable);
    let more = "cpu 200m/300m memory 200Mi/300Mi";
    assert_eq!(wish(BURSTABLE, more, "Burstable"), Wish::Ask);
    assert_eq!(wish(BURSTABLE, more, "Guaranteed"), Wish::Infeasible(Infeasible::QosClass { from, to }));
    assert_eq!(wish(BURSTABLE, GUARANTEED, "Guaranteed"), Wish::Ask, "its spec follows its class");
}

/// A claim, what a container has, what it wishes, the node's policy, and why that can't be.
type Refusal<'a> = (&'a str, &'a str, &'a str, NodePolicy, &'a str);

#[track_caller]
fn check_infeasible(cases: &[Refusal<'_>]) {
    for (claim, before, now, policy, expected) in cases {
        let wish = judge(&with(now), &Allocation::of(&with(before)), *policy);
        let Wish::Infeasible(why) = wish else { panic!("{claim}: {wish:?}") };
        assert_eq!(why.to_string(), *expected, "{claim}");
    }
}

#[test]
fn a_wish_that_can_never_be_says_why() {
    let cases = [
        (
            "Guaranteed becomes Burstable",
            GUARANTEED,
            BURSTABLE,
            node(),
            "Pod QOS Class may not change as a result of resizing (from Guaranteed to Burstable)",
        ),
        (
            "Burstable becomes Guaranteed",
            BURSTABLE,
            GUARANTEED,
            node(),
            "Pod QOS Class may not change as a result of resizing (from Burstable to Guaranteed)",
        ),
        (
            "BestEffort becomes Burstable",
            "",
            "cpu 1m/-",
            node(),
            "Pod QOS Class may not change as a result of resizing (from BestEffort to Burstable)",
        ),
        (
            "a limit is taken back",
            BURSTABLE,
            "cpu 100m/- memory 100Mi/200Mi",
            node(),
            "limits of cpu of container a must not be removed",
        ),
        (
            "a request is taken back",
            "cpu 100m/- memory 100Mi/-",
            "cpu 100m/-",
            node(),
            "requests of memory of container a must not be removed",
        ),
    ];
    check_infeasible(&cases);
}

#[test]
fn a_wish_that_the_node_can_never_grant_says_why() {
    let static_cpus = NodePolicy { static_cpus: true, ..node() };
    let static_memory = NodePolicy { static_memory: true, ..node() };
    let swap = NodePolicy { limited_swap: true, ..node() };
    let more = "cpu 200m/200m memory 200Mi/200Mi";
    let cases = [
        (
            "more memory than the node has",
            BURSTABLE,
            "cpu 8/8 memory 2Gi/4Gi",
            node(),
            "Node didn't have enough capacity: memory, requested: 2147483648, capacity: 1073741824",
        ),
        (
            "more CPU than the node has",
            BURSTABLE,
            "cpu 8/9 memory 100Mi/200Mi",
            node(),
            "Node didn't have enough capacity: cpu, requested: 8000, capacity: 4000",
        ),
        (
            "pinned CPUs",
            GUARANTEED,
            more,
            static_cpus,
            "Resize is infeasible for Guaranteed Pods alongside CPU Manager static policy",
        ),
        (
            "pinned memory",
            GUARANTEED,
            more,
            static_memory,
            "Resize is infeasible for Guaranteed Pods alongside Memory Manager static policy",
        ),
        (
            "swap",
            BURSTABLE,
            "cpu 100m/200m memory 150Mi/200Mi",
            swap,
            "In-place resize of containers with swap is not supported (container a)",
        ),
    ];
    check_infeasible(&cases);
}

#[test]
fn swap_is_in_the_way_only_where_a_container_may_swap_and_would_go_on_running() {
    let swap = NodePolicy { limited_swap: true, ..node() };
    let wish = |before: &str, now: &str, change: fn(&mut Pod)| {
        let mut pod = with(now);
        change(&mut pod);
        judge(&pod, &Allocation::of(&with(before)), swap)
    };
    assert_eq!(wish(GUARANTEED, "cpu 200m/200m memory 200Mi/200Mi", |_| {}), Wish::Ask, "Guaranteed");
    assert_eq!(wish(BURSTABLE, "cpu 150m/200m memory 100Mi/200Mi", |_| {}), Wish::Ask, "CPU alone");
    assert_eq!(wish(BURSTABLE, "cpu 100m/200m memory 100Mi/300Mi", |_| {}), Wish::Ask, "the limit alone");
    let even = ("cpu 50m/100m memory 100Mi/100Mi", "cpu 50m/100m memory 200Mi/200Mi");
    assert_eq!(wish(even.0, even.1, |_| {}), Wish::Ask, "a request that is also the limit forgoes swap");
    let restarts = |pod: &mut Pod| {
        let policy = ContainerResizePolicy {
            resource_name: "memory".to_owned(),
            restart_policy: "RestartContainer".to_owned(),
        };
        spec(pod).containers[0].resize_policy = Some(vec![policy]);
    };
    assert_eq!(wish(BURSTABLE, "cpu 100m/200m memory 150Mi/200Mi", restarts), Wish::Ask, "it restarts");
    let critical = |pod: &mut Pod| spec(pod).priority = Some(2_000_000_000);
    assert_eq!(wish(BURSTABLE, "cpu 100m/200m memory 150Mi/200Mi", critical), Wish::Ask, "it is critical");
}

#[test]
fn init_containers_keep_their_resources_and_sidecars_need_not() {
    let init = |text: &str, policy: Option<&str>| {
        let mut made = with(BURSTABLE);
        let container = Container {
            name: "setup".to_owned(),
            resources: resources(text),
            restart_policy: policy.map(str::to_owned),
            ..Container::default()
        };
        spec(&mut made).init_containers = Some(vec![container]);
        made
    };
    let wish = |policy| {
        let allocation = Allocation::of(&init("cpu 100m/100m", policy));
        judge(&init("cpu 200m/200m", policy), &allocation, node())
    };
    assert_eq!(wish(None), Wish::Infeasible(Infeasible::InitContainer { container: "setup".to_owned() }));
    assert_eq!(wish(Some("Always")), Wish::Ask);
}

#[test]
fn the_pods_own_resources_can_be_changed_and_not_be_taken_back() {
    let own = |text: &str| {
        let mut made = with(BURSTABLE);
        spec(&mut made).resources = resources(text);
        made
    };
    let allocation = Allocation::of(&own("cpu 300m/400m"));
    assert_eq!(judge(&own("cpu 300m/400m"), &allocation, node()), Wish::None);
    assert_eq!(judge(&own("cpu 300m/500m"), &allocation, node()), Wish::Ask);
    assert_eq!(judge(&own("cpu 300m/400m memory 300Mi/400Mi"), &allocation, node()), Wish::Ask);
    let removed = judge(&own("cpu 300m/-"), &allocation, node());
    let Wish::Infeasible(why) = removed else { panic!("{removed:?}") };
    assert_eq!(why.to_string(), "limits of cpu of the pod must not be removed");
    assert_eq!(allocation.apply(&own("cpu 1/1")), own("cpu 300m/400m"));
    let none = Allocation::of(&with(BURSTABLE));
    assert_eq!(judge(&own("cpu 300m/400m"), &none, node()), Wish::Ask);
    assert!(!none.differs_from(&none.apply(&own("cpu 300m/400m"))), "what wasn't granted isn't there");
}

#[test]
fn a_refused_wish_leaves_the_allocation_and_is_asked_about_again_unless_it_is_infeasible() {
    let pod = with(BURSTABLE);
    let text = |text: &str| text.to_owned();
    assert_eq!(after_admission(&pod, Decision::Admit), Grant::Granted(Allocation::of(&pod)));
    let short = Decision::Reject { reason: text("OutOfcpu"), message: text("no capacity"), handler: None };
    assert_eq!(
        after_admission(&pod, short),
        Grant::Deferred { why: text("OutOfcpu"), message: text("no capacity"), retry_after: None }
    );
    let never = Decision::Reject { reason: text("Infeasible"), message: text("never"), handler: None };
    let refused = Infeasible::Refused { message: text("never") };
    assert_eq!(refused.to_string(), "never");
    assert_eq!(after_admission(&pod, never), Grant::Infeasible(refused));
    let later =
        Decision::Defer { reason: text("Busy"), message: text("later"), retry_after: Duration::from_secs(5) };
    let deferred = Grant::Deferred {
        why: text("Busy"),
        message: text("later"),
        retry_after: Some(Duration::from_secs(5)),
    };
    assert_eq!(after_admission(&pod, later), deferred);
}

#[test]
fn waiting_wishes_are_asked_about_by_need_priority_class_and_age() {
    let wish = |name: &str, resources: &str, priority: i32| {
        let mut made = with(resources);
        made.metadata.name = Some(name.to_owned());
        spec(&mut made).priority = Some(priority);
        made
    };
    let has = Allocation::of(&with("cpu 100m/200m memory 100Mi/200Mi"));
    let guaranteed = Allocation::of(&with(GUARANTEED));
    let pods = [
        (wish("late", "cpu 200m/400m memory 100Mi/200Mi", 0), &has, 20),
        (wish("early", "cpu 200m/400m memory 100Mi/200Mi", 0), &has, 10),
        (wish("guaranteed", "cpu 200m/200m memory 100Mi/100Mi", 0), &guaranteed, 30),
        (wish("important", "cpu 200m/400m memory 100Mi/200Mi", 5), &has, 40),
        (wish("less", "cpu 50m/400m memory 50Mi/200Mi", -5), &has, 50),
        (wish("limits only", "cpu 100m/400m memory 100Mi/200Mi", -9), &has, 60),
        (wish("one more, one less", "cpu 50m/400m memory 150Mi/200Mi", 9), &has, 70),
    ];
    let mut pending: Vec<PendingResize<'_>> = pods
        .iter()
        .map(|(pod, allocation, since)| PendingResize { pod, allocation, since: at(*since) })
        .collect();
    pending.sort_by_key(|wish| precedence(wish));
    let order: Vec<&str> = pending.iter().map(|wish| wish.pod.metadata.name.as_deref().unwrap()).collect();
    assert_eq!(
        order,
        ["less", "limits only", "one more, one less", "important", "guaranteed", "early", "late"]
    );
}

#[test]
fn a_container_that_joins_has_what_it_asks_for_and_then_resizes_like_the_others() {
    let two = |a: &str, b: &str| {
        let mut made = pod("Always", &["a", "b"]);
        spec(&mut made).containers[0].resources = resources(a);
        spec(&mut made).containers[1].resources = resources(b);
        made
    };
    let mut table = Allocations::default();
    assert!(table.revise(&with(BURSTABLE)), "nothing was recorded");
    assert!(!table.revise(&with("cpu 900m/900m memory 100Mi/200Mi")), "a resize isn't granted by the way");
    assert!(table.revise(&two("cpu 900m/900m memory 100Mi/200Mi", "cpu 5m/5m")));
    assert_eq!(table.apply(&two("cpu 900m/900m", "cpu 7m/7m")), two(BURSTABLE, "cpu 5m/5m"));
    assert!(table.get(&PodUid::from("uid-1")).unwrap().differs_from(&two(BURSTABLE, "cpu 7m/7m")));
    assert!(table.revise(&with(BURSTABLE)), "one is gone");
    assert!(!table.get(&PodUid::from("uid-1")).unwrap().differs_from(&two(BURSTABLE, "cpu 7m/7m")));
}

#[test]
fn saved_allocations_are_read_again_and_tell_when_they_change() {
    let uid = PodUid::from("uid-1");
    let mut table = Allocations::default();
    assert!(table.is_empty());
    assert!(table.set(&uid, Allocation::of(&with(BURSTABLE))));
    assert!(!table.set(&uid, Allocation::of(&with(BURSTABLE))), "nothing new");
    assert!(table.set(&uid, Allocation::of(&with(GUARANTEED))));
    assert_eq!(Allocations::decode(&table.encode()).unwrap(), table);
    assert_eq!(table.apply(&with(BURSTABLE)), with(GUARANTEED));
    assert_eq!(table.get(&uid), Some(&Allocation::of(&with(GUARANTEED))));
    assert!(!table.retain(|_| true));
    assert!(table.retain(|_| false));
    assert_eq!(table.len(), 0);
    assert_eq!(table.apply(&with(BURSTABLE)), with(BURSTABLE), "nothing was recorded");
}

#[test]
fn saved_allocations_of_another_form_are_refused() {
    assert!(matches!(Allocations::decode(b"{"), Err(AllocationError::Malformed(_))));
    assert!(matches!(Allocations::decode(br#"{"version": 1}"#), Err(AllocationError::Malformed(_))));
    let changed = br#"{"data": "{\"entries\":{}}", "checksum": 9}"#;
    assert!(matches!(Allocations::decode(changed), Err(AllocationError::Checksum { expected: 9, .. })));
}

#[test]
fn allocations_are_read_and_written_as_a_kubelet_does() {
    let data = r#"{"entries":{"pod1":{"ContainerResources":{"container1":{"requests":{"cpu":"1Ki","memory":"1Ki"}}}}}}"#;
    let saved = serde_json::json!({ "data": data, "checksum": 1_178_570_812 });
    let table = Allocations::decode(saved.to_string().as_bytes()).unwrap();
    let container = table.get(&PodUid::from("pod1")).unwrap().container("container1").unwrap();
    assert_eq!((container.cpu_request_milli, container.memory_request_bytes), (1_024_000, 1_024));

    for nothing in [
        r#"{}"#,
        r#"{"entries":{}}"#,
        r#"{"entries":{"a":{"ContainerResources":null,"PodLevelResources":null}}}"#,
    ] {
        let checksum = u64::from(crate::go::fnv1a(&format!("(string){nothing}")));
        let saved = serde_json::json!({ "data": nothing, "checksum": checksum });
        assert!(Allocations::decode(saved.to_string().as_bytes()).is_ok(), "{nothing}");
    }

    let mut table = Allocations::default();
    let pod = with("cpu 100m/200m memory 100Mi/200Mi ephemeral-storage 1Gi/1Gi");
    table.set(&PodUid::of(&pod), Allocation::of(&pod));
    let written: serde_json::Value = serde_json::from_slice(&table.encode()).unwrap();
    let data: serde_json::Value = serde_json::from_str(written["data"].as_str().unwrap()).unwrap();
    let entry = &data["entries"][PodUid::of(&pod).as_str()];
    let requests = &entry["ContainerResources"]["a"]["requests"];
    assert_eq!(requests["ephemeral-storage"], "1Gi", "a kubelet takes all resources from here");
    assert_eq!((&requests["cpu"], &entry["PodLevelResources"]), (&"100m".into(), &serde_json::Value::Null));
}

#[test]
fn what_a_container_was_given_is_noted_with_what_its_pod_has() {
    let mut pod = with("cpu 50m/- memory 1Mi/-");
    spec(&mut pod).resources = resources("cpu 300m/400m memory 3Mi/4Mi");
    let container = pod.spec.as_ref().unwrap().containers[0].clone();
    let mut table = Allocations::default();
    table.set_container(&pod, &container);
    let given = table.get(&PodUid::of(&pod)).unwrap();
    assert_eq!(given.container("a"), Some(ContainerResources::of(&pod, &container)));
    assert_eq!(given.container("b"), None);
}

#[test]
fn events_of_a_resize_have_upstreams_form() {
    let mut pod = with("cpu 100m/200m");
    pod.metadata.generation = Some(3);
    let app =
        r#""containers":[{"name":"a","resources":{"limits":{"cpu":"200m"},"requests":{"cpu":"100m"}}}]"#;
    let started = resize_message("Pod resize started", &pod, "");
    assert_eq!(started, format!(r#"Pod resize started: {{{app},"generation":3}}"#));
    let failed = resize_message("Pod resize error", &pod, "limit < usage");
    assert_eq!(failed, format!(r#"Pod resize error: {{{app},"generation":3,"error":"limit \u003c usage"}}"#));
    let nothing = resize_message("Pod resize completed", &Pod::default(), "");
    assert_eq!(nothing, r#"Pod resize completed: {"generation":0}"#);
}
