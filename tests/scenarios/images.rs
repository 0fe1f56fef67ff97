//! Images are fetched by policy, and failures of it are told and delayed.

use std::time::Duration;

use expect_test::expect;
use witlet_testkit::{Behaviour, FakeImage, container, pod};

use crate::support::{events, orders, pass, started, status};

#[tokio::test(start_paused = true)]
async fn the_pull_policy_decides_whether_an_image_is_fetched() {
    for (policy, present, pulled, reason) in [
        ("Always", true, true, "running"),
        ("Always", false, true, "running"),
        ("IfNotPresent", true, false, "running"),
        ("IfNotPresent", false, true, "running"),
        ("Never", true, false, "running"),
        ("Never", false, false, "ErrImageNeverPull"),
    ] {
        let node = started();
        let image = if present { FakeImage::present } else { FakeImage::absent };
        node.runtime.add_image("image:1", image(Behaviour::Sleeps));
        node.source
            .put("p", vec![pod("p").container(container("app", "image:1").pull_policy(policy)).build()]);
        pass(5.0).await;
        let what = format!("{policy} present={present}");
        assert_eq!(orders(&node).contains("pull image:1"), pulled, "{what}");
        assert!(status(&node, "p").contains(reason), "{what}: {}", status(&node, "p"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_pull_is_tried_again_with_a_delay_that_doubles() {
    let node = started();
    node.runtime.add_image("image:1", FakeImage { pulls_fail: 4, ..FakeImage::absent(Behaviour::Sleeps) });
    node.source.put("p", vec![pod("p").image("image:1").build()]);
    pass(2.0).await;
    expect![[r#"Pending app: ImagePullBackOff(Back-off pulling image "image:1": ErrImagePull: PullImage: registry says no), 0 restarts"#]].assert_eq(&status(&node, "p"));
    pass(10.0).await;
    expect!["Pending app: ErrImagePull(PullImage: registry says no), 0 restarts"].assert_eq(&status(&node, "p"));
    pass(200.0).await;
    expect![[r#"
        0.000 run sandbox p-node1#0
        0.000 pull image:1
        10.000 pull image:1
        30.000 pull image:1
        70.000 pull image:1
        150.000 pull image:1
        150.000 create p-node1/app#0
        150.000 start p-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "p"));
    expect![[r#"
        MissingClusterDNS ×1 pod: "p-node1_default(b320256a674511a08c4724a1f79d22d8)". no cluster DNS address is configured, so the pod can't be created with policy "ClusterFirst". Falling back to policy "Default".
        Failed ×4 Failed to pull image "image:1": PullImage: registry says no
        Failed ×4 Error: ErrImagePull
        BackOff ×5 Back-off pulling image "image:1"
        Failed ×5 Error: ImagePullBackOff
        Pulling ×5 Pulling image "image:1"
        Pulled ×1 Successfully pulled image "image:1" in 0.0s (0.0s including waiting). Image size: 1 bytes.
        Created ×1 Created container app
        Started ×1 Started container app
    "#]]
    .assert_eq(&events(&node, "p"));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_no_image_is_told_and_never_pulled() {
    let node = started();
    node.source.put("p", vec![pod("p").image("Not An Image").build()]);
    pass(5.0).await;
    assert!(status(&node, "p").contains("InvalidImageName"), "{}", status(&node, "p"));
    assert!(!orders(&node).contains("pull"));
}

#[tokio::test(start_paused = true)]
async fn a_slow_pull_holds_up_neither_other_pods_nor_the_end_of_its_own() {
    let node = started();
    let slow = FakeImage { pull_takes: Duration::from_secs(10_000), ..FakeImage::absent(Behaviour::Sleeps) };
    node.runtime.add_image("slow:1", slow);
    node.source.put("slow", vec![pod("slow").image("slow:1").build()]);
    pass(2.0).await;
    node.source.put("web", vec![crate::support::sleeper("web").build()]);
    pass(2.0).await;
    assert!(status(&node, "web").contains("app: running"), "{}", status(&node, "web"));
    node.source.remove("slow");
    pass(10.0).await;
    assert_eq!(status(&node, "slow"), "not shown");
}
