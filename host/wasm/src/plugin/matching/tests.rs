//! Tables of pods and of what they are asked about.

use jiff::Timestamp;
use serde_json::{Value, json};
use witlet_core::node::NodeFacts;

use super::*;

/// A question about a pod with this metadata and this specification, on a node of a cluster.
fn subject(source: &str, operation: Operation, metadata: &Value, spec: &Value) -> MatchSubject {
    asked(source, operation, metadata, spec, true)
}

fn asked(
    source: &str,
    operation: Operation,
    metadata: &Value,
    spec: &Value,
    in_cluster: bool,
) -> MatchSubject {
    let mut pod = json!({ "metadata": metadata, "spec": spec });
    if pod["spec"]["containers"].is_null() {
        pod["spec"]["containers"] = json!([]);
    }
    let request = AdmissionRequest {
        operation,
        now: Timestamp::UNIX_EPOCH,
        pod: Arc::new(serde_json::from_value(pod).expect("a pod")),
        old_pod: None,
        image: None,
        source: SourceName::from(source),
        node: Arc::new(NodeFacts::default()),
        other_pods: Arc::new([]),
    };
    MatchSubject::new(&request, in_cluster)
}

fn globs(patterns: &[&str]) -> Option<Globs> {
    Some(Globs::new(patterns.iter().map(|&pattern| pattern.to_owned()).collect()))
}

#[test]
fn system_pods_are_matched_only_by_a_handler_that_opts_in() {
    let plain = json!({"namespace": "default"});
    let none = json!({});
    let class = |name: &str| json!({ "priorityClassName": name });
    // Source, metadata, specification, and whether it is a system pod in a cluster and on a node by itself.
    let cases = [
        ("a pod of the API server", "api", plain.clone(), none.clone(), false, false),
        ("a static pod of a file", "file", plain.clone(), none.clone(), true, false),
        ("a static pod of a URL", "http", plain.clone(), none.clone(), true, false),
        ("of a plugin's source", "compose", plain.clone(), none.clone(), false, false),
        (
            "a plugin's of kube-system",
            "compose",
            json!({"namespace": "kube-system"}),
            none.clone(),
            false,
            false,
        ),
        (
            "a plugin's that calls itself critical",
            "compose",
            plain.clone(),
            class("system-node-critical"),
            false,
            false,
        ),
        ("of kube-system", "api", json!({"namespace": "kube-system"}), none.clone(), true, true),
        ("of a namespace that begins so", "api", json!({"namespace": "kube-system-2"}), none, false, false),
        ("node critical", "api", plain.clone(), class("system-node-critical"), true, true),
        ("cluster critical", "file", plain.clone(), class("system-cluster-critical"), true, true),
        ("of a class of the operator's", "api", plain.clone(), class("system-like"), false, false),
        ("of a system priority", "api", plain.clone(), json!({"priority": 2_000_000_000}), true, true),
        ("of the highest other priority", "api", plain, json!({"priority": 1_000_000_000}), false, false),
    ];
    for (what, source, metadata, spec, in_cluster, by_itself) in cases {
        for (cluster, is_system) in [(true, in_cluster), (false, by_itself)] {
            let subject = asked(source, Operation::Add, &metadata, &spec, cluster);
            assert_eq!(PodMatch::default().matches(&subject), !is_system, "{what}, cluster: {cluster}");
            assert!(PodMatch::all().matches(&subject), "{what}, opted in, cluster: {cluster}");
        }
    }
}

fn with(change: impl FnOnce(&mut Criteria)) -> Criteria {
    let mut criteria = Criteria::default();
    change(&mut criteria);
    criteria
}

