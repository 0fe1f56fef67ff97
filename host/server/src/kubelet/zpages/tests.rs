//! Upstream's cases of the negotiation, and both pages.

use http_body_util::BodyExt;

use super::*;

#[test]
fn forms_are_negotiated_as_upstream_does() {
    let json = |version| Some(Form::Object(version, Encoding::Json));
    let yaml = |version| Some(Form::Object(version, Encoding::Yaml));
    let cases = [
        ("", Some(Form::Text)),
        ("  ", Some(Form::Text)),
        ("text/plain", Some(Form::Text)),
        ("text/*", Some(Form::Text)),
        ("*/*", Some(Form::Text)),
        ("*", Some(Form::Text)),
        ("text/plain;charset=utf-8", Some(Form::Text)),
        ("application/json;v=v1beta1;g=config.k8s.io;as=Flagz", json(Version::V1Beta1)),
        ("application/json;as=Flagz;v=v1alpha1;g=config.k8s.io", json(Version::V1Alpha1)),
        ("application/yaml;v=v1beta1;g=config.k8s.io;as=Flagz", yaml(Version::V1Beta1)),
        ("application/*;v=v1beta1;g=config.k8s.io;as=Flagz", json(Version::V1Beta1)),
        ("*/*;v=v1beta1;g=config.k8s.io;as=Flagz", json(Version::V1Beta1)),
        ("application/json;v=foo;g=config.k8s.io;as=Flagz,*/*", Some(Form::Text)),
        (
            "text/plain;q=0.1, application/json;v=v1beta1;g=config.k8s.io;as=Flagz;q=0.9",
            json(Version::V1Beta1),
        ),
        ("application/json;v=v1beta1;g=config.k8s.io;as=Flagz;q=0.2,text/plain;q=0.3", Some(Form::Text)),
        ("application/json;v=v1beta1;g=config.k8s.io;as=Flagz;q=nan,text/plain;q=0.3", Some(Form::Text)),
        ("application/json;v=v1beta1;g=config.k8s.io;as=Flagz;q=inf,text/plain;q=0.3", Some(Form::Text)),
        ("application/json;v=v1beta1;g=config.k8s.io;as=Flagz;q=x,text/plain;q=0.3", Some(Form::Text)),
        ("*/*,application/yaml;v=v1beta1;g=config.k8s.io;as=Flagz", yaml(Version::V1Beta1)),
        ("application/xml", None),
        ("application/json", None),
        ("application/json;v=v1beta1;g=config.k8s.io", None),
        ("application/json;v=v1beta1;g=config.k8s.io;as=Statusz", None),
        ("application/json;v=v1beta1;g=apps;as=Flagz", None),
        ("application/json;v=v1beta1;g=config.k8s.io;as=Flagz;sv=v1", None),
        ("application/json;v=v1beta1;g=config.k8s.io;as=Flagz;stream=watch", None),
        ("text/plain;v=v1beta1;g=config.k8s.io;as=Flagz", None),
        ("application/cbor;v=v1beta1;g=config.k8s.io;as=Flagz", None),
        (",;/", None),
    ];
    for (accept, expected) in cases {
        assert_eq!(negotiate(accept, "Flagz"), expected, "{accept:?}");
    }
}

fn status() -> ProcessStatus<'static> {
    ProcessStatus {
        started: "2026-06-01T12:00:00.5Z".parse().unwrap(),
        now: "2026-06-02T13:01:02Z".parse().unwrap(),
        version: "1.36.0",
        paths: paths(&EndpointSwitches::default()),
    }
}

#[test]
fn paths_are_those_outside_of_web_services() {
    let default = EndpointSwitches::default;
    for (switches, expected) in [
        (default(), "/configz /debug /flagz /healthz /metrics"),
        (EndpointSwitches { flagz: false, ..default() }, "/configz /debug /healthz /metrics"),
        (
            EndpointSwitches { system_logs: false, ..default() },
            "/configz /debug /flagz /healthz /logs /metrics",
        ),
    ] {
        assert_eq!(paths(&switches).join(" "), expected, "{switches:?}");
    }
}

#[test]
fn a_status_has_upstreams_fields() {
    assert_eq!(
        status().text(),
        "\nStarted: Mon Jun  1 12:00:00 UTC 2026\nUp: 25 hr 01 min 02 sec\nGo version: \nBinary version: 1.36.0\n\
         Emulation version: 1.36\nPaths: /configz /debug /flagz /healthz /metrics\n"
    );
    let fields = Value::Object(status().fields());
    let expected = json!({
        "startTime": "2026-06-01T12:00:00Z", "uptimeSeconds": 90_062, "goVersion": "", "binaryVersion": "1.36.0",
        "emulationVersion": "1.36", "paths": ["/configz", "/debug", "/flagz", "/healthz", "/metrics"],
    });
    assert_eq!(fields, expected);
    let early = ProcessStatus { now: Timestamp::UNIX_EPOCH, ..status() };
    assert_eq!(early.uptime_seconds(), 0);
}

#[test]
fn flags_are_a_line_each() {
    let flags = [("v", "4"), ("a", "x\ny=z")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(flags_text(&flags.into()), "a=x y=z\nv=4\n");
}

async fn shown(accept: &'static str) -> (u16, HeaderMap, String) {
    let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
    let answer = page(
        "Flagz",
        &headers,
        || "v=4\n".to_owned(),
        || Map::from_iter([("flags".to_owned(), json!({"v": "4"}))]),
    );
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (parts.status.as_u16(), parts.headers, String::from_utf8(body.into()).unwrap())
}

#[tokio::test]
async fn a_page_has_the_form_that_was_negotiated() {
    let (code, headers, body) = shown("*/*").await;
    assert_eq!((code, headers["content-type"].to_str().unwrap()), (200, "text/plain; charset=utf-8"));
    assert_eq!(body, format!("\nkubelet flagz\n{WARNING}\nv=4\n"));
    let (code, headers, body) = shown("application/json;v=v1beta1;g=config.k8s.io;as=Flagz").await;
    let kind = headers["content-type"].to_str().unwrap();
    assert_eq!((code, kind), (200, "application/json;g=config.k8s.io;v=v1beta1;as=Flagz"));
    assert!(!headers.contains_key("warning"));
    let object = json!({
        "kind": "Flagz", "apiVersion": "config.k8s.io/v1beta1", "metadata": {"name": "kubelet"}, "flags": {"v": "4"},
    });
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), object);
    let (code, headers, body) = shown("application/yaml;v=v1alpha1;g=config.k8s.io;as=Flagz").await;
    let kind = headers["content-type"].to_str().unwrap();
    assert_eq!((code, kind), (200, "application/yaml;g=config.k8s.io;v=v1alpha1;as=Flagz"));
    assert!(
        headers["warning"]
            .to_str()
            .unwrap()
            .starts_with("299 - \"This version of the flagz endpoint is deprecated")
    );
    assert!(body.contains("apiVersion: config.k8s.io/v1alpha1\n"), "{body}");
    let (code, headers, body) = shown("application/json").await;
    assert_eq!((code, headers["content-type"].to_str().unwrap()), (406, "application/json"));
    let refused: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&refused["reason"], &refused["code"]), (&json!("NotAcceptable"), &json!(406)));
}
