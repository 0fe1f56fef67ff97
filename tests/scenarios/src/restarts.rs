//! The agent goes and comes back; pods go on, or end with it.

use std::time::Duration;

use expect_test::expect;
use tokio::time::Instant;
use witlet_testkit::{Behaviour, FakeImage, SourceHandle, container, pod};

use crate::support::{node, orders, pass, reported, sleeper, started, status};

#[tokio::test(start_paused = true)]
async fn a_restarted_agent_gives_the_runtime_no_orders_and_judges_no_one_again() {
    let mut node = started();
    let pods = (0..10).map(|n| sleeper(&format!("p{n}")).build()).collect();
    node.source.put("all", pods);
    pass(5.0).await;
    let asked = node.admission.asked().len();
    assert_eq!(asked, 10);
    orders(&node);
    for _ in 0..3 {
        node.kill();
        pass(7.0).await;
        node.start();
        pass(30.0).await;
        assert_eq!(orders(&node), "");
        assert!((0..10).all(|n| status(&node, &format!("p{n}")) == "Running app: running, 0 restarts"));
    }
    assert_eq!(node.admission.asked().len(), asked);
}

#[tokio::test(start_paused = true)]
async fn an_agent_asked_to_readmit_judges_everyone_again_and_ends_no_one_that_is_admitted() {
    let mut node = started();
    node.source.put("all", (0..3).map(|n| sleeper(&format!("p{n}")).build()).collect());
    pass(5.0).await;
    orders(&node);
    node.kill();
    node.config.readmit_on_restart = true;
    node.start();
    pass(30.0).await;
    assert_eq!(node.admission.asked().len(), 6);
    assert_eq!(orders(&node), "");
}

#[tokio::test(start_paused = true)]
async fn an_agent_killed_at_any_moment_of_a_start_finishes_it_without_duplicates() {
    for tenths in 0..40 {
        let mut node = node();
        node.runtime.add_image(
            "slow:1",
            FakeImage { pull_takes: Duration::from_millis(900), ..FakeImage::absent(Behaviour::Sleeps) },
        );
        node.start();
        node.source.put("p", vec![pod("p").image("slow:1").container(container("b", "sleeper:1")).build()]);
        pass(f64::from(tenths) / 10.0).await;
        node.kill();
        node.start();
        pass(30.0).await;
        let log = orders(&node);
        let count = |what: &str| log.lines().filter(|line| line.contains(what)).count();
        assert_eq!(
            status(&node, "p"),
            "Running app: running, 0 restarts b: running, 0 restarts",
            "{tenths}\n{log}"
        );
        assert_eq!((count(" run sandbox "), count(" start ")), (1, 2), "{tenths}\n{log}");
    }
}