#[test]
fn each_criterion_is_met_by_its_pods() {
    let web = subject(
        "api",
        Operation::Resize,
        &json!({"namespace": "team-a", "labels": {"app": "web"}}),
        &json!({
            "priorityClassName": "high",
            "serviceAccountName": "builder",
            "initContainers": [{"name": "i", "image": "registry.example.com/init:1"}],
            "containers": [{"name": "c", "image": "nginx"}],
            "volumes": [{"name": "v", "image": {"reference": "registry.example.com/data@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}}],
        }),
    );
    let bare = subject("api", Operation::Add, &json!({"namespace": "default"}), &json!({}));
    let labels = LabelSelector {
        match_labels: [("app".to_owned(), "web".to_owned())].into(),
        match_expressions: Vec::new(),
    };
    let cases = [
        ("nothing", Criteria::default(), true, true),
        ("namespaces", with(|it| it.namespaces = globs(&["team-*"])), true, false),
        ("labels", with(|it| it.labels = Some(labels)), true, false),
        ("operations", with(|it| it.operations = Some(vec![Operation::Resize])), true, false),
        ("priority classes", with(|it| it.priority_classes = globs(&["low", "high"])), true, false),
        ("any priority class", with(|it| it.priority_classes = globs(&["*"])), true, true),
        ("sources", with(|it| it.sources = globs(&["a*"])), true, true),
        ("other sources", with(|it| it.sources = globs(&["file"])), false, false),
        ("service accounts", with(|it| it.service_accounts = globs(&["*/builder"])), true, false),
        ("the default one", with(|it| it.service_accounts = globs(&["default/default"])), false, true),
        ("an image", with(|it| it.images = globs(&["docker.io/library/nginx:latest"])), true, false),
        ("an image of a volume", with(|it| it.images = globs(&["*/data@sha256:*"])), true, false),
        ("a short name", with(|it| it.images = globs(&["nginx*"])), false, false),
        (
            "one of two",
            with(|it| (it.namespaces, it.sources) = (globs(&["team-*"]), globs(&["http"]))),
            false,
            false,
        ),
    ];
    for (what, criteria, of_web, of_bare) in cases {
        let matches = PodMatch { criteria, ..PodMatch::default() };
        assert_eq!((matches.matches(&web), matches.matches(&bare)), (of_web, of_bare), "{what}");
    }
}

#[test]
fn an_exclusion_leaves_out_what_meets_all_of_one_item() {
    let pod = |namespace: &str, images: &[&str]| {
        let container = |image: &&str| json!({"name": "c", "image": image});
        let containers: Vec<Value> = images.iter().map(container).collect();
        let metadata = json!({ "namespace": namespace });
        subject("api", Operation::Add, &metadata, &json!({ "containers": containers }))
    };
    let namespace = Criteria { namespaces: globs(&["ci"]), ..Criteria::default() };
    let images = Criteria { images: globs(&["registry.example.com/*"]), ..Criteria::default() };
    let both = Criteria { namespaces: globs(&["ci"]), ..images.clone() };
    let (ours, theirs) = ("registry.example.com/a:1", "docker.io/library/b:1");
    let cases = [
        ("nothing is left out", vec![], pod("ci", &[ours]), true),
        ("of the namespace", vec![namespace.clone()], pod("ci", &[theirs]), false),
        ("of another", vec![namespace.clone()], pod("web", &[theirs]), true),
        ("all images", vec![images.clone()], pod("web", &[ours, ours]), false),
        ("one image of two", vec![images.clone()], pod("web", &[ours, theirs]), true),
        ("no image", vec![images.clone()], pod("web", &[]), true),
        ("one of two criteria", vec![both.clone()], pod("ci", &[theirs]), true),
        ("both criteria", vec![both], pod("ci", &[ours]), false),
        ("one of two items", vec![namespace, images], pod("web", &[ours]), false),
    ];
    for (what, exclude, subject, expected) in cases {
        assert_eq!(PodMatch { exclude, ..PodMatch::default() }.matches(&subject), expected, "{what}");
    }
    let everything_else = PodMatch {
        exclude: vec![Criteria { priority_classes: globs(&["system-node-critical"]), ..Criteria::default() }],
        ..PodMatch::all()
    };
    let of_class =
        |class: &str| subject("file", Operation::Add, &json!({}), &json!({ "priorityClassName": class }));
    assert!(everything_else.matches(&of_class("system-cluster-critical")));
    assert!(
        !everything_else.matches(&of_class("system-node-critical")),
        "an exclusion holds for system pods, too"
    );
}

#[test]
fn why_a_handler_is_not_asked_names_the_rule_and_what_the_pod_has() {
    let metadata = json!({"namespace": "team-a", "labels": {"app": "web", "tier": "front"}});
    let spec = json!({"containers": [{"name": "c", "image": "nginx"}]});
    let web = subject("api", Operation::Add, &metadata, &spec);
    let bare = subject("api", Operation::Add, &json!({"namespace": "default"}), &json!({}));
    let of = |criteria: Criteria| PodMatch { criteria, ..PodMatch::default() };
    let selector = LabelSelector {
        match_labels: [("app".to_owned(), "db".to_owned())].into(),
        match_expressions: Vec::new(),
    };
    let labels = || with(|it| it.labels = Some(selector.clone()));
    let excluding = PodMatch {
        exclude: vec![
            with(|it| it.namespaces = globs(&["ci"])),
            with(|it| it.namespaces = globs(&["team-*"])),
        ],
        ..PodMatch::default()
    };
    let cases = [
        (
            of(with(|it| it.namespaces = globs(&["ci"]))),
            &web,
            "match.namespaces: the pod has the namespace team-a",
        ),
        (of(labels()), &web, "match.labels: the pod has the labels app=web, tier=front"),
        (of(labels()), &bare, "match.labels: the pod has no labels"),
        (
            of(with(|it| it.operations = Some(vec![Operation::Resize]))),
            &web,
            "match.operations: the pod has the operation add",
        ),
        (
            of(with(|it| it.priority_classes = globs(&["high"]))),
            &web,
            "match.priorityClasses: the pod has no priority class",
        ),
        (of(with(|it| it.sources = globs(&["file"]))), &web, "match.sources: the pod has the source api"),
        (
            of(with(|it| it.service_accounts = globs(&["*/ci"]))),
            &web,
            "match.serviceAccounts: the pod has the service account team-a/default",
        ),
        (
            of(with(|it| it.images = globs(&["quay.io/*"]))),
            &web,
            "match.images: the pod has the images docker.io/library/nginx:latest",
        ),
        (excluding, &web, "match.exclude[1]: the pod meets all of its fields"),
    ];
    for (matches, subject, expected) in cases {
        let mismatch = matches.mismatch(subject).expect("it isn't asked");
        assert_eq!(format!("{}: {}", mismatch.rule(), mismatch.sentence(subject)), expected);
    }
    let system = subject("file", Operation::Add, &json!({"namespace": "default"}), &json!({}));
    let mismatch = PodMatch::default().mismatch(&system).expect("it is a system pod");
    assert_eq!(mismatch.rule(), "match.systemPods");
    assert_eq!(
        mismatch.sentence(&system),
        "it is a system pod: it is a static pod on a node with an API server"
    );
    assert_eq!(PodMatch::all().mismatch(&system), None);
}

#[test]
fn label_requirements_are_those_of_kubernetes() {
    let cases: [(LabelOperator, &[&str], bool, bool, bool); 4] = [
        (LabelOperator::In, &["web", "db"], true, false, false),
        (LabelOperator::NotIn, &["web", "db"], false, true, true),
        (LabelOperator::Exists, &[], true, true, false),
        (LabelOperator::DoesNotExist, &[], false, false, true),
    ];
    let web = json!({"labels": {"app": "web"}});
    let (other, none) = (json!({"labels": {"app": "other"}}), json!({}));
    for (operator, values, of_web, of_other, of_none) in cases {
        let values = values.iter().map(|&value| value.to_owned()).collect();
        let requirement = LabelRequirement { key: "app".to_owned(), operator, values };
        let selector = LabelSelector { match_expressions: vec![requirement], ..LabelSelector::default() };
        for (metadata, expected) in [(&web, of_web), (&other, of_other), (&none, of_none)] {
            let subject = subject("api", Operation::Add, metadata, &json!({}));
            assert_eq!(selector.selects(&subject.pod), expected, "{operator:?} {metadata}");
        }
    }
}

#[test]
fn images_are_compared_by_their_full_names() {
    let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let cases = [
        ("nginx", "docker.io/library/nginx:latest".to_owned()),
        ("team/app:1.2", "docker.io/team/app:1.2".to_owned()),
        ("registry.example.com:5000/app", "registry.example.com:5000/app:latest".to_owned()),
        (&format!("quay.io/a/b@{digest}"), format!("quay.io/a/b@{digest}")),
        (&format!("quay.io/a/b:1@{digest}"), format!("quay.io/a/b:1@{digest}")),
        ("file:hello.wasm", "file:hello.wasm".to_owned()),
        ("Not A Name", "Not A Name".to_owned()),
    ];
    for (image, expected) in cases {
        assert_eq!(full_image_name(image), expected, "{image}");
    }
}
