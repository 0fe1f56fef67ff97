//! Tests of the handler on whole pods; the component itself is asked the shared cases.

use serde_json::json;
use witlet_plugin_sdk::facts::{PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Operation, Verdict};

use super::{Config, ImagePolicy};

fn config(allow: &[&str]) -> Config {
    Config { allow: allow.iter().map(|place| (*place).to_owned()).collect(), require_digest: false }
}

/// What the handler says of a pod with an init container and an app container.
fn judge(operation: Operation, setup: &str, app: &str, config: &Config) -> Verdict {
    let pod = PodFacts::of(&json!({
        "metadata": {"name": "web"},
        "spec": {
            "initContainers": [{"name": "setup", "image": setup}],
            "containers": [{"name": "app", "image": app}],
        },
    }));
    let facts = RequestFacts { operation, pod, ..RequestFacts::default() };
    ImagePolicy::admit(&facts.request(), config).expect("a verdict")
}

#[test]
fn places_are_matched_in_whole_parts() {
    let config = config(&["docker.io/library", "registry.example.com"]);
    for (image, expected) in [
        ("nginx", Verdict::Admit),
        ("registry.example.com/a/b", Verdict::Admit),
        (
            "team/app",
            Verdict::reject("ImageNotAllowed", r#"container "app": docker.io/team/app isn't allowed"#),
        ),
        (
            "registry.example.com.evil/a",
            Verdict::reject(
                "ImageNotAllowed",
                r#"container "app": registry.example.com.evil/a isn't allowed"#,
            ),
        ),
        ("", Verdict::reject("ImageNotAllowed", r#"container "app": no image is named"#)),
    ] {
        assert_eq!(judge(Operation::Add, "nginx", image, &config), expected, "{image}");
    }
}

#[test]
fn the_first_container_that_is_wrong_is_reported() {
    let config = config(&["docker.io"]);
    let expected = Verdict::reject("ImageNotAllowed", r#"container "setup": a.example/x isn't allowed"#);
    assert_eq!(judge(Operation::Add, "a.example/x", "b.example/x", &config), expected);
}

#[test]
fn a_digest_may_be_required() {
    let config = Config { require_digest: true, ..config(&["docker.io"]) };
    let expected = Verdict::reject(
        "ImageNotPinned",
        r#"container "app": docker.io/library/nginx isn't pinned by a digest"#,
    );
    assert_eq!(judge(Operation::Add, "nginx@sha256:0", "nginx:1", &config), expected);
    assert_eq!(judge(Operation::Add, "nginx@sha256:0", "nginx@sha256:1", &config), Verdict::Admit);
}

#[test]
fn a_resize_isnt_checked() {
    assert_eq!(
        judge(Operation::Resize, "a.example/x", "b.example/x", &config(&["docker.io"])),
        Verdict::Admit
    );
}

#[test]
fn places_that_can_never_match_are_refused() {
    for (allow, problem) in [
        (&[][..], "allow: must have at least one repository"),
        (&["docker.io", ""], "allow[1]: a place isn't empty and neither begins nor ends with a slash"),
        (&["/library"], "allow[0]: a place isn't empty and neither begins nor ends with a slash"),
        (&["docker.io/"], "allow[0]: a place isn't empty and neither begins nor ends with a slash"),
    ] {
        let error = ImagePolicy::validate(&config(allow)).expect_err("it can't match");
        assert_eq!(error.to_string(), problem);
    }
    ImagePolicy::validate(&config(&["docker.io/library", "localhost:5000"])).expect("places");
}
