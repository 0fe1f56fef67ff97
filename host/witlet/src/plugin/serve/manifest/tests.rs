//! The configuration that each target comes to.

use super::*;

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
