//! Images are fetched by policy, and failures of it are reported and delayed.

use std::time::Duration;

use expect_test::expect;
use k8s_openapi::api::core::v1::{LocalObjectReference, Pod};
use serde_json::json;
use witlet_core::image::records::VerificationPolicy;
use witlet_ports::PullRecords as _;
use witlet_testkit::{Behaviour, FakeImage, FakeNode, container, pod};

use crate::support::{events, from_spec, node, orders, pass, reported, started, status};

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
    expect![[r#"Pending app: ImagePullBackOff(Back-off pulling image "image:1": ErrImagePull: registry says no), 0 restarts"#]].assert_eq(&status(&node, "p"));
    pass(10.0).await;
    expect!["Pending app: ErrImagePull(registry says no), 0 restarts"].assert_eq(&status(&node, "p"));
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
        MissingClusterDNS ×1 pod: "p-node1_default(b6f01ecd7a03355da62faef4ce9d456c)". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.
        Failed ×4 Failed to pull image "image:1": registry says no
        Failed ×4 Error: ErrImagePull
        BackOff ×5 Back-off pulling image "image:1"
        Failed ×5 Error: ImagePullBackOff
        Pulling ×5 Pulling image "image:1"
        Pulled ×1 Successfully pulled image "image:1" in 0.0s (0.0s including waiting). Image size: 1 bytes.
        Created ×1 Container created
        Started ×1 Container started
    "#]]
    .assert_eq(&events(&node, "p"));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_no_image_is_reported_and_never_pulled() {
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

#[tokio::test(start_paused = true)]
async fn pods_that_want_the_same_image_share_a_pull_and_others_wait_their_turn() {
    let node = started();
    for image in ["one:1", "two:1"] {
        let image_behaviour = FakeImage::absent(Behaviour::Sleeps);
        node.runtime.add_image(image, FakeImage { pull_takes: Duration::from_secs(5), ..image_behaviour });
    }
    let of = |image: &str| json!({"containers": [{"name": "app", "image": image}]});
    node.source.put("a", vec![from_spec("a", of("one:1"))]);
    node.source.put("b", vec![from_spec("b", of("one:1"))]);
    node.source.put("c", vec![from_spec("c", of("two:1"))]);
    pass(20.0).await;
    expect![[r#"
        0.000 run sandbox a-node1#0
        0.000 pull one:1
        0.000 run sandbox b-node1#0
        0.000 run sandbox c-node1#0
        5.000 create a-node1/app#0
        5.000 start a-node1/app#0
        5.000 create b-node1/app#0
        5.000 start b-node1/app#0
        5.000 pull two:1
        10.000 create c-node1/app#0
        10.000 start c-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    expect![[r#"
        Pulling ×1 Pulling image "one:1"
        Pulled ×1 Successfully pulled image "one:1" in 5.0s (5.0s including waiting). Image size: 1 bytes.
        Created ×1 Container created
        Started ×1 Container started
    "#]]
    .assert_eq(&reported(&node, "a"));
}

#[tokio::test(start_paused = true)]
async fn pull_secrets_that_are_missing_are_reported_and_the_pull_goes_on() {
    let node = started();
    node.runtime.add_image("private:1", FakeImage::absent(Behaviour::Sleeps));
    let spec = json!({
        "imagePullSecrets": [{"name": "nowhere"}],
        "containers": [{"name": "app", "image": "private:1"}],
    });
    node.credentials.set_missing(&["nowhere"]);
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(3.0).await;
    expect![[r#"
        Pulling ×1 Pulling image "private:1"
        FailedToRetrieveImagePullSecret ×1 Unable to retrieve some image pull secrets (nowhere); attempting to pull the image may not succeed.
        Pulled ×1 Successfully pulled image "private:1" in 0.0s (0.0s including waiting). Image size: 1 bytes.
        Created ×1 Container created
        Started ×1 Container started
    "#]].assert_eq(&reported(&node, "web"));
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "web"));
}

fn slow(seconds: u64) -> FakeImage {
    FakeImage { pull_takes: Duration::from_secs(seconds), ..FakeImage::absent(Behaviour::Sleeps) }
}

#[tokio::test(start_paused = true)]
async fn parallel_pulls_run_at_the_same_time_up_to_their_limit() {
    for (parallel_max, begun) in [(None, [0, 0, 0]), (Some(2), [0, 0, 5]), (Some(1), [0, 5, 10])] {
        let mut node = node();
        node.config.image_pulls.serialize = false;
        node.config.image_pulls.parallel_max = parallel_max;
        node.start();
        for n in 0..3 {
            node.runtime.add_image(&format!("i{n}:1"), slow(5));
            let name = format!("p{n}");
            node.source.put(&name, vec![pod(&name).image(&format!("i{n}:1")).build()]);
        }
        pass(30.0).await;
        let log = orders(&node);
        let pulls: Vec<&str> = log.lines().filter(|line| line.contains(" pull ")).collect();
        // In whole seconds: pods that come together start 50 ms apart at most, by the writes of their admissions.
        let begins: Vec<&str> = pulls.iter().filter_map(|line| Some(line.split_once('.')?.0)).collect();
        assert_eq!(begins, begun.map(|at| at.to_string()), "{parallel_max:?}\n{log}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_delay_of_a_failing_pull_stays_at_five_minutes_and_is_the_images() {
    let node = started();
    node.runtime
        .add_image("image:1", FakeImage { pulls_fail: 1_000, ..FakeImage::absent(Behaviour::Sleeps) });
    let with = |image: &str| json!({"containers": [{"name": "app", "image": image}]});
    node.source.put("p", vec![crate::support::pod_with_uid("p", "u1", with("image:1"))]);
    pass(1400.0).await;
    let log = orders(&node);
    let pulls: Vec<&str> = log.lines().filter(|line| line.contains(" pull ")).collect();
    expect![[r#"
        0.000 pull image:1
        10.000 pull image:1
        30.000 pull image:1
        70.000 pull image:1
        150.000 pull image:1
        310.000 pull image:1
        610.000 pull image:1
        910.000 pull image:1
        1210.000 pull image:1"#]]
    .assert_eq(&pulls.join("\n"));
    node.runtime.add_image("other:1", FakeImage::absent(Behaviour::Sleeps));
    node.source.put("p", vec![crate::support::pod_with_uid("p", "u1", with("other:1"))]);
    pass(3.0).await;
    assert!(status(&node, "p").contains("app: running"), "{}", status(&node, "p"));
}

#[tokio::test(start_paused = true)]
async fn credentials_are_tried_in_their_order_until_one_is_right() {
    for (users, wants, tried, runs) in [
        (&["one", "two", "three"][..], "two", &["one", "two"][..], true),
        (&["one", "two"], "no-one", &["one", "two"], false),
        (&[], "one", &[""], false),
    ] {
        let node = started();
        let image = FakeImage { wants_user: Some(wants.to_owned()), ..FakeImage::absent(Behaviour::Sleeps) };
        node.runtime.add_image("registry.test/private:1", image);
        node.credentials.add("registry.test/", users);
        node.source.put("p", vec![pod("p").image("registry.test/private:1").build()]);
        pass(3.0).await;
        let log = orders(&node);
        let pulls: Vec<&str> = log.lines().filter(|line| line.contains(" pull ")).collect();
        let expected: Vec<String> = tried
            .iter()
            .map(|user| match *user {
                "" => "0.000 pull registry.test/private:1".to_owned(),
                user => format!("0.000 pull as {user} registry.test/private:1"),
            })
            .collect();
        assert_eq!(pulls, expected);
        assert_eq!(status(&node, "p").contains("app: running"), runs, "{}", status(&node, "p"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_image_by_digest_is_asked_for_by_it() {
    let node = started();
    let name = format!("registry.test/app@sha256:{}", "a".repeat(64));
    node.runtime.add_image(&name, FakeImage::absent(Behaviour::Sleeps));
    node.source.put("p", vec![pod("p").image(&name).build()]);
    pass(3.0).await;
    assert!(orders(&node).contains(&format!("pull {name}\n")));
    let config = node.runtime.container_spec("p-node1", "app").expect("it was made");
    assert_eq!(config.image, name);
}

#[tokio::test(start_paused = true)]
async fn an_image_without_a_tag_is_the_latest_and_always_fetched() {
    let node = started();
    node.runtime.add_image("app:latest", FakeImage::present(Behaviour::Sleeps));
    node.source.put("p", vec![pod("p").image("app").build()]);
    pass(3.0).await;
    assert!(orders(&node).contains("pull app:latest"));
}

#[tokio::test(start_paused = true)]
async fn a_pull_that_works_between_two_that_fail_does_not_shorten_the_delay() {
    let node = started();
    let failing = |pulls_fail| FakeImage { pulls_fail, ..FakeImage::absent(Behaviour::Sleeps) };
    node.runtime.add_image("image:1", failing(1));
    node.source.put("p", vec![pod("p").container(container("app", "image:1").pull_policy("Always")).build()]);
    pass(25.0).await;
    node.runtime.add_image("image:1", failing(1));
    node.runtime.end_container("p-node1", "app", 1);
    pass(100.0).await;
    let pulls = orders(&node);
    let pulls: Vec<&str> = pulls.lines().filter(|line| line.ends_with("pull image:1")).collect();
    assert_eq!(pulls, ["0.000", "10.000", "25.000", "45.000"].map(|at| format!("{at} pull image:1")));
}

/// A pod that names these pull secrets.
fn with_secrets(name: &str, image: &str, secrets: &[&str]) -> Pod {
    let mut pod = pod(name).image(image).build();
    let named = secrets.iter().map(|name| LocalObjectReference { name: (*name).to_owned() });
    if let Some(spec) = &mut pod.spec {
        spec.image_pull_secrets = Some(named.collect());
    }
    pod
}

fn private() -> FakeImage {
    FakeImage { wants_user: Some("ann".to_owned()), ..FakeImage::absent(Behaviour::Sleeps) }
}

#[tokio::test(start_paused = true)]
async fn a_private_image_that_is_there_is_for_pods_that_show_its_credentials() {
    let mut node = started();
    let image = "registry.test/private:1";
    node.runtime.add_image(image, private());
    node.credentials.add_secret("anns", "ann");
    node.credentials.add_secret("copy-of-anns", "ann");
    node.credentials.add_secret("bobs", "bob");
    let mut pods = vec![with_secrets("first", image, &["anns"])];
    node.source.put("p", pods.clone());
    pass(3.0).await;
    assert!(status(&node, "first").contains("app: running"), "{}", status(&node, "first"));
    pods.extend([
        with_secrets("same", image, &["anns"]),
        with_secrets("copy", image, &["copy-of-anns"]),
        with_secrets("other", image, &["bobs"]),
        with_secrets("nothing", image, &[]),
    ]);
    node.source.put("p", pods.clone());
    pass(3.0).await;
    for (name, runs) in [("same", true), ("copy", true), ("other", false), ("nothing", false)] {
        assert_eq!(status(&node, name).contains("app: running"), runs, "{}", status(&node, name));
    }
    let log = orders(&node);
    assert_eq!(log.matches("pull as ann ").count(), 1, "once, for the first pod: {log}");
    assert!(log.contains("pull as bob "), "who shows something else has to pull: {log}");
    // The records survive the agent.
    node.stop().await;
    node.start();
    pods.push(with_secrets("late", image, &[]));
    node.source.put("p", pods);
    pass(3.0).await;
    assert!(!status(&node, "late").contains("app: running"), "{}", status(&node, "late"));
}

#[tokio::test(start_paused = true)]
async fn an_image_whose_pull_was_cut_by_a_crash_is_verified() {
    for (begun, policy, runs) in [
        (false, VerificationPolicy::NeverVerifyPreloadedImages, true),
        (true, VerificationPolicy::NeverVerifyPreloadedImages, false),
        (true, VerificationPolicy::NeverVerify, true),
        (false, VerificationPolicy::AlwaysVerify, false),
    ] {
        let mut node = FakeNode::new();
        let image = "registry.test/private:1";
        node.runtime.add_image(image, FakeImage { present: true, ..private() });
        if begun {
            node.pull_records.begin(image);
        }
        node.config.image_verification = policy.clone();
        node.start();
        node.source.put("p", vec![with_secrets("p", image, &[])]);
        pass(3.0).await;
        assert_eq!(status(&node, "p").contains("app: running"), runs, "{policy:?}: {}", status(&node, "p"));
        let intents = node.pull_records.intents().await.expect("in memory");
        assert!(intents.is_empty(), "what was begun came to an end: {intents:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_image_that_may_not_be_had_looks_like_none_to_a_pod_that_never_pulls() {
    let node = started();
    let image = "registry.test/private:1";
    node.runtime.add_image(image, private());
    node.credentials.add_secret("anns", "ann");
    node.source.put("p", vec![with_secrets("first", image, &["anns"])]);
    pass(3.0).await;
    let mut never = with_secrets("never", image, &[]);
    if let Some(spec) = &mut never.spec {
        spec.containers[0].image_pull_policy = Some("Never".to_owned());
    }
    node.source.put("p", vec![with_secrets("first", image, &["anns"]), never]);
    pass(3.0).await;
    let reported = status(&node, "never");
    assert!(reported.contains("ErrImageNeverPull"), "{reported}");
}
