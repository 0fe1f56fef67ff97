//! Which containers are started again, when, and in which sandbox.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{ends_after, from_spec, orders, pass, pod_with_uid, started, status, status_of};

#[tokio::test(start_paused = true)]
async fn a_container_that_restarts_all_has_them_removed_and_begun_again() {
    let node = started();
    ends_after(&node, "init:1", 0, 1);
    ends_after(&node, "again:1", 42, 5);
    let rules = json!([{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]);
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{"name": "first", "image": "init:1"}],
        "containers": [
            {"name": "app", "image": "again:1", "restartPolicy": "Never", "restartPolicyRules": rules},
            {"name": "side", "image": "sleeper:1"},
        ],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(8.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/first#0
        0.000 start web-node1/first#0
        1.000 create web-node1/app#0
        1.000 start web-node1/app#0
        1.000 create web-node1/side#0
        1.000 start web-node1/side#0
        6.000 stop within 30s web-node1/side#0
        6.000 ended with 143 web-node1/side#0
        6.000 remove web-node1/side#0
        6.000 remove web-node1/first#0
        6.000 remove web-node1/app#0
        6.000 create web-node1/first#1
        6.000 start web-node1/first#1
        7.000 create web-node1/app#1
        7.000 start web-node1/app#1
        7.000 create web-node1/side#1
        7.000 start web-node1/side#1
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_sandbox_that_fails_is_tried_again_and_nothing_is_started_without_it() {
    let node = started();
    node.runtime.fail_next("RunPodSandbox", 1);
    let spec = json!({"containers": [{"name": "app", "image": "sleeper:1"}]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(5.0).await;
    expect![[""]].assert_eq(&orders(&node));
    expect!["Pending app: ContainerCreating(), 0 restarts"].assert_eq(&status(&node, "web"));
    pass(20.0).await;
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "web"));
}

/// A container with a policy of its own, in a pod that runs once.
fn with_rules(rules: &Value) -> Value {
    json!({
        "restartPolicy": "Never",
        "containers": [
            {"name": "app", "image": "app:1", "restartPolicy": "Never", "restartPolicyRules": rules},
        ],
    })
}

#[tokio::test(start_paused = true)]
async fn restart_rules_decide_by_exit_code() {
    let rule = |operator: &str, action: &str| json!([{"action": action, "exitCodes": {"operator": operator, "values": [42]}}]);
    for (rules, code, restarts) in [
        (rule("In", "Restart"), 42, true),
        (rule("In", "Restart"), 1, false),
        (rule("NotIn", "Restart"), 42, false),
        (rule("NotIn", "Restart"), 1, true),
        (rule("In", "RestartAllContainers"), 1, false),
    ] {
        let node = started();
        ends_after(&node, "app:1", code, 5);
        node.source.put("web", vec![from_spec("web", with_rules(&rules))]);
        pass(8.0).await;
        let started_again = orders(&node).contains("5.000 start web-node1/app#1");
        assert_eq!(started_again, restarts, "{rules} {code}");
        let phase = status_of(&node, "web").phase.unwrap_or_default();
        assert_eq!(phase, if restarts { "Running" } else { "Failed" }, "{rules} {code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_containers_own_policy_goes_before_the_pods() {
    for (own, pods, code, restarts) in [
        ("Always", "Never", 0, true),
        ("OnFailure", "Never", 0, false),
        ("OnFailure", "Never", 1, true),
        ("Never", "Always", 1, false),
    ] {
        let node = started();
        ends_after(&node, "app:1", code, 5);
        let spec = json!({
            "restartPolicy": pods,
            "containers": [
                {"name": "app", "image": "app:1", "restartPolicy": own},
                {"name": "other", "image": "sleeper:1"},
            ],
        });
        node.source.put("web", vec![from_spec("web", spec)]);
        pass(8.0).await;
        let started_again = orders(&node).contains("5.000 start web-node1/app#1");
        assert_eq!(started_again, restarts, "{own} in {pods} with {code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_container_is_made_again_whatever_the_policy_and_others_stay() {
    for policy in ["Always", "OnFailure", "Never"] {
        let node = started();
        let with = |value: &str| {
            json!({
                "restartPolicy": policy,
                "containers": [
                    {"name": "app", "image": "sleeper:1", "env": [{"name": "A", "value": value}]},
                    {"name": "other", "image": "sleeper:1"},
                ],
            })
        };
        node.source.put("web", vec![pod_with_uid("web", "u1", with("1"))]);
        pass(3.0).await;
        orders(&node);
        node.source.put("web", vec![pod_with_uid("web", "u1", with("2"))]);
        pass(5.0).await;
        assert_eq!(
            orders(&node),
            "3.000 stop within 30s web-node1/app#0\n3.000 ended with 143 web-node1/app#0\n\
             3.000 create web-node1/app#1\n3.000 start web-node1/app#1\n",
            "{policy}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_container_of_unknown_state_is_stopped_before_it_is_started_again() {
    let node = started();
    node.source
        .put("web", vec![from_spec("web", json!({"containers": [{"name": "app", "image": "sleeper:1"}]}))]);
    pass(3.0).await;
    orders(&node);
    node.runtime.lose_track("web-node1", "app");
    pass(20.0).await;
    expect![[r#"
        3.000 stop within 30s web-node1/app#0
        3.000 ended with 143 web-node1/app#0
        3.000 create web-node1/app#1
        3.000 start web-node1/app#1
    "#]]
    .assert_eq(&orders(&node));
    expect!["Running app: running, 1 restarts"].assert_eq(&status(&node, "web"));
}

/// Whether a pod whose sandbox is lost gets another one.
async fn replaced(policy: &str, ends: Option<i32>) -> bool {
    let node = started();
    if let Some(code) = ends {
        ends_after(&node, "app:1", code, 1);
    } else {
        ends_after(&node, "app:1", 0, 1_000_000);
    }
    let spec = json!({
        "restartPolicy": policy,
        "containers": [{"name": "app", "image": "app:1"}, {"name": "stays", "image": "sleeper:1"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(3.0).await;
    orders(&node);
    node.runtime.lose_sandboxes();
    pass(20.0).await;
    orders(&node).contains("run sandbox web-node1#1")
}

#[tokio::test(start_paused = true)]
async fn a_lost_sandbox_is_replaced_unless_the_pod_runs_once() {
    for (policy, replaces) in [("Always", true), ("OnFailure", true), ("Never", false)] {
        assert_eq!(replaced(policy, None).await, replaces, "{policy}");
        assert_eq!(replaced(policy, Some(0)).await, replaces, "{policy} with one that ended");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_ended_gets_no_new_sandbox() {
    let node = started();
    ends_after(&node, "job:1", 0, 1);
    let spec = json!({"restartPolicy": "OnFailure", "containers": [{"name": "job", "image": "job:1"}]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(5.0).await;
    orders(&node);
    node.runtime.lose_sandboxes();
    pass(20.0).await;
    assert_eq!(orders(&node), "");
    assert_eq!(status(&node, "web"), "Succeeded job: ended 0, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn the_delay_of_a_crashing_container_begins_again_after_ten_good_minutes() {
    let node = started();
    ends_after(&node, "app:1", 1, 1);
    let spec = json!({"containers": [{"name": "app", "image": "app:1"}]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(50.0).await;
    assert!(status(&node, "web").contains("CrashLoopBackOff"));
    // The instance after this runs well for long.
    ends_after(&node, "app:1", 1, 601);
    pass(800.0).await;
    let log = orders(&node);
    let starts: Vec<&str> = log.lines().filter(|line| line.contains(" start ")).collect();
    expect![[r#"
        0.000 start web-node1/app#0
        1.000 start web-node1/app#1
        12.000 start web-node1/app#2
        33.000 start web-node1/app#3
        74.000 start web-node1/app#4
        675.000 start web-node1/app#5"#]]
    .assert_eq(&starts.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn the_delay_of_a_crashing_container_begins_again_with_another_image() {
    let node = started();
    ends_after(&node, "bad:1", 1, 1);
    let with = |image: &str| json!({"containers": [{"name": "app", "image": image}]});
    node.source.put("web", vec![pod_with_uid("web", "u1", with("bad:1"))]);
    pass(60.0).await;
    orders(&node);
    ends_after(&node, "worse:1", 1, 1);
    node.source.put("web", vec![pod_with_uid("web", "u1", with("worse:1"))]);
    pass(15.0).await;
    let log = orders(&node);
    let starts: Vec<&str> = log.lines().filter(|line| line.contains(" start ")).collect();
    expect![[r#"
        60.000 start web-node1/app#4
        71.000 start web-node1/app#5"#]]
    .assert_eq(&starts.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn restarting_all_counts_on_and_leaves_other_pods_alone() {
    let node = started();
    ends_after(&node, "again:1", 42, 5);
    let rules = json!([{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]);
    let spec = json!({
        "restartPolicy": "Always",
        "containers": [
            {"name": "app", "image": "again:1", "restartPolicy": "Always", "restartPolicyRules": rules},
            {"name": "side", "image": "sleeper:1"},
        ],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    node.source.put("other", vec![crate::support::sleeper("other").build()]);
    pass(8.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 1 restarts side: running, 1 restarts");
    assert_eq!(status(&node, "other"), "Running app: running, 0 restarts");
}
