//! Tests of the handler on whole requests.

mod mistakes;
mod policies;
mod profile;
mod restricted;
mod schema;
mod upstream;

use serde_json::{Value, json};
use witlet_plugin_sdk_0_2::facts::{
    NodeFacts, PodFacts, RequestFacts, ResolvedImageFacts, take_log, validate,
};
use witlet_plugin_sdk_0_2::{AdmissionHandler, Datetime, Decision, Operation};

use super::Config;

pub(super) fn config(rules: Value) -> Config {
    let config: Config = serde_json::from_value(rules).expect("it decodes");
    validate(&config).expect("rules");
    config
}

fn refused(rules: Value) -> String {
    let config: Config = serde_json::from_value(rules).expect("it decodes");
    validate(&config).expect_err("wrong").message().to_owned()
}

pub(super) fn asked(manifest: &Value) -> RequestFacts {
    RequestFacts::of(manifest)
}

/// The verdict in one line; an error in its words.
pub(super) fn said(facts: &RequestFacts, config: &Config) -> String {
    let verdict = match config.admit(&facts.request()) {
        Ok(verdict) => verdict,
        Err(error) => return format!("error: {}", error.message()),
    };
    match verdict.decision() {
        Decision::Admit => "admit".to_owned(),
        Decision::Reject { reason, message } => format!("{reason}: {message}"),
        Decision::Defer { reason, message, retry_after } => {
            format!("{reason} after {} ms: {message}", retry_after.as_millis())
        }
        other => format!("{other:?}"),
    }
}

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "nginx:1", "resources": {"limits": {"memory": "64Mi"}}}]},
    })
}

fn one(expression: &str) -> Config {
    config(json!({"validations": [{"expression": expression, "message": "no"}]}))
}

#[test]
fn the_first_rule_that_is_not_kept_decides() {
    let rules = config(json!({"validations": [
        {"expression": "object.metadata.name == 'web'"},
        {"expression": "object.spec.containers.size() > 1", "message": " one more is needed ", "reason": "TooFew"},
        {"expression": "false"},
    ]}));
    assert_eq!(said(&asked(&pod()), &rules), "TooFew: one more is needed");
    assert_eq!(said(&asked(&pod()), &one("true")), "admit");
    let unnamed = config(json!({"validations": [{"expression": "  1 ==\n 2 "}]}));
    assert_eq!(said(&asked(&pod()), &unnamed), "Invalid: failed expression: 1 ==\n 2");
}

#[test]
fn a_rule_may_defer() {
    let of = |rule: Value| said(&asked(&pod()), &config(json!({"validations": [rule]})));
    assert_eq!(
        of(json!({"expression": "false", "message": "later", "action": "Defer"})),
        "Invalid after 10000 ms: later"
    );
    let rule = json!({"expression": "false", "message": "later", "reason": "Night", "action": "Defer", "retryAfter": "1m30s"});
    assert_eq!(of(rule), "Night after 90000 ms: later");
}

#[test]
fn messages_are_made_or_fall_back() {
    let of = |expression: &str| {
        let rule = json!({"expression": "false", "message": "plain", "messageExpression": expression});
        said(&asked(&pod()), &config(json!({"validations": [rule]})))
    };
    assert_eq!(of("'no ' + object.metadata.name"), "Invalid: no web");
    assert_eq!(take_log().len(), 0);
    for (expression, why) in [
        ("'a\\nb'", "it has several lines"),
        ("'  '", "it is empty"),
        ("lists.range(3000).map(i, 'abc').join()", "it is too long"),
        ("params == null ? dyn(1) : dyn('a')", "it is int, not string"),
        (
            "object.spec.hostname",
            "line 1, column 13: no such key: hostname; say what counts instead, as in .?hostname.orValue(…)",
        ),
    ] {
        assert_eq!(of(expression), "Invalid: plain", "{expression}");
        let lines = take_log();
        assert_eq!(lines[0].message, format!("validations[0].messageExpression: {why}"));
    }
}

