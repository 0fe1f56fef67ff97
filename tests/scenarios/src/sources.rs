//! Sources that come and go, hang or lie: each is ready on its own, and none touches another's pods.

use expect_test::expect;
use serde_json::json;
use witlet_core::pod::SourceName;
use witlet_ports::AgentView;

use crate::support::{ends_after, from_spec, left, node, orders, pass, shown, sleeper, started, status};

fn ready(node: &witlet_testkit::FakeNode) -> bool {
    node.agent().stats().sources_ready
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_plugins_source_run_and_end_with_its_sets() {
    let node = started();
    let edge = node.plugin_sources.add("edge");
    pass(5.0).await;
    assert!(!ready(&node), "it hasn't spoken");
    edge.put("a", vec![sleeper("web").build()]);
    pass(5.0).await;
    assert!(ready(&node));
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
    let annotations = shown(&node, "web").and_then(|pod| pod.metadata.annotations).unwrap_or_default();
    assert_eq!(annotations.get("kubernetes.io/config.source").map(String::as_str), Some("edge"));
    edge.remove("a");
    pass(60.0).await;
    assert_eq!(status(&node, "web"), "not shown");
    assert_eq!(left(&node).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_gone_takes_its_pods_along_and_no_others() {
    let node = started();
    let edge = node.plugin_sources.add("edge");
    edge.put("a", vec![sleeper("web").build()]);
    node.source.put("f", vec![sleeper("own").build()]);
    pass(5.0).await;
    orders(&node);
    node.plugin_sources.remove("edge");
    pass(60.0).await;
    expect![[r#"
        5.000 stop within 30s web-node1/app#0
        5.000 ended with 143 web-node1/app#0
        5.000 stop sandbox web-node1#0
        10.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
    assert_eq!(status(&node, "own"), "Running app: running, 0 restarts");
    // One of the same name that comes later is new, and unseen.
    node.plugin_sources.add("edge").put("a", vec![sleeper("web").build()]);
    pass(5.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_no_pod_of_a_source_that_is_slow_and_other_sources_go_on() {
    let mut node = node();
    let edge = node.plugin_sources.add("edge");
    edge.put("a", vec![sleeper("web").build()]);
    node.source.put("f", vec![sleeper("own").build(), sleeper("gone").build()]);
    node.start();
    pass(5.0).await;
    node.kill();
    orders(&node);
    // The plugin is there and says nothing: it isn't loaded, or fails, or hangs.
    node.plugin_sources.remove("edge");
    let edge = node.plugin_sources.add("edge");
    node.start();
    pass(300.0).await;
    assert_eq!(orders(&node), "", "nothing was stopped");
    assert!(!ready(&node));
    // What the other source wants happens all the same.
    node.source.put("f", vec![sleeper("own").build(), sleeper("new").build()]);
    pass(60.0).await;
    assert_eq!(status(&node, "new"), "Running app: running, 0 restarts");
    assert_eq!(status(&node, "gone"), "not shown");
    let stopped: Vec<_> =
        orders(&node).lines().filter(|line| line.contains("stop within")).map(str::to_owned).collect();
    assert_eq!(stopped.len(), 1, "only the pod that its source let go of: {stopped:?}");
    // It speaks: the same pod goes on as it was.
    edge.put("a", vec![sleeper("web").build()]);
    pass(30.0).await;
    assert_eq!(orders(&node), "");
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
    assert!(ready(&node));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_says_that_it_has_none_ends_what_ran_before() {
    let mut node = node();
    let edge = node.plugin_sources.add("edge");
    edge.put("a", vec![sleeper("web").build()]);
    node.start();
    pass(5.0).await;
    node.kill();
    edge.remove("a");
    node.start();
    pass(60.0).await;
    assert_eq!(left(&node).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_source_removed_while_the_agent_was_down_takes_its_pods_along() {
    let mut node = node();
    node.plugin_sources.add("edge").put("a", vec![sleeper("web").build()]);
    node.start();
    pass(5.0).await;
    node.kill();
    node.plugin_sources.remove("edge");
    node.start();
    pass(60.0).await;
    assert_eq!(left(&node).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_ran_to_its_end_is_remembered_while_its_source_is_silent() {
    let mut node = node();
    ends_after(&node, "job:1", 0, 2);
    let job = || {
        from_spec(
            "job",
            serde_json::json!({"restartPolicy": "Never", "containers": [{"name": "app", "image": "job:1"}]}),
        )
    };
    node.plugin_sources.add("edge").put("a", vec![job()]);
    node.start();
    pass(30.0).await;
    assert_eq!(shown(&node, "job").and_then(|pod| pod.status?.phase).as_deref(), Some("Succeeded"));
    node.kill();
    node.plugin_sources.remove("edge");
    let edge = node.plugin_sources.add("edge");
    node.start();
    pass(300.0).await;
    orders(&node);
    edge.put("a", vec![job()]);
    pass(60.0).await;
    let started: Vec<_> =
        orders(&node).lines().filter(|line| line.contains("start ")).map(str::to_owned).collect();
    assert_eq!(started, Vec::<String>::new(), "it isn't run again");
    assert_eq!(shown(&node, "job").and_then(|pod| pod.status?.phase).as_deref(), Some("Succeeded"));
}

#[tokio::test(start_paused = true)]
async fn a_plugins_pod_gives_way_to_one_of_the_agents_own_with_its_name() {
    let node = started();
    let edge = node.plugin_sources.add("edge");
    edge.put("a", vec![sleeper("web").build()]);
    pass(5.0).await;
    node.source.put("f", vec![sleeper("web").build()]);
    pass(60.0).await;
    let source = |node: &witlet_testkit::FakeNode| {
        let pod = shown(node, "web").expect("it is shown");
        pod.metadata.annotations.unwrap_or_default().remove("kubernetes.io/config.source")
    };
    assert_eq!(source(&node).as_deref(), Some("file"));
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
    node.source.remove("f");
    pass(60.0).await;
    assert_eq!(source(&node).as_deref(), Some("edge"), "it comes in once the name is free");
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_wants_statuses_receives_those_of_its_own_pods() {
    let node = started();
    let edge = node.plugin_sources.add("edge");
    node.plugin_sources.listen("edge");
    node.plugin_sources.add("deaf").put("d", vec![sleeper("other").build()]);
    node.source.put("f", vec![sleeper("own").build()]);
    edge.put("a", vec![sleeper("web").build()]);
    pass(10.0).await;
    let reported = node.plugin_sources.take_reported();
    let only =
        |words: &[&str]| (SourceName::from("edge"), words.iter().map(|word| (*word).to_owned()).collect());
    assert_eq!(reported.last(), Some(&only(&["web-node1: Running"])));
    assert!(
        reported.iter().all(|(source, pods)| source.as_str() == "edge" && pods.len() == 1),
        "{reported:?}"
    );
    assert!(reported.len() <= 4, "once a second at most: {reported:?}");
    pass(600.0).await;
    assert_eq!(node.plugin_sources.take_reported(), Vec::new(), "nothing changes, nothing is reported");
    edge.remove("a");
    pass(60.0).await;
    assert_eq!(node.plugin_sources.take_reported().last(), Some(&only(&["web-node1: gone"])));
}

#[tokio::test(start_paused = true)]
async fn a_source_that_was_away_receives_which_pods_ended_meanwhile() {
    let node = started();
    let edge = node.plugin_sources.add("edge");
    node.plugin_sources.listen("edge");
    edge.put("a", vec![sleeper("stays").build()]);
    edge.put("b", vec![sleeper("web").build()]);
    pass(30.0).await;
    node.plugin_sources.take_reported();
    node.plugin_sources.stop_listening("edge");
    edge.remove("b");
    pass(120.0).await;
    assert_eq!(node.plugin_sources.take_reported(), Vec::new());
    node.plugin_sources.listen("edge");
    pass(10.0).await;
    let reported = node.plugin_sources.take_reported();
    let words = ["web-node1: gone", "stays-node1: Running"].map(str::to_owned).to_vec();
    assert_eq!(reported, [(SourceName::from("edge"), words)]);
}

#[tokio::test(start_paused = true)]
async fn the_last_set_of_a_plugins_source_runs_probed_after_a_reboot_while_the_source_is_silent() {
    let mut node = node();
    let edge = node.plugin_sources.add("edge");
    let probed = from_spec(
        "web",
        json!({"containers": [{"name": "app", "image": "sleeper:1",
            "livenessProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 10, "failureThreshold": 100}}]}),
    );
    edge.put("a", vec![probed, sleeper("other").build()]);
    node.start();
    pass(5.0).await;
    node.kill();
    node.runtime.lose_sandboxes();
    edge.set_restored(true);
    orders(&node);
    node.start();
    pass(120.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 1 restarts");
    assert!(!ready(&node), "it hasn't spoken since the start");
    let probes = node.agent().stats().probes.liveness;
    assert!(probes.successful + probes.failed > 10, "{probes:?}");
    edge.set_restored(false);
    edge.remove("a");
    pass(60.0).await;
    assert!(ready(&node));
    assert_eq!(left(&node).await, "", "the source's own word ends them");
}
