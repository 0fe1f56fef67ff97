//! The configuration that each target comes to.

use witlet_cel::{Budget, Failure, Limits, Program, Value as CelValue, Variables};

use super::*;

/// What the API server has an expression evaluated on.
struct Review(Value);

impl Variables for Review {
    fn get(&self, name: &str, _: &Budget) -> Option<Result<CelValue, Failure>> {
        let value = self.0.get(name)?.to_string();
        Some(Ok(serde_json::from_str(&value).expect("JSON")))
    }
}

#[test]
fn an_update_is_asked_about_only_if_the_spec_changes() {
    let conditions = configuration(&WebhookTarget::parse("policies/webhook").expect("a target"), b"PEM");
    let conditions = conditions["webhooks"][0]["matchConditions"].clone();
    assert_eq!(conditions.as_array().map(Vec::len), Some(1));
    let expression = conditions[0]["expression"].as_str().expect("an expression");
    let program = Program::parse(expression).expect("CEL");
    let pod = |team: &str, image: &str| json!({"metadata": {"labels": {"team": team}}, "spec": {"containers": [{"name": "app", "image": image}]}});
    let ephemeral = json!({"spec": {"containers": [], "ephemeralContainers": [{"name": "debug"}]}});
    for (operation, object, old, expected) in [
        ("CREATE", pod("red", "app:1"), Value::Null, true),
        ("UPDATE", pod("red", "app:2"), pod("red", "app:1"), true),
        ("UPDATE", ephemeral, json!({"spec": {"containers": []}}), true),
        ("UPDATE", pod("blue", "app:1"), pod("red", "app:1"), false),
        ("UPDATE", pod("red", "app:1"), pod("red", "app:1"), false),
    ] {
        let review = Review(json!({"request": {"operation": operation}, "object": object, "oldObject": old}));
        let matches = program.evaluate(&review, &Budget::new(Limits::DEFAULT));
        assert!(
            matches!(matches, Ok(CelValue::Bool(found)) if found == expected),
            "{operation}: {matches:?}"
        );
    }
}

#[test]
fn the_configuration_names_target_authority_and_what_is_asked_about() {
    let of = |text: &str| {
        let whole = configuration(&WebhookTarget::parse(text).expect("a target"), b"PEM");
        whole["webhooks"][0].clone()
    };
    let by_url = of("https://10.0.0.1:8443");
    assert_eq!(by_url["clientConfig"], json!({"url": "https://10.0.0.1:8443/validate", "caBundle": "UEVN"}));
    let by_service = of("policies/webhook");
    let service = json!({"namespace": "policies", "name": "webhook", "path": "/validate", "port": 443});
    assert_eq!(by_service["clientConfig"], json!({"service": service, "caBundle": "UEVN"}));
    let asked: Vec<String> = by_url["rules"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|rule| format!("{} {}", rule["operations"][0], rule["resources"][0]))
        .collect();
    let update = |resource: &str| format!("\"UPDATE\" \"{resource}\"");
    let updates = ["pods", "pods/resize", "pods/ephemeralcontainers"].map(update);
    assert_eq!(asked, [&["\"CREATE\" \"pods\"".to_owned()][..], &updates].concat());
    let yaml = text(&WebhookTarget::parse("policies/webhook").expect("a target"), b"PEM").expect("YAML");
    let read: Value = serde_saphyr::from_str(&yaml).expect("YAML");
    assert_eq!(read["kind"], "ValidatingWebhookConfiguration");
}