#[test]
fn conditions_say_which_pods_the_rules_are_about() {
    let of = |conditions: Value| {
        said(
            &asked(&pod()),
            &config(
                json!({"matchConditions": conditions, "validations": [{"expression": "false", "message": "no"}]}),
            ),
        )
    };
    assert_eq!(
        of(
            json!([{"name": "a", "expression": "true"}, {"name": "b", "expression": "object.metadata.name == 'web'"}])
        ),
        "Invalid: no"
    );
    assert_eq!(
        of(json!([{"name": "a", "expression": "true"}, {"name": "b", "expression": "false"}])),
        "admit"
    );
    // One that is false decides, before and behind one that fails.
    let broken = json!({"name": "broken", "expression": "object.spec.hostname == 'a'"});
    assert_eq!(of(json!([broken, {"name": "b", "expression": "false"}])), "admit");
    assert_eq!(
        of(json!([broken, {"name": "b", "expression": "true"}])),
        "error: matchConditions[0] (broken): line 1, column 13: no such key: hostname; say what counts instead, as in .?hostname.orValue(…)"
    );
}

#[test]
fn variables_are_evaluated_once_and_when_they_are_needed() {
    let rules = config(json!({
        "variables": [
            {"name": "broken", "expression": "object.spec.hostname"},
            {"name": "images", "expression": "object.spec.containers.map(c, c.image)"},
            {"name": "first", "expression": "variables.images[0]"},
        ],
        "validations": [
            {"expression": "variables.first == 'nginx:1' && variables.images.size() == 1"},
            {"expression": "has(variables.images) || variables.broken == ''"},
            {"expression": "variables.broken == 'a'"},
        ],
    }));
    assert_eq!(
        said(&asked(&pod()), &rules),
        "error: validations[2].expression: line 1, column 11: variables[0] (broken): line 1, column 13: no such key: hostname; say what counts instead, as in .?hostname.orValue(…)"
    );
}

