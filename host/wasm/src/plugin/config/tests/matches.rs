//! `admission.match`: what it is read as, and how it is refused.

use witlet_core::admission::Operation;

use super::{Globs, error, file, one};
use crate::plugin::{Criteria, LabelOperator, LabelRequirement, LabelSelector, PodMatch};

fn matches(text: &str) -> PodMatch {
    let entry = one(&format!("- {{name: a, component: a.wasm, admission: {{match: {text}}}}}"));
    entry.admission.expect("it is a handler").matches
}

fn globs(patterns: &[&str]) -> Option<Globs> {
    Some(Globs::new(patterns.iter().map(|&pattern| pattern.to_owned()).collect()))
}

#[test]
fn a_whole_match_is_taken() {
    let taken = matches(
        "{systemPods: true, namespaces: [kube-system, 'team-*'], operations: [resize, add, update, ephemeral], \
          labelSelector: {matchLabels: {app: web}, matchExpressions: [{key: example.com/tier, operator: NotIn, values: [db]}]}, \
          priorityClasses: [system-node-critical], sources: [api, file], serviceAccounts: ['ci/*'], \
          images: ['docker.io/library/*', '*:latest', 'quay.io*', 'registry.example.com:5000/a*', 'file:*'], \
          exclude: [{namespaces: [sandbox]}, {labelSelector: {matchExpressions: [{key: trusted, operator: Exists}]}}]}",
    );
    let tier = LabelRequirement {
        key: "example.com/tier".to_owned(),
        operator: LabelOperator::NotIn,
        values: vec!["db".to_owned()],
    };
    let trusted =
        LabelRequirement { key: "trusted".to_owned(), operator: LabelOperator::Exists, values: Vec::new() };
    let criteria = Criteria {
        namespaces: globs(&["kube-system", "team-*"]),
        labels: Some(LabelSelector {
            match_labels: [("app".to_owned(), "web".to_owned())].into(),
            match_expressions: vec![tier],
        }),
        operations: Some(vec![Operation::Resize, Operation::Add, Operation::Update, Operation::Ephemeral]),
        priority_classes: globs(&["system-node-critical"]),
        sources: globs(&["api", "file"]),
        service_accounts: globs(&["ci/*"]),
        images: globs(&[
            "docker.io/library/*",
            "*:latest",
            "quay.io*",
            "registry.example.com:5000/a*",
            "file:*",
        ]),
    };
    let labels = LabelSelector { match_expressions: vec![trusted], ..LabelSelector::default() };
    let exclude = vec![
        Criteria { namespaces: globs(&["sandbox"]), ..Criteria::default() },
        Criteria { labels: Some(labels), ..Criteria::default() },
    ];
    assert_eq!(taken, PodMatch { system_pods: true, criteria, exclude });
}

#[test]
fn a_match_that_could_not_take_effect_is_refused_with_its_field_and_the_way_out() {
    let many = format!("{{namespaces: [{}]}}", "a, ".repeat(65));
    let exclusions = format!("{{exclude: [{}]}}", "{namespaces: [a]}, ".repeat(17));
    let cases = [
        ("{namespaces: []}", ".namespaces: must not be empty: remove it, or write [\"*\"] for all"),
        (
            "{operations: []}",
            ".operations: must not be empty: remove it, or write [add, resize, update, ephemeral, image-resolved, readmit, recheck] for all",
        ),
        ("{sources: [api, '']}", ".sources[1]: no text: write a name, or \"*\" for all"),
        (
            "{operations: [add, delete]}",
            ".operations[1]: must be one of add, resize, update, ephemeral, image-resolved, readmit, recheck, found \"delete\"",
        ),
        (
            "{serviceAccounts: [builder]}",
            ".serviceAccounts[0]: \"builder\" isn't NAMESPACE/NAME: write \"*/builder\" for any namespace",
        ),
        (
            "{images: [nginx]}",
            ".images[0]: \"nginx\" isn't a full name, and names are compared in full: write \"docker.io/library/nginx\" or \"*/nginx\"",
        ),
        (
            "{images: ['team/app:1']}",
            ".images[0]: \"team/app:1\" isn't a full name, and names are compared in full: write \"docker.io/team/app:1\" or \"*/team/app:1\"",
        ),
        (
            "{labelSelector: {}}",
            ".labelSelector: must have at least one label: remove it to select every pod",
        ),
        ("{labelSelector: {matchLabels: {'a b': c}}}", ".labelSelector.matchLabels: Invalid value: \"a b\""),
        (
            "{labelSelector: {matchExpressions: [{key: a, operator: Like}]}}",
            ".labelSelector.matchExpressions[0].operator: must be one of In, NotIn, Exists, DoesNotExist, found \"Like\"",
        ),
        (
            "{labelSelector: {matchExpressions: [{key: a, operator: In}]}}",
            ".labelSelector.matchExpressions[0].values: none, and In needs one: add it",
        ),
        (
            "{labelSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}",
            ".labelSelector.matchExpressions[0].values: must be empty with Exists",
        ),
        (
            "{labelSelector: {matchExpressions: [{key: a, operator: In, values: ['?']}]}}",
            ".labelSelector.matchExpressions[0].values: Invalid value: \"?\"",
        ),
        ("{exclude: [{}]}", ".exclude[0]: must have at least one field: an empty item excludes every pod"),
        ("{exclude: [{namespaces: [a]}, {images: []}]}", ".exclude[1].images: must not be empty: remove it"),
        (&many, ".namespaces: must have at most 64 items, found 65"),
        (&exclusions, ".exclude: must have at most 16 items, found 17"),
    ];
    for (text, words) in cases {
        let entry = format!("- {{name: a, component: a.wasm, admission: {{match: {text}}}}}");
        let reported = error(&file(&entry));
        let expected = format!("plugins[0].admission.match{words}");
        assert!(reported.starts_with(&expected), "{reported:?} doesn't begin with {expected:?}");
    }
}

#[test]
fn a_match_of_system_pods_alone_must_opt_in() {
    let cases = [
        ("namespaces: [kube-system]", "namespaces: all pods of kube-system are system pods"),
        (
            "priorityClasses: [system-node-critical, system-cluster-critical]",
            "priorityClasses: all pods of these classes are system pods",
        ),
        (
            "sources: [file, http]",
            "sources: on a node with an API server all pods of these sources are system pods",
        ),
    ];
    for (text, words) in cases {
        let entry = |opts_in: &str| {
            format!("- {{name: a, component: a.wasm, admission: {{match: {{{opts_in}{text}}}}}}}")
        };
        let expected = format!(
            "plugins[0].admission.match.{words}, which the plugin isn't asked about: add `systemPods: true` next to it"
        );
        assert_eq!(error(&file(&entry(""))), expected);
        assert!(one(&entry("systemPods: true, ")).admission.is_some_and(|role| role.matches.system_pods));
    }
    for some in [
        "namespaces: [kube-system, web]",
        "priorityClasses: [system-node-critical, high]",
        "sources: [file, api]",
        "sources: [file, edge]",
    ] {
        assert!(!matches(&format!("{{{some}}}")).system_pods, "{some}");
    }
}