#[tokio::test(start_paused = true)]
async fn remembered_pods_are_counted_before_a_new_pod_is_judged() {
    let mut node = started();
    let cpu = |name: &str| pod(name).container(container("app", "sleeper:1").request("cpu", "3")).build();
    node.source.put("b", vec![cpu("old")]);
    pass(5.0).await;
    node.kill();
    // The new one is named first, and comes at the same time as the old one.
    node.source.put("a", vec![cpu("new")]);
    node.start();
    pass(10.0).await;
    assert_eq!(status(&node, "old"), "Running app: running, 0 restarts");
    assert!(status(&node, "new").contains("UnexpectedAdmissionError"), "{}", status(&node, "new"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_ran_once_is_not_run_again_by_a_restarted_agent() {
    let mut node = started();
    node.runtime
        .add_image("job:1", FakeImage::present(Behaviour::Exits { code: 0, after: Duration::from_secs(1) }));
    node.source.put("j", vec![pod("job").image("job:1").restart_policy("Never").build()]);
    pass(10.0).await;
    assert_eq!(status(&node, "job"), "Succeeded app: ended 0, 0 restarts");
    orders(&node);
    node.kill();
    node.start();
    pass(30.0).await;
    assert_eq!(status(&node, "job"), "Succeeded app: ended 0, 0 restarts");
    assert_eq!(orders(&node), "");
}

#[tokio::test(start_paused = true)]
async fn an_orphan_ends_with_the_grace_that_it_was_promised() {
    let mut node = started();
    node.source.put("p", vec![sleeper("orphan").grace_seconds(13).build()]);
    pass(5.0).await;
    orders(&node);
    node.kill();
    node.source.remove("p");
    node.start();
    pass(10.0).await;
    expect![[r#"
        7.000 stop within 13s orphan-node1/app#0
        7.000 ended with 143 orphan-node1/app#0
        7.000 stop sandbox orphan-node1#0
        11.000 remove sandbox orphan-node1#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_pod_edited_while_the_agent_was_away_starts_after_the_old_one_ended() {
    let mut node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    node.source.put("p", vec![pod("web").image("stubborn:1").grace_seconds(6).build()]);
    pass(5.0).await;
    orders(&node);
    node.kill();
    node.source.put("p", vec![sleeper("web").build()]);
    node.start();
    pass(30.0).await;
    expect![[r#"
        7.000 stop within 6s web-node1/app#0
        13.000 ended with 137 web-node1/app#0
        13.000 stop sandbox web-node1#0
        13.000 run sandbox web-node1#0
        13.000 create web-node1/app#0
        13.000 start web-node1/app#0
        15.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_static_pod_edited_while_the_agent_was_away_replaces_the_old_one_though_a_source_is_unseen() {
    let mut node = node();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    let second = SourceHandle::new("second", "node1");
    second.speak();
    node.more_sources.push(second);
    node.start();
    node.source.put("p", vec![pod("web").image("stubborn:1").grace_seconds(6).build()]);
    node.source.put("gone", vec![sleeper("gone").build()]);
    pass(5.0).await;
    orders(&node);
    node.kill();
    node.source.put("p", vec![sleeper("web").build()]);
    node.source.remove("gone");
    node.more_sources = vec![SourceHandle::new("second", "node1")];
    node.start();
    pass(60.0).await;
    // What has no taken name waits for the source.
    expect![[r#"
        15.000 stop within 6s web-node1/app#0
        21.000 ended with 137 web-node1/app#0
        21.000 stop sandbox web-node1#0
        21.000 run sandbox web-node1#0
        21.000 create web-node1/app#0
        21.000 start web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    assert!(reported(&node, "web").contains("Replacing ×1 Waiting for pod "), "{}", reported(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_manifest_broke_while_the_agent_was_away_goes_on_until_it_can_be_read() {
    let mut node = started();
    let manifest = || vec![sleeper("kept").build()];
    node.source.put("kept", manifest());
    node.source.put("gone", vec![sleeper("gone").build()]);
    pass(5.0).await;
    orders(&node);
    node.kill();
    node.source.remove("kept");
    node.source.set_complete(false);
    node.start();
    pass(30.0).await;
    // What this agent has met is ended as ever.
    node.source.remove("gone");
    pass(60.0).await;
    let log = orders(&node);
    assert!(log.contains("gone") && !log.contains("kept"), "{log}");
    let asked = node.admission.asked().len();
    node.source.put("kept", manifest());
    node.source.set_complete(true);
    pass(30.0).await;
    assert_eq!(status(&node, "kept"), "Running app: running, 0 restarts");
    assert_eq!((orders(&node).as_str(), node.admission.asked().len()), ("", asked));
    // Once all can be read, what has no manifest has to go.
    node.kill();
    node.source.remove("kept");
    node.start();
    pass(60.0).await;
    assert!(orders(&node).contains("kept"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_ended_before_every_source_was_seen() {
    let mut node = node();
    let second = SourceHandle::new("second", "node1");
    second.put("s", vec![sleeper("second").build()]);
    node.more_sources.push(second.clone());
    node.start();
    pass(5.0).await;
    orders(&node);
    node.kill();
    // After the restart the second source takes its time.
    let silent = SourceHandle::new("second", "node1");
    node.more_sources = vec![silent.clone()];
    node.start();
    pass(60.0).await;
    assert_eq!(orders(&node), "");
    silent.put("s", vec![sleeper("second").build()]);
    pass(10.0).await;
    assert_eq!(orders(&node), "");
    assert_eq!(status(&node, "second"), "Running app: running, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_agent_leaves_its_pods_alone() {
    let mut node = started();
    node.source.put("p", vec![sleeper("p").build()]);
    pass(5.0).await;
    orders(&node);
    let begun = Instant::now();
    node.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(6));
    pass(10.0).await;
    assert_eq!(orders(&node), "");
}

#[tokio::test(start_paused = true)]
async fn an_agent_reported_to_takes_its_pods_with_it() {
    let mut node = node();
    node.config.stop_pods_on_exit = true;
    node.start();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    let pods = vec![sleeper("a").build(), pod("b").image("stubborn:1").grace_seconds(3).build()];
    node.source.put("p", pods);
    pass(5.0).await;
    orders(&node);
    node.stop().await;
    expect![[r#"
        5.000 stop within 30s a-node1/app#0
        5.000 ended with 143 a-node1/app#0
        5.000 stop sandbox a-node1#0
        5.000 stop within 3s b-node1/app#0
        8.000 ended with 137 b-node1/app#0
        8.000 stop sandbox b-node1#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_cannot_be_stopped_does_not_keep_the_agent_from_ending() {
    let mut node = node();
    node.config.stop_pods_on_exit = true;
    node.start();
    node.runtime.add_image("immortal:1", FakeImage::present(Behaviour::CannotBeStopped));
    node.source.put("p", vec![pod("p").image("immortal:1").build()]);
    pass(5.0).await;
    let begun = Instant::now();
    node.stop().await;
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(60) && took < Duration::from_secs(75), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn restart_counts_of_containers_that_the_runtime_forgot_go_on_from_their_logs() {
    let node = started();
    node.files.add_log("app", 4);
    node.source.put("p", vec![sleeper("p").container(container("new", "sleeper:1")).build()]);
    pass(5.0).await;
    expect![[r#"
        0.000 run sandbox p-node1#0
        0.000 create p-node1/app#5
        0.000 start p-node1/app#5
        0.000 create p-node1/new#0
        0.000 start p-node1/new#0
    "#]]
    .assert_eq(&orders(&node));
    node.files.add_log("app", 9);
    node.runtime.end_container("p-node1", "app", 1);
    pass(5.0).await;
    assert_eq!(status(&node, "p"), "Running app: running, 6 restarts new: running, 0 restarts");
}
