//! Images that nothing uses leave when space is needed, when they are old, and on demand; their times survive a restart.

use std::time::Duration;

use expect_test::expect;
use jiff::SignedDuration;
use serde_json::json;
use witlet_core::event::EventObject;
use witlet_core::image::gc::ImageGcPolicy;
use witlet_ports::{AgentView, PullRecords as _};
use witlet_testkit::{Behaviour, FakeImage, FakeNode};

use crate::support::{from_spec, orders, pass};

const TIMES: &str = "image-times.json";

fn sized(size: u64) -> FakeImage {
    FakeImage { size, ..FakeImage::present(Behaviour::Sleeps) }
}

fn pinned(size: u64) -> FakeImage {
    FakeImage { pinned: true, ..sized(size) }
}

/// Puts a pod of this image, always pulled if it isn't there.
fn run(node: &FakeNode, name: &str, image: &str) {
    let spec = json!({"containers": [{"name": "app", "image": image, "imagePullPolicy": "IfNotPresent"}]});
    node.source.put(name, vec![from_spec(name, spec)]);
}

/// Images that are there.
fn images(node: &FakeNode) -> String {
    node.runtime.present_images().join(" ")
}

/// Events of the node about images: reason, how often, message.
fn image_events(node: &FakeNode) -> String {
    let about_images = ["ImageGCFailed", "FreeDiskSpaceFailed", "InvalidDiskCapacity", "ImageTimesLost"];
    let events = node.agent().events().into_iter().filter(|recorded| {
        recorded.event.object == EventObject::Node && about_images.contains(&recorded.event.reason.as_str())
    });
    events.map(|e| format!("{} ×{} {}\n", e.event.reason, e.count, e.event.message)).collect()
}

fn policy(high: i32, low: i32, min_age: i64, max_age: i64) -> ImageGcPolicy {
    let seconds = SignedDuration::from_secs;
    ImageGcPolicy::new(high, low, seconds(min_age), seconds(max_age)).expect("a policy")
}

