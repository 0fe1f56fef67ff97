//! Puts the cases that the example has in every language to the code, and what cases of the kit can't say.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use witlet_plugin_sdk_0_2::facts::{self, NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk_0_2::{AdmissionHandler, Decision, Operation, Verdict};

use super::{POLICIES, Policy};

/// Policies that are about what cases of the kit can't say.
const NOT_IN_CASES: [&str; 2] = ["ImageUpdates", "ResizeAtMost"];
/// Policies that refuse nothing.
const NEVER_REFUSE: [&str; 1] = ["EnvSecrets"];

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    config: Value,
    #[serde(default)]
    request: Value,
    expect: Value,
}

fn cases() -> Vec<Case> {
    let cases: Cases =
        serde_saphyr::from_str(include_str!("../../../cases/policies.yaml")).expect("it is YAML");
    cases.cases
}

/// Makes a policy of its configuration, and loads it.
fn load(config: &Value) -> Result<Policy, String> {
    let policy: Policy = serde_json::from_value(config.clone()).map_err(|error| error.to_string())?;
    facts::validate(&policy).map_err(|error| error.to_string())?;
    Ok(policy)
}

fn question(request: &Value) -> RequestFacts {
    let others = request["otherPods"].as_array().into_iter().flatten();
    let operation = request["operation"].as_str().unwrap_or("add");
    RequestFacts {
        operation: Operation::from(operation.to_owned()),
        node: NodeFacts::of(&request["node"]["node"]),
        other_pods: others.map(|other| PodFacts::of(&other["pod"])).collect(),
        ..RequestFacts::of(&request["pod"])
    }
}

/// A verdict as a case writes it.
fn written(verdict: &Verdict) -> Value {
    match verdict.decision() {
        Decision::Admit => json!({"verdict": "admit"}),
        Decision::Reject { reason, message } => {
            json!({"verdict": "reject", "reason": reason, "message": message})
        }
        Decision::Defer { reason, message, retry_after } => json!({
            "verdict": "defer", "reason": reason, "message": message,
            "retryAfterMilliseconds": u64::try_from(retry_after.as_millis()).expect("it is short"),
        }),
        Decision::Shortages(shortages) => {
            let resources = shortages.iter().map(|short| {
                json!({
                    "resource": short.resource, "requested": short.requested, "used": short.used,
                    "capacity": short.capacity,
                })
            });
            json!({"verdict": "shortage", "resources": resources.collect::<Vec<_>>()})
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_case_gets_its_answer() {
    for case in cases() {
        let Case { name, config, request, expect } = case;
        if let Some(words) = expect["validate"].as_str() {
            let error = load(&config).expect_err(&name);
            assert!(error.contains(words), "{name}: {error}");
            continue;
        }
        let policy = load(&config).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = written(&policy.admit(&question(&request).request()).expect("a verdict"));
        for (field, expected) in expect.as_object().expect("it expects something") {
            match (field.as_str(), expected.as_str()) {
                ("messageContains", Some(words)) => {
                    let message = found["message"].as_str().unwrap_or_default();
                    assert!(message.contains(words), "{name}: {message}");
                }
                _ => assert_eq!(&found[field], expected, "{name}: {found}"),
            }
        }
    }
}

#[test]
fn every_policy_has_cases_of_both_kinds() {
    let mut seen = BTreeSet::new();
    for case in cases() {
        let admits = case.expect["verdict"] == "admit";
        let policy = case.config["policy"].as_str().unwrap_or_default().to_lowercase();
        seen.insert((policy, admits));
    }
    let has = |policy: &str, admits| seen.contains(&(policy.to_lowercase(), admits));
    let is_shown = |policy: &&&str| {
        NOT_IN_CASES.contains(policy)
            || has(policy, true) && (has(policy, false) || NEVER_REFUSE.contains(policy))
    };
    let missing: Vec<_> = POLICIES.iter().filter(|policy| !is_shown(policy)).collect();
    assert!(missing.is_empty(), "no case admits, or none refuses: {missing:?}");
    assert!(POLICIES.len() >= 30, "there are {}", POLICIES.len());
}

/// How many lines of logic a policy may have.
const LINES_MAX: usize = 10;

#[test]
fn no_policy_has_more_than_ten_lines_of_logic() {
    let sources = [
        include_str!("images.rs"),
        include_str!("security.rs"),
        include_str!("host.rs"),
        include_str!("resources.rs"),
        include_str!("metadata.rs"),
        include_str!("node.rs"),
    ];
    let mut policies = 0;
    for source in sources {
        for part in source.split("\nimpl AdmissionHandler for ").skip(1) {
            let name = part.split_whitespace().next().unwrap_or_default();
            let body = part.split("fn admit(").nth(1).unwrap_or_default();
            let lines = body.lines().skip(1).take_while(|line| *line != "    }");
            let lines =
                lines.filter(|line| !line.trim().is_empty() && !line.trim().starts_with("//")).count();
            assert!((1..=LINES_MAX).contains(&lines), "{name} has {lines} lines of logic");
            policies += 1;
        }
    }
    assert_eq!(policies, POLICIES.len(), "every policy is counted");
}

#[test]
fn policies_are_asked_when_they_have_something_to_say() {
    for (config, expected) in [
        (json!({"policy": "noLatestTag"}), &[Operation::Add, Operation::Update, Operation::Ephemeral][..]),
        (json!({"policy": "limitsRequired", "resources": ["cpu"]}), &[Operation::Add, Operation::Resize]),
        (json!({"policy": "imageUpdates"}), &[Operation::Update]),
        (json!({"policy": "noHostNamespaces"}), &[Operation::Add]),
    ] {
        let policy: Policy = serde_json::from_value(config).expect("a policy");
        assert_eq!(facts::validate(&policy).expect("it is loaded").subscribed(), expected);
    }
}

/// The verdict on a running pod that was another one until now.
fn changed(config: Value, operation: Operation, before: &Value, now: &Value) -> Verdict {
    let policy = load(&config).expect("a policy");
    policy.admit(&RequestFacts::of(now).changing(operation, before).request()).expect("a verdict")
}

#[test]
fn an_image_is_replaced_by_another_of_its_repository() {
    let pod = |image: &str| json!({"spec": {"containers": [{"name": "app", "image": image}]}});
    let judge =
        |now: &str| changed(json!({"policy": "imageUpdates"}), Operation::Update, &pod("a/web:1"), &pod(now));
    assert_eq!(judge("docker.io/a/web:2"), Verdict::admit());
    let problem = r#"image "docker.io/b/web:1" (spec.containers[0].image) is no version of the image before"#;
    assert_eq!(judge("b/web:1"), Verdict::reject("OtherImage", problem));
}

#[test]
fn a_running_pod_grows_by_steps() {
    let pod = |cpu: &str| json!({"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": cpu}}}]}});
    let judge = |now: &str| {
        changed(json!({"policy": "resizeAtMost", "most": 2}), Operation::Resize, &pod("500m"), &pod(now))
    };
    assert_eq!(judge("1"), Verdict::admit());
    assert_eq!(judge("1001m"), Verdict::reject("ResizeTooLarge", "1001 of cpu are more than 2 times 500"));
}