#[test]
fn rules_see_what_the_contract_gives() {
    let mut manifest = pod();
    manifest["metadata"]["uid"] = json!("uid");
    manifest["spec"]["priority"] = json!(7);
    manifest["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "1500m", "memory": "64Mi"});
    manifest["spec"]["containers"][0]["ports"] = json!([{"containerPort": 8080, "hostPort": 80}]);
    let node =
        json!({"metadata": {"name": "n1", "labels": {"zone": "a"}}, "status": {"allocatable": {"cpu": "4"}}});
    let other = |ports: Value| {
        PodFacts::of(&json!({
            "metadata": {"namespace": "default", "labels": {"app": "db"}},
            "spec": {"containers": [{"name": "db", "resources": {"requests": {"cpu": "250m"}}, "ports": ports}]},
        }))
    };
    let facts = RequestFacts {
        now: Datetime { seconds: 1_767_323_045, nanoseconds: 500_000_000 },
        pod: PodFacts::of(&manifest).with_source("api"),
        node: NodeFacts::of(&node).with_fact("cgroup.version", "2"),
        other_pods: vec![other(json!([{"containerPort": 443, "hostPort": 443}])), other(json!([]))],
        ..RequestFacts::default()
    };
    for expression in [
        "object.kind == 'Pod' && object.metadata.namespace == 'shop'",
        "object.spec.containers[0].resources.limits['memory'] == '64Mi'",
        "quantity(object.spec.containers[0].resources.limits.memory).isLessThan(quantity('1Gi'))",
        "oldObject == null",
        "request.operation == 'CREATE' && request.subResource == '' && request.phase == 'add' && image == null",
        "request.name == 'web' && request.namespace == 'shop' && request.uid == 'uid'",
        "request.source == 'api' && request.qosClass == 'Burstable' && request.priority == 7",
        "request.now == timestamp('2026-01-02T03:04:05.5Z') && request.now.getHours() == 3",
        "request.requests['cpu'] == quantity('1500m') && request.requests.memory == quantity('64Mi')",
        "request.hostPorts.all(p, p.port < 1024 && p.protocol == 'TCP' && p.ip == '0.0.0.0')",
        "others.count == 2 && others.requested['cpu'] == quantity('500m') && !('pods' in others.requested)",
        "others.hostPorts.map(p, p.port) == [443]",
        "others.pods.all(p, p.labels.app == 'db' && p.requests.cpu == quantity('0.25'))",
        "others.pods.filter(p, p.namespace == 'default').size() == 2",
        "node.metadata.labels.zone == 'a' && node.facts['cgroup.version'] == '2' && node.devices.size() == 0",
        "quantity(node.status.allocatable.cpu).sub(others.requested.cpu).isGreaterThan(request.requests.cpu)",
        "has(object.spec) && !has(object.status) && has(node.facts) && !has(node.spec)",
        "[object].all(o, o.metadata.name == 'web') && [node].all(n, n.facts.size() == 1)",
        "[request].all(r, r.operation == 'CREATE') && [others].all(o, o.count == 2)",
        "params == null",
    ] {
        assert_eq!(said(&facts, &one(expression)), "admit", "{expression}");
    }
}

#[test]
fn each_phase_is_named_and_brings_what_it_is_about() {
    let old = pod();
    let mut new = pod();
    new["spec"]["containers"][0]["image"] = json!("nginx:2");
    let edited = asked(&new).changing(Operation::Update, &old);
    let ephemeral = asked(&new).changing(Operation::Ephemeral, &old);
    let bare = ResolvedImageFacts { container: "app".to_owned(), ..ResolvedImageFacts::default() };
    let image = ResolvedImageFacts {
        id: "sha256:1".to_owned(),
        digest: Some("sha256:2".to_owned()),
        size: Some(7),
        credentials: Some("secret".to_owned()),
        ..bare.clone()
    };
    let resolved = asked(&new).starting(image);
    let unknown = asked(&new).starting(bare);
    let recheck = RequestFacts { operation: Operation::Recheck, ..asked(&new) };
    let later = RequestFacts { operation: Operation::Readmit, ..asked(&new) };
    for (facts, expression) in [
        (&edited, "request.phase == 'update' && request.operation == 'UPDATE' && request.subResource == ''"),
        (
            &edited,
            "oldObject.spec.containers[0].image == 'nginx:1' && object.spec.containers[0].image == 'nginx:2'",
        ),
        (
            &edited,
            "[oldObject].all(o, o.metadata.name == 'web') && has(oldObject.spec) && !has(oldObject.status)",
        ),
        (&ephemeral, "request.operation == 'UPDATE' && request.subResource == 'ephemeralcontainers'"),
        (&resolved, "request.phase == 'image-resolved' && request.operation == '' && oldObject == null"),
        (&resolved, "image.container == 'app' && image.id == 'sha256:1' && image.digest == 'sha256:2'"),
        (
            &resolved,
            "image.sizeBytes == 7 && image.credentials == 'secret' && [image].all(i, i.sizeBytes < 8)",
        ),
        (
            &unknown,
            "!has(image.digest) && !has(image.sizeBytes) && !has(image.credentials) && image.id == ''",
        ),
        (
            &recheck,
            "request.phase == 'recheck' && request.operation == '' && image == null && oldObject == null",
        ),
        (&later, "request.phase == 'readmit' && request.operation == ''"),
    ] {
        assert_eq!(said(facts, &one(expression)), "admit", "{expression}");
    }
    let digests = one("request.phase != 'image-resolved' || image.digest == 'sha256:2'");
    assert_eq!((said(&resolved, &digests), said(&recheck, &digests)), ("admit".into(), "admit".into()));
    assert_eq!(
        said(&unknown, &one("image.digest == 'sha256:2'")),
        "error: validations[0].expression: line 1, column 7: no such key: digest; say what counts instead, as in .?digest.orValue(…)"
    );
}

#[test]
fn pods_are_asked_about_when_the_rules_say() {
    let rules = |more: Value| {
        let mut rules = json!({"validations": [{"expression": "true"}]});
        rules["operations"] = more;
        serde_json::from_value::<Config>(rules).expect("it decodes")
    };
    let subscribed = |more: Value| validate(&rules(more)).map(|setup| setup.subscribed());
    let usual = [Operation::Add, Operation::Resize, Operation::Update, Operation::Ephemeral];
    assert_eq!(subscribed(Value::Null).as_deref(), Ok(&usual[..]));
    let named = json!(["image-resolved", "recheck"]);
    assert_eq!(subscribed(named).as_deref(), Ok(&[Operation::ImageResolved, Operation::Recheck][..]));
    for (wrong, words) in [
        (json!([]), "operations: must not be empty"),
        (
            json!(["fly"]),
            "operations[0]: must be one of add, resize, update, ephemeral, image-resolved, readmit, recheck, found fly",
        ),
    ] {
        let error = subscribed(wrong).expect_err("wrong");
        assert!(error.message().contains(words), "{error}");
    }
}

#[test]
fn a_resize_is_an_update_with_the_resources_that_were() {
    let mut manifest = pod();
    manifest["status"] =
        json!({"containerStatuses": [{"name": "app", "resources": {"limits": {"memory": "32Mi"}}}]});
    let mut facts = asked(&manifest);
    facts.operation = Operation::Resize;
    let rule = "request.operation == 'UPDATE' && request.subResource == 'resize' && oldObject.spec.containers[0].resources.limits.memory == '32Mi' && object.spec.containers[0].resources.limits.memory == '64Mi' && oldObject.metadata.name == 'web'";
    assert_eq!(said(&facts, &one(rule)), "admit");
    // A status that says nothing of the resources leaves nothing to compare with.
    facts.pod = PodFacts::of(&pod());
    assert_eq!(said(&facts, &one("oldObject == null")), "admit");
    assert_eq!(
        said(&facts, &one("oldObject.metadata.name == 'web'")),
        "error: validations[0].expression: line 1, column 11: null has no fields: .metadata was asked for; say what counts then, as in oldObject == null || oldObject.spec.hostNetwork"
    );
}

#[test]
fn a_large_pod_is_decoded_once_for_both_sides_of_a_resize() {
    let mut manifest = pod();
    manifest["spec"]["containers"][0]["env"] = json!([{"name": "LARGE", "value": "x".repeat(300 << 10)}]);
    manifest["status"] =
        json!({"containerStatuses": [{"name": "app", "resources": {"limits": {"memory": "32Mi"}}}]});
    let mut facts = asked(&manifest);
    facts.operation = Operation::Resize;
    for rule in [
        "object.spec.containers[0].image == oldObject.spec.containers[0].image && oldObject.metadata.name == 'web'",
        "oldObject.spec.containers[0].resources.limits.memory == '32Mi' && has(object.spec) && has(oldObject.status)",
        "[oldObject, object].all(o, o.metadata.name == 'web') && object.spec != oldObject.spec",
    ] {
        assert_eq!(said(&facts, &one(rule)), "admit", "{rule}");
    }
}

#[test]
fn params_are_checked_by_their_own_keys() {
    let rules = json!({
        "params": {"registries": ["r.example"], "limits": {"cpu": "2"}, "strict": true},
        "validations": [{"expression": "params.registries.exists(r, r == 'r.example') && params.limits.cpu == '2' && params.strict && !has(params.lenient) && params.?other.orValue(1) == 1"}],
    });
    assert_eq!(said(&asked(&pod()), &config(rules)), "admit");
    let misspelt =
        json!({"params": {"registries": []}, "validations": [{"expression": "params.registrys == []"}]});
    assert_eq!(
        refused(misspelt),
        "validations[0].expression, line 1, column 8: params has no field registrys; did you mean registries?"
    );
}

#[test]
fn what_costs_too_much_is_an_error_with_the_rules_place() {
    let loops = "lists.range(1000).all(a, lists.range(1000).all(b, true)) || true";
    let words = said(&asked(&pod()), &one(loops));
    assert!(words.starts_with("error: validations[0].expression: line 1, column "), "{words}");
    assert!(words.ends_with("evaluation takes more than 200000 steps"), "{words}");
    let mut large = pod();
    large["metadata"]["annotations"] = json!({"a": "x".repeat(600 << 10)});
    let words = said(&asked(&large), &one("object.metadata.name == 'web'"));
    assert!(words.contains("object.metadata is too large: rules check 524288 bytes"), "{words}");
    assert_eq!(said(&asked(&large), &one("object.spec.containers.size() == 1")), "admit");
    // Variables that double what the one before has: none of them is large by itself.
    let variable = |index: usize| match index {
        0 => json!({"name": "v0", "expression": "[1]"}),
        _ => {
            json!({"name": format!("v{index}"), "expression": format!("[variables.v{0}, variables.v{0}]", index - 1)})
        }
    };
    let doubled: Vec<Value> = (0..90).map(variable).collect();
    let rules =
        json!({"variables": doubled, "validations": [{"expression": "variables.v40 == variables.v40"}]});
    assert!(said(&asked(&pod()), &config(rules.clone())).starts_with("error: "));
}

fn check_refusals(cases: &[(Value, &str)]) {
    for (rules, expected) in cases {
        assert_eq!(refused(rules.clone()), *expected);
    }
}

#[test]
fn wrong_expressions_are_refused_by_their_place() {
    check_refusals(&[
        (json!({"validations": []}), "validations: must have at least one rule"),
        (
            json!({"validations": [{"expression": "object.spec.container == []"}]}),
            "validations[0].expression, line 1, column 13: PodSpec has no field container; did you mean containers?",
        ),
        (
            json!({"validations": [{"expression": "object.metadata.name"}]}),
            "validations[0].expression, line 1, column 1: the result must be bool, it is string; compare it with what it should be",
        ),
        (
            json!({"validations": [{"expression": "object.spec.?hostNetwork"}]}),
            "validations[0].expression, line 1, column 1: the result must be bool, it is optional(bool); say what counts where nothing is, as in .orValue(…)",
        ),
        (
            json!({"validations": [{"expression": "true", "messageExpression": "1 + 1"}]}),
            "validations[0].messageExpression, line 1, column 1: the result must be string, it is int; write string(…) around it",
        ),
        (
            json!({"validations": [{"expression": "request.userInfo.name == ''"}]}),
            "validations[0].expression, line 1, column 9: Request has no field userInfo; a node doesn't know who asks; where the pod is from is request.source",
        ),
        (
            json!({"validations": [{"expression": "namespaceObject.metadata.name == ''"}]}),
            "validations[0].expression, line 1, column 1: there is no variable namespaceObject; a node doesn't know the namespace's object; its name is object.metadata.namespace",
        ),
    ]);
    let many = refused(json!({"validations": vec![json!({"expression": "tru"}); 10]}));
    assert_eq!(many.lines().count(), 9);
    assert!(many.ends_with("and 2 more expressions are wrong"), "{many}");
}

#[test]
fn wrong_rules_are_refused_by_their_key() {
    check_refusals(&[
        (
            json!({"variables": [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}], "validations": [{"expression": "variables.a == 1"}]}),
            "variables[0] (a), line 1, column 11: variables has no field b; it has none",
        ),
        (
            json!({"variables": [{"name": "a-b", "expression": "1"}], "validations": [{"expression": "true"}]}),
            "variables[0].name: \"a-b\" is no name: letters, digits and underscores, a letter first",
        ),
        (
            json!({"matchConditions": [{"name": "a", "expression": "1"}, {"name": "a", "expression": "1"}], "validations": [{"expression": "true"}]}),
            "matchConditions[1].name: Duplicate value: \"a\"",
        ),
        (
            json!({"matchConditions": [{"name": "a", "expression": "1"}], "validations": [{"expression": "true"}]}),
            "matchConditions[0] (a), line 1, column 1: the result must be bool, it is int; compare it with what it should be",
        ),
        (
            json!({"validations": [{"expression": "true", "reason": "not a word"}]}),
            "validations[0].reason: must be a CamelCase word, such as ImageNotAllowed",
        ),
        (
            json!({"validations": [{"expression": "true", "message": " "}]}),
            "validations[0].message: is empty",
        ),
        (
            json!({"validations": [{"expression": "true", "retryAfter": "5s"}]}),
            "validations[0].retryAfter: only allowed with action: Defer",
        ),
        (
            json!({"validations": [{"expression": "true", "action": "Defer", "retryAfter": "2h"}]}),
            "validations[0].retryAfter: must be a duration from 1s to 1h such as 30s, found \"2h\"",
        ),
        (
            json!({"validations": [{"expression": "x".repeat(20_000)}]}),
            "validations[0].expression, line 1, column 1: the expression has more than 16384 bytes; put parts of it into variables",
        ),
        (
            json!({"validations": vec![json!({"expression": "true"}); 101]}),
            "validations: 101 entries are more than 100",
        ),
    ]);
}

#[test]
fn keys_that_are_none_are_refused() {
    for (rules, word) in [
        (json!({}), "validations"),
        (json!({"validations": [{"expression": "true", "mesage": ""}]}), "mesage"),
        (json!({"validations": [{"expression": "true", "action": "Deny"}]}), "Deny"),
        (json!({"failurePolicy": "Fail", "validations": []}), "failurePolicy"),
    ] {
        let error = serde_json::from_value::<Config>(rules).map(|_| ()).expect_err("wrong");
        assert!(error.to_string().contains(word), "{error}");
    }
}
