//! What a registry answers: manifests, lists, challenges, tokens, redirects: `host/oci`.

use http::Uri;
use witlet_core::runtime::ImageAuth;
use witlet_oci::address;
use witlet_oci::challenge::{self, Action, Challenge, Credential, Step};
use witlet_oci::manifest::{COMPONENT_BYTES_MAX, component_layer};
use witlet_oci::referrers::{REPORT_BYTES_MAX, REPORTS_MAX, report_layer, reports};

use crate::{Target, check_message};

pub(crate) const TARGET: Target = Target {
    name: "registry_answers",
    run,
    words: &[
        "{\"schemaVersion\":2,",
        "\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\"",
        "\"config\":{",
        "\"layers\":[",
        "\"manifests\":[",
        "\"digest\":\"sha256:",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "\"size\":67108865",
        "\"application/wasm\"",
        "\"application/vnd.wasm.config.v0+json\"",
        "\"artifactType\":\"application/vnd.witlet.conformance.v1alpha1\"",
        "\"token\":\"",
        "\"access_token\":\"",
        "Bearer realm=\"https://auth.example.com/token\"",
        "service=\"registry\"",
        "scope=\"repository:a:pull\"",
        "Basic realm=\"a\"",
        ", ",
        "\\\"",
        "error=\"insufficient_scope\"",
        "Negotiate ",
        "https://",
        "http://127.0.0.1/",
        "//a/",
        "http://[::ffff:127.0.0.1]:80/",
        "169.254.169.254",
        "@",
        "#",
        "realm = \"a\"",
        "\t",
    ],
};

fn run(data: &[u8]) {
    documents(data);
    if let Ok(text) = std::str::from_utf8(data) {
        header(text);
        text.lines().take(8).for_each(redirect);
    }
}

fn is_digest(digest: &str) -> bool {
    digest
        .strip_prefix("sha256:")
        .is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

fn documents(data: &[u8]) {
    let layer = component_layer(data);
    assert_eq!(layer, component_layer(data));
    match layer {
        Ok(layer) => assert!(is_digest(&layer.digest) && layer.size <= COMPONENT_BYTES_MAX, "{layer:?}"),
        Err(error) => check_message(&error.to_string(), 0),
    }
    match reports(data) {
        Ok(reports) => {
            assert!(reports.len() <= REPORTS_MAX && reports.iter().all(|report| is_digest(&report.digest)))
        }
        Err(error) => check_message(&error.to_string(), 0),
    }
    match report_layer(data) {
        Ok(layer) => assert!(is_digest(&layer.digest) && layer.size <= REPORT_BYTES_MAX as u64, "{layer:?}"),
        Err(error) => check_message(&error.to_string(), 0),
    }
    if let Some(token) = challenge::token(data) {
        check_header(&Credential::Bearer(token));
    }
}

/// Nothing that is sent as a header has anything in it that ends one.
fn check_header(credential: &Credential) {
    let header = credential.header();
    assert!(header.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '), "{header:?}");
}

fn header(text: &str) {
    let found = challenge::parse(text);
    assert_eq!(found, challenge::parse(text));
    let Some(found) = found else { return };
    // What was read, written as servers write it, is read as the same.
    if let Challenge::Bearer { realm, service, scope } = &found {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut written = format!("Bearer realm=\"{}\"", quoted(realm));
        for (name, value) in [("service", service), ("scope", scope)] {
            written.extend(value.iter().map(|value| format!(",{name}=\"{}\"", quoted(value))));
        }
        if written.len() <= 4096 {
            assert_eq!(challenge::parse(&written), Some(found.clone()), "{written}");
        }
        let spaced = written.replacen("realm=", "realm = ", 1);
        if spaced.len() <= 4096 {
            assert_eq!(challenge::parse(&spaced), Some(found.clone()), "{spaced}");
        }
    }
    let auth = ImageAuth { username: "user".to_owned(), password: "word".to_owned(), ..ImageAuth::default() };
    let identity = ImageAuth { identity_token: "identity".to_owned(), ..ImageAuth::default() };
    for auth in [None, Some(&auth), Some(&identity)] {
        for action in [Action::Pull, Action::Push] {
            match challenge::answer(&found, auth, "probes/redis", action) {
                Step::Use(credential) => check_header(&credential),
                Step::Token(request) => {
                    let encoded = challenge::encode(&request.parameters);
                    assert!(
                        encoded.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'),
                        "{encoded:?}"
                    );
                    assert_eq!(encoded.split('&').count(), request.parameters.len());
                }
                Step::NoCredentials => assert!(auth.is_none_or(|auth| auth.username.is_empty())),
            }
        }
    }
}

fn redirect(to: &str) {
    let url = |text: &str| text.parse::<Uri>().expect("a URL");
    let (outside, here) = (url("https://registry.example.com/v2/a"), url("http://127.0.0.1:5000/v2/a"));
    match address::follow(&outside, to, &outside, "a redirect") {
        Ok(found) => {
            assert_eq!(found.scheme_str(), Some("https"), "{to:?} leads to {found}");
            let host = found.host().expect("it leads somewhere");
            assert!(!address::is_loopback(host), "{to:?} leads inside");
            let again = address::follow(&outside, &found.to_string(), &outside, "a redirect");
            assert_eq!(again.as_ref(), Ok(&found), "{to:?}");
        }
        Err(error) => check_message(&error.to_string(), to.len()),
    }
    if let Ok(found) = address::follow(&here, to, &here, "a redirect") {
        let host = found.host().expect("it leads somewhere");
        assert!(
            found.scheme_str() == Some("https") || address::is_loopback(host),
            "{to:?} leads to {found} in the clear"
        );
    }
}