#[test]
fn secrets_in_variables_are_warned_of() {
    let policy = load(&json!({"policy": "envSecrets", "words": ["PASSWORD", "TOKEN"]})).expect("a policy");
    let facts = RequestFacts::of(&json!({"spec": {"containers": [{"name": "app", "env": [
        {"name": "MODE", "value": "a"}, {"name": "DB_PASSWORD", "value": "b"},
        {"name": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "api", "key": "token"}}},
    ]}]}}));
    let verdict = policy.admit(&facts.request()).expect("a verdict");
    assert_eq!(verdict, Verdict::admit().warn(r#"container "app" has the value of DB_PASSWORD in its spec"#));
}

#[test]
fn the_controller_is_noted_for_the_decision_log() {
    let policy = load(&json!({"policy": "ownerKinds", "allow": ["Job"]})).expect("a policy");
    let owners = json!([{"kind": "Job", "name": "j", "uid": "u", "controller": true}]);
    let facts = RequestFacts::of(&json!({"metadata": {"ownerReferences": owners}}));
    assert_eq!(policy.admit(&facts.request()), Ok(Verdict::admit().annotate("controller", "Job")));
}

#[test]
fn replicas_that_wait_are_asked_about_again() {
    let policy = load(&json!({"policy": "spreadReplicas", "most": 0})).expect("a policy");
    let owners = json!([{"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": true}]);
    let verdict =
        policy.admit(&RequestFacts::of(&json!({"metadata": {"ownerReferences": owners}})).request());
    let message = "0 pods of the same controller are on the node";
    assert_eq!(verdict, Ok(Verdict::defer("TooManyReplicas", message, Duration::from_secs(60))));
}
