//! Policies as Kubernetes' documentation shows them, for pods.

use serde_json::{Value, json};
use witlet_plugin_sdk_0_2::facts::{PodFacts, RequestFacts};

use super::{asked, config, said};

fn pod(spec: Value) -> Value {
    json!({"metadata": {"name": "web", "namespace": "shop", "labels": {"environment": "prod"}}, "spec": spec})
}

/// Rules, and what they say of each pod.
fn check(rules: Value, cases: &[(Value, &str)]) {
    let rules = config(rules);
    for (pod, expected) in cases {
        assert_eq!(said(&asked(pod), &rules), *expected, "{pod}");
    }
}

#[test]
fn a_bound_may_be_a_parameter() {
    let rules = json!({
        "params": {"maxContainers": 2},
        "validations": [{
            "expression": "object.spec.containers.size() <= params.maxContainers",
            "messageExpression": "'object.spec.containers must be no greater than ' + string(params.maxContainers)",
        }],
    });
    let containers = |count: usize| pod(json!({"containers": vec![json!({"name": "a"}); count]}));
    check(
        rules,
        &[
            (containers(2), "admit"),
            (containers(3), "Invalid: object.spec.containers must be no greater than 2"),
        ],
    );
}

#[test]
fn images_come_from_one_registry() {
    // The example of variables: an environment of the labels, with a default, picks the registry's repository.
    let rules = json!({
        "variables": [
            {"name": "environment", "expression": "'environment' in object.metadata.labels ? object.metadata.labels['environment'] : 'prod'"},
            {"name": "exempt", "expression": "has(object.metadata.labels.exempt) && object.metadata.labels.exempt == 'true'"},
            {"name": "containers", "expression": "object.spec.containers"},
            {"name": "containersToCheck", "expression": "variables.containers.filter(c, c.image.contains('example.com/'))"},
        ],
        "validations": [{
            "expression": "variables.exempt || variables.containersToCheck.all(c, c.image.startsWith(variables.environment + '.'))",
            "messageExpression": "'only ' + variables.environment + ' images are allowed in namespace ' + object.metadata.namespace",
            "reason": "Forbidden",
        }],
    });
    let mut exempt = pod(json!({"containers": [{"name": "a", "image": "test.example.com/a"}]}));
    exempt["metadata"]["labels"]["exempt"] = json!("true");
    check(
        rules,
        &[
            (pod(json!({"containers": [{"name": "a", "image": "prod.example.com/a"}]})), "admit"),
            (
                pod(json!({"containers": [{"name": "a", "image": "test.example.com/a"}]})),
                "Forbidden: only prod images are allowed in namespace shop",
            ),
            (pod(json!({"containers": [{"name": "a", "image": "nginx"}]})), "admit"),
            (exempt, "admit"),
        ],
    );
}

#[test]
fn a_foo_is_only_asked_for_where_it_is() {
    // The variable that fails only where it is needed, guarded by a condition before it.
    let rules = json!({
        "variables": [{"name": "foo", "expression": "'foo' in object.spec.nodeSelector ? object.spec.nodeSelector['foo'] : 'default'"}],
        "validations": [{"expression": "!has(object.spec.nodeSelector) || variables.foo == 'bar'", "message": "foo must be bar"}],
    });
    check(
        rules,
        &[
            (pod(json!({"containers": []})), "admit"),
            (pod(json!({"containers": [], "nodeSelector": {"foo": "bar"}})), "admit"),
            (pod(json!({"containers": [], "nodeSelector": {"x": "y"}})), "Invalid: foo must be bar"),
        ],
    );
}

#[test]
fn matching_leaves_out_what_is_not_meant() {
    let rules = json!({
        "matchConditions": [
            {"name": "exclude-leases", "expression": "!(object.kind == 'Lease')"},
            {"name": "exclude-kubelet-requests", "expression": "request.source != 'file'"},
            {"name": "only-creations", "expression": "request.operation == 'CREATE'"},
        ],
        "validations": [{"expression": "false", "message": "no"}],
    });
    let mut manifest = pod(json!({"containers": []}));
    manifest["kind"] = json!("Pod");
    let rules = config(rules);
    let from = |source| {
        let pod = PodFacts::of(&manifest).with_source(source);
        said(&RequestFacts { pod, ..asked(&manifest) }, &rules)
    };
    assert_eq!((from("file"), from("api")), ("admit".to_owned(), "Invalid: no".to_owned()));
}

#[test]
fn the_reference_examples_hold() {
    for (expression, spec, expected) in [
        (
            "object.spec.containers.all(c, has(c.resources.limits) && 'memory' in c.resources.limits)",
            json!({"containers": [{"name": "a", "resources": {}}]}),
            false,
        ),
        (
            "object.spec.containers.map(c, quantity(c.resources.limits.memory)).all(q, q.isLessThan(quantity('1Gi')))",
            json!({"containers": [{"name": "a", "resources": {"limits": {"memory": "512Mi"}}}]}),
            true,
        ),
        (
            "object.spec.containers.all(c, !c.image.matches(':latest$') && c.image.contains(':'))",
            json!({"containers": [{"name": "a", "image": "r:5000/a:latest"}]}),
            false,
        ),
        (
            "!object.spec.containers.exists(c, c.?securityContext.privileged.orValue(false))",
            json!({"containers": [{"name": "a"}]}),
            true,
        ),
        (
            "object.spec.?hostNetwork.orValue(false) == false",
            json!({"containers": [], "hostNetwork": true}),
            false,
        ),
        (
            "object.spec.volumes.all(v, !has(v.hostPath) || v.hostPath.path.startsWith('/data/'))",
            json!({"containers": [], "volumes": [{"name": "a", "hostPath": {"path": "/data/x"}}]}),
            true,
        ),
        (
            "object.spec.containers.map(c, c.name).distinct().size() == object.spec.containers.size()",
            json!({"containers": [{"name": "a"}, {"name": "a"}]}),
            false,
        ),
        (
            "object.spec.tolerations.exists_one(t, t.key == 'gpu')",
            json!({"containers": [], "tolerations": [{"key": "gpu"}, {"key": "x"}]}),
            true,
        ),
        (
            "object.metadata.name == 'web' ? object.spec.priorityClassName == 'high' : true",
            json!({"containers": [], "priorityClassName": "low"}),
            false,
        ),
        (
            "object.spec.dnsConfig.nameservers.all(n, cidr('10.0.0.0/8').containsIP(n))",
            json!({"containers": [], "dnsConfig": {"nameservers": ["10.1.2.3", "8.8.8.8"]}}),
            false,
        ),
        (
            "object.spec.containers.all(c, c.env.all(e, !e.name.matches('(?i)password|token')))",
            json!({"containers": [{"name": "a", "env": [{"name": "DB_PASSWORD"}]}]}),
            false,
        ),
        (
            "object.spec.terminationGracePeriodSeconds <= 60 && !format.dns1123Label().validate(object.metadata.name).hasValue()",
            json!({"containers": [], "terminationGracePeriodSeconds": 30}),
            true,
        ),
    ] {
        let rules = json!({"validations": [{"expression": expression, "message": "no"}]});
        check(rules, &[(pod(spec), if expected { "admit" } else { "Invalid: no" })]);
    }
}
