//! Every change of a cgroup, cut at every moment: the agent is killed before it, half-way through it or after it, or it fails.
//! Nothing is doubled, nothing is left.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::cgroup::ResourceConfig;
use witlet_core::node::allocatable::Enforcement;
use witlet_core::runtime::CgroupDriver;
use witlet_testkit::{CgroupCut, FakeNode};

use crate::support::{node, pass, pod_with_uid, status};

fn one(name: &str, requests: &Value, limits: &Value) -> Vec<Pod> {
    let resources = json!({"requests": requests, "limits": limits});
    let container = json!({"name": "app", "image": "sleeper:1", "resources": resources});
    vec![pod_with_uid(name, &format!("uid-{name}"), json!({"containers": [container]}))]
}

fn guaranteed(name: &str, cpu: &str) -> Vec<Pod> {
    let amounts = json!({"cpu": cpu, "memory": "64Mi"});
    one(name, &amounts, &amounts)
}

fn burstable(name: &str) -> Vec<Pod> {
    one(name, &json!({"cpu": "250m"}), &json!({}))
}

/// Lets time pass. Where the cut comes the agent is killed unless it only failed, and one that ended by itself is started again.
async fn pass_with(node: &mut FakeNode, seconds: u32, cut: Option<CgroupCut>) {
    for _ in 0..seconds * 10 {
        pass(0.1).await;
        let failed = node.failure().is_some();
        let is_cut = node.cgroups.take_cut() && cut != Some(CgroupCut::Fails);
        if is_cut || failed {
            node.kill();
            pass(1.0).await;
            node.start();
        }
    }
}

/// What a cgroup is set to, without what is the same for all.
fn shown(config: &ResourceConfig) -> String {
    let ResourceConfig { cpu_shares, cpu_quota_us, memory_bytes, .. } = config;
    format!("shares {cpu_shares:?} quota {cpu_quota_us:?} memory {memory_bytes:?}").replace("Some", "")
}

/// Pods of all classes start, one is resized, one is removed, and an orphan is there. Says what came of it, and how many changes of
/// cgroups there were.
async fn story(driver: CgroupDriver, at: Option<(usize, CgroupCut)>) -> (String, usize) {
    let mut node = node();
    node.set_cgroups_per_qos(true);
    node.runtime.set_cgroup_driver(driver);
    node.config.cgroups.enforce = [Enforcement::Pods].into();
    let cut = at.map(|(_, cut)| cut);
    if let Some((number, cut)) = at {
        node.cgroups.cut_call(number, cut);
    }
    let orphan = match driver {
        CgroupDriver::Cgroupfs => "/kubepods/podgone",
        CgroupDriver::Systemd => "/kubepods.slice/kubepods-podgone.slice",
    };
    node.cgroups.put(orphan, ResourceConfig::default());
    node.start();
    node.source.put("g", guaranteed("g", "1"));
    node.source.put("b", burstable("b"));
    pass_with(&mut node, 15, cut).await;
    node.source.put("e", one("e", &json!({}), &json!({})));
    node.source.put("gone", burstable("gone"));
    pass_with(&mut node, 15, cut).await;
    node.source.put("g", guaranteed("g", "2"));
    pass_with(&mut node, 10, cut).await;
    node.source.remove("gone");
    pass_with(&mut node, 60, cut).await;
    let calls = node.cgroups.calls();
    // What is there is what the next agent begins with.
    node.kill();
    node.start();
    pass(150.0).await;
    let pods = ["g", "b", "e", "gone"].map(|name| {
        let starts = node.runtime.starts().iter().filter(|start| start.uid == format!("uid-{name}")).count();
        format!("{name}: {}, started {starts} times", status(&node, name))
    });
    let paths = node.cgroups.paths().into_iter().map(|path| {
        let config = node.cgroups.config(&path).unwrap_or_default();
        format!("{path}: {}", shown(&config))
    });
    (pods.into_iter().chain(paths).collect::<Vec<_>>().join("\n"), calls)
}

#[tokio::test(start_paused = true)]
async fn nothing_is_doubled_or_left_wherever_a_change_of_a_cgroup_is_cut() {
    let (expected, calls) = story(CgroupDriver::Cgroupfs, None).await;
    expect_test::expect![[r#"
        g: Running app: running, 0 restarts, started 1 times
        b: Running app: running, 0 restarts, started 1 times
        e: Running app: running, 0 restarts, started 1 times
        gone: not shown, started 1 times
        /: shares None quota None memory None
        /kubepods: shares (4096) quota None memory (8589934592)
        /kubepods/besteffort: shares (2) quota None memory None
        /kubepods/besteffort/poduid-e: shares (2) quota None memory None
        /kubepods/burstable: shares (256) quota None memory None
        /kubepods/burstable/poduid-b: shares (256) quota None memory None
        /kubepods/poduid-g: shares (2048) quota (200000) memory (67108864)"#]]
    .assert_eq(&expected);
    assert!(calls > 20, "{calls}");
    for number in 0..calls {
        for cut in [CgroupCut::Before, CgroupCut::Half, CgroupCut::After, CgroupCut::Fails] {
            let (outcome, _) = story(CgroupDriver::Cgroupfs, Some((number, cut))).await;
            assert_eq!(outcome, expected, "change {number} of {calls}, {cut:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn slices_of_systemd_are_kept_in_the_same_way() {
    let (expected, calls) = story(CgroupDriver::Systemd, None).await;
    expect_test::expect![[r#"
        g: Running app: running, 0 restarts, started 1 times
        b: Running app: running, 0 restarts, started 1 times
        e: Running app: running, 0 restarts, started 1 times
        gone: not shown, started 1 times
        /: shares None quota None memory None
        /kubepods.slice: shares (4096) quota None memory (8589934592)
        /kubepods.slice/kubepods-besteffort.slice: shares (2) quota None memory None
        /kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poduid_e.slice: shares (2) quota None memory None
        /kubepods.slice/kubepods-burstable.slice: shares (256) quota None memory None
        /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poduid_b.slice: shares (256) quota None memory None
        /kubepods.slice/kubepods-poduid_g.slice: shares (2048) quota (200000) memory (67108864)"#]].assert_eq(&expected);
    // The agent's part is the same for both drivers: each third change shows it.
    for number in (0..calls).step_by(3) {
        let (outcome, _) = story(CgroupDriver::Systemd, Some((number, CgroupCut::Half))).await;
        assert_eq!(outcome, expected, "change {number} of {calls}");
    }
}
