//! What a target is, and what isn't one.

use super::*;

#[test]
fn a_target_is_a_url_or_a_service() {
    let url = |url: &str| Some(WebhookTarget::Url(url.to_owned()));
    let service = |namespace: &str, name: &str| {
        Some(WebhookTarget::Service { namespace: namespace.to_owned(), name: name.to_owned() })
    };
    let cases = [
        ("https://policy.example.com", url("https://policy.example.com")),
        ("https://10.0.0.1:8443/", url("https://10.0.0.1:8443")),
        ("policies/witlet-webhook", service("policies", "witlet-webhook")),
        ("http://policy.example.com", None),
        ("https://", None),
        ("https://a b", None),
        ("https://user@host", None),
        ("https://host/path", None),
        ("witlet-webhook", None),
        ("/witlet-webhook", None),
        ("policies/", None),
        ("Policies/webhook", None),
        ("a/b/c", None),
    ];
    for (text, expected) in cases {
        assert_eq!(WebhookTarget::parse(text).ok(), expected, "{text}");
    }
}