/// Three images of 100 bytes each on a disk of 1000 bytes, of which 460 are taken by something else.
fn three_images() -> FakeNode {
    let node = FakeNode::new();
    node.runtime.add_image("used:1", sized(100));
    node.runtime.add_image("pinned:1", pinned(100));
    node.runtime.add_image("old:1", sized(100));
    node.runtime.set_image_disk(1000, 460);
    node
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_is_freed_to_the_low_threshold_and_used_and_pinned_images_stay() {
    let mut node = three_images();
    node.start();
    run(&node, "web", "used:1");
    pass(10.0).await;
    node.runtime.add_image("new:1", sized(60));
    pass(600.0).await;
    assert_eq!(images(&node), "new:1 old:1 pinned:1 used:1", "82 % are in use");
    orders(&node);
    node.runtime.set_image_disk(1000, 500);
    pass(300.0).await;
    assert_eq!(images(&node), "new:1 pinned:1 used:1", "60 bytes were to be freed: the older one has them");
    expect!["900.000 remove image old:1\n"].assert_eq(&orders(&node));
    expect![""].assert_eq(&image_events(&node));
    assert_eq!(node.agent().stats().images_removed.space, 1);
    node.runtime.set_image_disk(1000, 800);
    pass(300.0).await;
    assert_eq!(images(&node), "pinned:1 used:1");
    expect![[r#"
        FreeDiskSpaceFailed ×1 Insufficient free disk space on the node's image filesystem (100% of 1000 B used). Failed to free sufficient space by deleting unused images (freed 60 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.
    "#]]
    .assert_eq(&image_events(&node));
    pass(300.0).await;
    expect![[r#"
        FreeDiskSpaceFailed ×1 Insufficient free disk space on the node's image filesystem (100% of 1000 B used). Failed to free sufficient space by deleting unused images (freed 60 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.
        FreeDiskSpaceFailed ×1 Insufficient free disk space on the node's image filesystem (100% of 1000 B used). Failed to free sufficient space by deleting unused images (freed 0 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.
        ImageGCFailed ×1 Insufficient free disk space on the node's image filesystem (100% of 1000 B used). Failed to free sufficient space by deleting unused images (freed 0 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.
    "#]]
    .assert_eq(&image_events(&node));
}

#[tokio::test(start_paused = true)]
async fn an_image_of_a_dead_container_and_of_a_mounted_volume_is_in_use() {
    let mut node = FakeNode::new();
    node.runtime.add_image(
        "job:1",
        FakeImage {
            size: 100,
            ..FakeImage::present(Behaviour::Exits { code: 0, after: Duration::from_secs(1) })
        },
    );
    node.runtime.add_image("data:1", sized(100));
    node.runtime.add_image("unused:1", sized(100));
    node.runtime.mount_image("job-node1", "app", "data:1");
    node.config.image_gc = policy(85, 80, 0, 0);
    node.start();
    let spec = json!({"restartPolicy": "Never", "containers": [{"name": "app", "image": "job:1"}]});
    node.source.put("job", vec![from_spec("job", spec)]);
    pass(60.0).await;
    node.agent().image_gc().delete_unused().await.expect("it can");
    assert_eq!(images(&node), "data:1 job:1");
    node.source.remove("job");
    pass(60.0).await;
    node.agent().image_gc().delete_unused().await.expect("it can");
    assert_eq!(images(&node), "");
}

#[tokio::test(start_paused = true)]
async fn times_survive_a_restart_and_are_saved_only_when_something_changes() {
    let mut node = FakeNode::new();
    // By their names, or by their detection, they would go in the other order.
    node.runtime.add_image("z-first-unused:1", sized(100));
    node.runtime.add_image("a-last-unused:1", sized(100));
    node.runtime.set_image_disk(1000, 0);
    node.start();
    run(&node, "first", "z-first-unused:1");
    run(&node, "last", "a-last-unused:1");
    pass(400.0).await;
    node.source.remove("first");
    pass(300.0).await;
    let saved = node.state.saves(TIMES);
    pass(7200.0).await;
    assert_eq!(
        node.state.saves(TIMES),
        saved,
        "the one in use is seen at each check, which nothing is written for"
    );
    node.source.remove("last");
    pass(300.0).await;
    node.kill();
    node.start();
    assert_eq!(node.state.saves(TIMES), saved + 1);
    pass(60.0).await;
    node.runtime.set_image_disk(1000, 700);
    pass(300.0).await;
    assert_eq!(images(&node), "a-last-unused:1");
    assert_eq!(image_events(&node), "");
}

#[tokio::test(start_paused = true)]
async fn without_readable_times_images_count_as_detected_at_the_start() {
    for bad in ["", "{\"version\":7}", "not json"] {
        let mut node = three_images();
        node.runtime.set_image_disk(1000, 640);
        node.state.put(TIMES, bad.as_bytes());
        node.start();
        pass(1.0).await;
        let events = image_events(&node);
        assert!(
            events.contains(
                "ImageTimesLost ×1 Failed to read the times of images, counting all as first detected now"
            ),
            "{events}"
        );
        assert_eq!(images(&node), "old:1 pinned:1 used:1", "none is two minutes old");
        pass(300.0).await;
        assert_eq!(images(&node), "pinned:1");
        assert!(node.state.values()[TIMES].contains("pinned:1"), "the file is written again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_fails_is_tried_again_and_reported_when_it_fails_again() {
    let mut node = three_images();
    node.runtime.add_image("also-old:1", sized(100));
    node.runtime.set_image_disk(1000, 300);
    node.start();
    run(&node, "web", "used:1");
    pass(10.0).await;
    node.runtime.set_image_disk(1000, 500);
    node.runtime.fail_next("RemoveImage", 1);
    pass(295.0).await;
    assert_eq!(images(&node), "also-old:1 pinned:1 used:1", "the other one went in its place");
    assert_eq!(image_events(&node), "", "once is no reason for an event");
    node.runtime.set_image_disk(1000, 600);
    node.runtime.fail_next("RemoveImage", 1);
    pass(300.0).await;
    expect![[r#"
        ImageGCFailed ×1 wanted to free 100 bytes, but freed 0 bytes space with errors in image deletion: rpc error: code = Unknown desc = failed as the test planned
    "#]]
    .assert_eq(&image_events(&node));
    pass(300.0).await;
    assert_eq!(images(&node), "pinned:1 used:1");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_killed_in_the_middle_goes_on_where_it_was() {
    let mut node = FakeNode::new();
    for number in 1..=4 {
        node.runtime.add_image(&format!("image:{number}"), sized(100));
    }
    node.runtime.set_image_disk(1000, 0);
    node.config.image_gc = policy(85, 80, 0, 0);
    node.start();
    pass(200.0).await;
    node.runtime.set_image_disk(1000, 599);
    node.runtime.set_image_removals_take(Duration::from_secs(30));
    pass(145.0).await;
    assert_eq!(images(&node), "image:2 image:3 image:4", "the second one is being removed");
    node.kill();
    pass(60.0).await;
    node.start();
    pass(100.0).await;
    expect![[r#"
        330.000 remove image image:1
        435.000 remove image image:2
    "#]]
    .assert_eq(&orders(&node));
    assert_eq!(images(&node), "image:3 image:4", "enough is free");
    let times = node.state.values().remove(TIMES).expect("saved");
    assert!(!times.contains("image:1") && times.contains("image:3"), "{times}");
}

#[tokio::test(start_paused = true)]
async fn all_unused_images_go_on_demand_but_those_that_are_young() {
    let mut node = three_images();
    node.config.image_gc = policy(100, 80, 120, 0);
    node.start();
    run(&node, "web", "used:1");
    pass(100.0).await;
    node.agent().image_gc().delete_unused().await.expect("it can");
    assert_eq!(images(&node), "old:1 pinned:1 used:1");
    pass(20.0).await;
    node.agent().image_gc().delete_unused().await.expect("it can");
    assert_eq!(images(&node), "pinned:1 used:1");
    let gc = node.agent().image_gc().clone();
    node.runtime.set_down(true);
    let error = gc.delete_unused().await.expect_err("the runtime is down");
    assert!(
        error
            .to_string()
            .starts_with("rpc error: code = Unavailable desc = failed to reach the runtime at fake"),
        "{error}"
    );
    node.runtime.set_down(false);
    node.stop().await;
    let error = gc.delete_unused().await.expect_err("the agent is gone");
    assert_eq!(error.to_string(), "the agent has ended");
}

#[tokio::test(start_paused = true)]
async fn without_threshold_and_maximum_age_nothing_goes_by_itself() {
    let mut node = three_images();
    node.config.image_gc = policy(100, 80, 0, 0);
    node.runtime.set_image_disk(1000, 10_000);
    node.start();
    pass(3600.0).await;
    assert_eq!(images(&node), "old:1 pinned:1 used:1");
    assert_eq!(image_events(&node), "");
    assert!(node.state.values().contains_key(TIMES), "they are checked all the same");
}

#[tokio::test(start_paused = true)]
async fn an_image_goes_at_the_maximum_age_and_a_clock_that_is_set_makes_none_older() {
    let mut node = three_images();
    node.config.image_gc = policy(100, 80, 120, 3600);
    node.start();
    run(&node, "web", "used:1");
    pass(10.0).await;
    node.clock.jump(86_400);
    pass(1800.0).await;
    node.clock.jump(-2 * 86_400);
    pass(1700.0).await;
    assert_eq!(images(&node), "old:1 pinned:1 used:1");
    node.runtime.add_image("new:1", sized(100));
    pass(600.0).await;
    assert_eq!(images(&node), "new:1 pinned:1 used:1", "the new one was pulled ten minutes ago");
    let removed = node.agent().stats().images_removed;
    assert_eq!((removed.age, removed.space), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_file_system_without_size_is_reported() {
    let mut node = three_images();
    node.runtime.set_image_disk(0, 0);
    node.start();
    pass(301.0).await;
    expect![[r#"
        InvalidDiskCapacity ×2 invalid capacity 0 on image filesystem
        ImageGCFailed ×1 invalid capacity 0 on image filesystem
    "#]]
    .assert_eq(&image_events(&node));
}

#[tokio::test(start_paused = true)]
async fn a_file_system_that_cannot_be_read_fails_the_collection() {
    let mut node = three_images();
    node.runtime.set_image_disk(1000, 640);
    node.runtime.fail_next("ImageFsInfo", 2);
    node.start();
    pass(10.0).await;
    assert_eq!(image_events(&node), "");
    pass(300.0).await;
    assert_eq!(
        image_events(&node),
        "ImageGCFailed ×1 rpc error: code = Unknown desc = failed as the test planned\n"
    );
    assert_eq!(images(&node), "old:1 pinned:1 used:1");
    pass(300.0).await;
    assert_eq!(images(&node), "pinned:1");
}

#[tokio::test(start_paused = true)]
async fn records_of_pulls_go_with_their_images_and_only_with_them() {
    let mut node = FakeNode::new();
    for name in ["private:1", "gone:1"] {
        let image = FakeImage { size: 100, ..FakeImage::absent(Behaviour::Sleeps) };
        node.runtime.add_image(name, image);
    }
    node.start();
    run(&node, "web", "private:1");
    run(&node, "job", "gone:1");
    pass(300.0).await;
    let records = async |node: &FakeNode| -> Vec<String> {
        let records = node.pull_records.records().await.expect("in memory");
        records.into_iter().map(|record| record.image_ref).collect()
    };
    assert_eq!(records(&node).await, ["gone:1", "private:1"]);
    node.source.remove("job");
    pass(150.0).await;
    node.agent().image_gc().delete_unused().await.expect("it can");
    assert_eq!(images(&node), "private:1");
    assert_eq!(records(&node).await, ["private:1"], "who may use the image in use is still known");
}
