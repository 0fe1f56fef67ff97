//! Probes of scripted servers.

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{ScriptedAnswer, TargetFacts, serve_http};
use witlet_plugin_sdk::http::Error;
use witlet_plugin_sdk::probe::{Outcome, ProbeType};

use super::{BODY_BYTES_MAX, HttpJson, Parameters};

fn probe(mut parameters: Value) -> Outcome {
    parameters["port"] = json!(8080);
    let parameters: Parameters = serde_json::from_value(parameters).expect("parameters");
    let facts = TargetFacts { pod_ips: vec!["10.0.0.7".to_owned()], ..TargetFacts::default() };
    HttpJson::probe(&facts.target(), &parameters, &()).expect("an outcome")
}

fn answers(status: u16, body: &str) {
    let body = body.as_bytes().to_vec();
    serve_http(move |request| {
        assert_eq!((request.authority.as_str(), request.path.as_str()), ("10.0.0.7:8080", "/health"));
        let agent = request.headers.iter().find(|(name, _)| name == "User-Agent");
        assert_eq!(agent.map(|(_, value)| value.as_str()), Some("kube-probe/1.36"));
        Ok(ScriptedAnswer { status, body: body.clone(), ..ScriptedAnswer::default() })
    });
}

#[test]
fn status_and_value_decide_together() {
    let success = |text: &str| Outcome::Success(text.to_owned());
    let failure = |text: &str| Outcome::Failure(text.to_owned());
    let up = json!({"path": "/health", "pointer": "/status", "equals": "up"});
    let also_503 = json!({"path": "/health", "pointer": "/status", "equals": "up", "status": [200, 503]});
    let status_only = json!({"path": "health"});
    let cases = [
        (200, r#"{"status": "up"}"#, &up, success("/status is \"up\"")),
        (299, r#"{"status": "up"}"#, &up, success("/status is \"up\"")),
        (200, r#"{"status": "down"}"#, &up, failure("/status is \"down\", not \"up\"")),
        (503, r#"{"status": "up"}"#, &up, failure("HTTP probe failed with statuscode: 503")),
        (302, r#"{"status": "up"}"#, &up, failure("HTTP probe failed with statuscode: 302")),
        (503, r#"{"status": "up"}"#, &also_503, success("/status is \"up\"")),
        (201, r#"{"status": "up"}"#, &also_503, failure("HTTP probe failed with statuscode: 201")),
        (200, "[]", &status_only, success("")),
        (200, "<html>", &status_only, failure("the answer is no JSON: expected value at line 1 column 1")),
    ];
    for (status, body, parameters, expected) in cases {
        answers(status, body);
        assert_eq!(probe(parameters.clone()), expected, "{status} {body}");
    }
}

#[test]
fn a_rule_judges_status_headers_body_and_latency() {
    let with = |expression: &str| json!({"path": "/health", "expression": expression});
    serve_http(|_| {
        let headers = [("Content-Type", "application/json"), ("X-A", "1"), ("x-a", "2")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let body = br#"{"queue": {"depth": 7}, "nodes": ["a", "b"]}"#.to_vec();
        Ok(ScriptedAnswer { status: 503, headers, body, ..ScriptedAnswer::default() })
    });
    for expression in [
        "status == 503 && body.queue.depth < 10",
        "status >= 500 && headers['content-type'] == 'application/json' && headers['x-a'] == '1, 2'",
        "status > 0 && body.nodes.exists(n, n == 'b') && latency >= duration('0s')",
        "status > 0 && body.?missing.orValue('none') == 'none'",
    ] {
        assert_eq!(probe(with(expression)), Outcome::Success(format!("{expression} is true")));
    }
    for (parameters, expected) in [
        (with("status == 200"), "status == 200 is false"),
        (with("body.queue.depth < 10"), "HTTP probe failed with statuscode: 503"),
        (
            with("status > 0 && body.missing"),
            "expression: line 1, column 20: no such key: missing; say what counts instead, as in .?missing.orValue(…)",
        ),
        (
            with("status > 0 ? body.queue.depth : 1"),
            "the result of status > 0 ? body.queue.depth : 1 must be bool, it is int",
        ),
        (
            json!({"path": "/health", "status": [200], "expression": "status == 503"}),
            "HTTP probe failed with statuscode: 503",
        ),
    ] {
        assert_eq!(probe(parameters), Outcome::Failure(expected.to_owned()));
    }
    // A body is read once, however often the rule asks for it.
    answers(200, &format!("[7, \"{}\"]", "x".repeat(BODY_BYTES_MAX - 100)));
    let often = "[0, 1, 2, 3, 4, 5, 6, 7].all(a, [0, 1, 2, 3, 4, 5, 6, 7].all(b, body[0] == 7))";
    assert_eq!(probe(with(often)), Outcome::Success(format!("{often} is true")));
    // What the rule doesn't ask for isn't read.
    answers(200, "<html>");
    assert_eq!(probe(with("status == 200")), Outcome::Success("status == 200 is true".to_owned()));
    let expected = "expression: line 1, column 1: the answer is no JSON: expected value at line 1 column 1";
    assert_eq!(probe(with("body.a == 1")), Outcome::Failure(expected.to_owned()));
}

#[test]
fn an_answer_that_is_too_large_too_deep_or_breaks_off_is_a_failure() {
    let path = || json!({"path": "/health"});
    answers(200, &format!("\"{}\"", "x".repeat(BODY_BYTES_MAX)));
    let expected = "Get \"http://10.0.0.7:8080/health\": the body has more than 65536 bytes";
    assert_eq!(probe(path()), Outcome::Failure(expected.to_owned()));
    answers(200, &"[".repeat(BODY_BYTES_MAX));
    assert!(matches!(probe(path()), Outcome::Failure(text) if text.contains("recursion limit")));
    serve_http(|_| Ok(ScriptedAnswer { breaks: Some(Error::BodyLate), ..ScriptedAnswer::default() }));
    assert!(matches!(probe(path()), Outcome::Failure(text) if text.contains("while reading body")));
    serve_http(|_| Err(Error::HeadersLate));
    assert!(matches!(probe(path()), Outcome::Failure(text) if text.contains("while awaiting headers")));
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let check = |parameters: Value| {
        let parameters: Parameters = serde_json::from_value(parameters).expect("parameters");
        HttpJson::check_parameters(&parameters, &()).map_err(|error| error.to_string())
    };
    assert_eq!(check(json!({"port": 1, "pointer": "/a", "equals": 1})), Ok(()));
    assert_eq!(check(json!({"port": 0})), Err("port: invalid port number: 0".to_owned()));
    assert_eq!(
        check(json!({"port": 1, "scheme": "ftp"})),
        Err("scheme: unsupported scheme \"ftp\"".to_owned())
    );
    assert!(check(json!({"port": 1, "equals": 1})).is_err());
    assert_eq!(check(json!({"port": 1, "expression": "status == 200 && body.a == 1"})), Ok(()));
    for (expression, expected) in [
        ("state == 200", "expression: line 1, column 1: there is no variable state; did you mean status?"),
        ("status", "expression: the result must be bool, it is int"),
        (
            "latency < 5",
            "expression: line 1, column 9: < doesn't take duration and int; spans are written duration('1h30m')",
        ),
        ("body.", "expression: line 1, column 6: found the end: a name is expected behind the point"),
    ] {
        assert_eq!(check(json!({"port": 1, "expression": expression})), Err(expected.to_owned()));
    }
    assert_eq!(
        check(json!({"port": 1, "expression": "true", "pointer": "/a", "equals": 1})),
        Err("expression: takes the place of pointer, equals, oneOf, min and max".to_owned())
    );
    assert!(serde_json::from_value::<Parameters>(json!({"port": 1, "pionter": "/a"})).is_err());
}
