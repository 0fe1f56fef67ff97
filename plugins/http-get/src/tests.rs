//! Probes of scripted servers.

use std::cell::RefCell;
use std::rc::Rc;

use witlet_plugin_sdk::facts::{ScriptedAnswer, TargetFacts, serve_http};
use witlet_plugin_sdk::http::{Error, Request, Scheme};
use witlet_plugin_sdk::probe::{Outcome, ProbeType};

use super::{BODY_BYTES_MAX, Header, HttpGet, Parameters};

fn on_pod() -> TargetFacts {
    TargetFacts { pod_ips: vec!["10.0.0.7".to_owned(), "fd00::7".to_owned()], ..TargetFacts::default() }
}

fn parameters(path: &str) -> Parameters {
    Parameters { path: Some(path.to_owned()), port: 8080, ..Parameters::default() }
}

fn probe(parameters: &Parameters) -> Result<Outcome, String> {
    HttpGet::probe(&on_pod().target(), parameters, &()).map_err(|error| error.to_string())
}

fn probe_path(path: &str) -> Outcome {
    probe(&parameters(path)).expect("the probe can be judged")
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Result<ScriptedAnswer, Error> {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Ok(ScriptedAnswer { status, headers, body: body.as_bytes().to_vec(), ..ScriptedAnswer::default() })
}

fn url(request: &Request) -> String {
    let scheme = if request.scheme == Scheme::Https { "https" } else { "http" };
    format!("{scheme}://{}{}", request.authority, request.path)
}

#[test]
fn the_status_decides() {
    serve_http(|request| answer(request.path[1..].parse().expect("a number"), &[], "body"));
    let warning = || Outcome::Warning("Probe terminated redirects, Response body: body".to_owned());
    let failure = |status: u16| Outcome::Failure(format!("HTTP probe failed with statuscode: {status}"));
    let success = || Outcome::Success("body".to_owned());
    let cases = [
        (200, success()),
        (204, success()),
        (299, success()),
        (300, warning()),
        (302, warning()),
        (304, warning()),
        (399, warning()),
        (100, failure(100)),
        (199, failure(199)),
        (400, failure(400)),
        (404, failure(404)),
        (500, failure(500)),
        (599, failure(599)),
    ];
    for (status, expected) in cases {
        assert_eq!(probe_path(&format!("/{status}")), expected, "{status}");
    }
}

#[test]
fn the_request_is_as_the_spec_has_it() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    serve_http(move |request| {
        let headers: Vec<String> =
            request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        log.borrow_mut().push(format!("{} {} [{}]", request.method, url(request), headers.join(", ")));
        answer(200, &[], "")
    });
    let header = |name: &str, value: &str| Header { name: name.to_owned(), value: value.to_owned() };
    let defaults = "User-Agent: kube-probe/1.36, Accept: */*";
    let cases = [
        (parameters("/a b?c=d"), format!("GET http://10.0.0.7:8080/a%20b?c=d [{defaults}]")),
        (Parameters { port: 80, ..Parameters::default() }, format!("GET http://10.0.0.7:80/ [{defaults}]")),
        (
            Parameters {
                host: Some("fd00::8".to_owned()),
                scheme: Some("HTTPS".to_owned()),
                ..parameters("x")
            },
            format!("GET https://[fd00::8]:8080/x [{defaults}]"),
        ),
        (
            Parameters {
                http_headers: Some(vec![
                    header("host", "example.org"),
                    header("X-A", "1"),
                    header("X-A", "2"),
                    header("accept", ""),
                    header("connection", "keep-alive"),
                ]),
                ..parameters("/")
            },
            "GET http://10.0.0.7:8080/ [Host: example.org, X-A: 1, X-A: 2, User-Agent: kube-probe/1.36]"
                .to_owned(),
        ),
    ];
    for (parameters, expected) in cases {
        assert_eq!(probe(&parameters), Ok(Outcome::Success(String::new())));
        assert_eq!(seen.borrow().last(), Some(&expected));
    }
}

#[test]
fn a_request_that_cant_be_made_is_a_failure() {
    serve_http(|_| answer(200, &[], ""));
    for (name, value) in [("X A", "1"), ("X-A", "1\r\nX-B: 2"), ("", "1")] {
        let header = Header { name: name.to_owned(), value: value.to_owned() };
        let parameters = Parameters { http_headers: Some(vec![header]), ..parameters("/") };
        let Ok(Outcome::Failure(text)) = probe(&parameters) else { panic!("{name:?}") };
        assert!(text.starts_with("Get \"http://10.0.0.7:8080/\": invalid request"), "{name:?}: {text}");
    }
}

#[test]
fn redirects_are_followed_on_the_same_host_only() {
    serve_http(|request| {
        let url = url(request);
        let to = |location: &str| answer(302, &[("Location", location)], "moved");
        match url.strip_prefix("http://10.0.0.7:8080").unwrap_or(&url) {
            "/absolute" => to("/end?x#part"),
            "/a/relative" => to("end"),
            "/end?query" => to("?x"),
            "/port" => to("http://10.0.0.7:81"),
            "/secure" => to("https://10.0.0.7/"),
            "/away" => to("http://0.0.0.0/"),
            "/away-quietly" => to("//localhost/"),
            "/nowhere" => to("ftp://10.0.0.7/"),
            "/loop" => to("/loop"),
            "/no-location" => answer(307, &[], "moved"),
            other => match other.strip_prefix("/status/") {
                Some(status) => answer(status.parse().expect("one"), &[("location", "/end")], "moved"),
                None => answer(200, &[], other),
            },
        }
    });
    let followed = |body: &str| Outcome::Success(body.to_owned());
    let moved = || Outcome::Warning("Probe terminated redirects, Response body: moved".to_owned());
    let failed =
        |path: &str, why: &str| Outcome::Failure(format!("Get \"http://10.0.0.7:8080{path}\": {why}"));
    let cases = [
        ("/absolute", followed("/end?x")),
        ("/a/relative", followed("/a/end")),
        ("/end?query", followed("/end?x")),
        ("/port", followed("http://10.0.0.7:81/")),
        ("/secure", followed("https://10.0.0.7:443/")),
        ("/status/301", followed("/end")),
        ("/status/303", followed("/end")),
        ("/status/307", followed("/end")),
        ("/status/308", followed("/end")),
        ("/status/304", moved()),
        ("/status/300", moved()),
        ("/away", moved()),
        ("/away-quietly", moved()),
        ("/no-location", moved()),
        ("/loop", failed("/loop", "stopped after 10 redirects")),
        ("/nowhere", failed("/nowhere", "failed to parse Location header \"ftp://10.0.0.7/\"")),
    ];
    for (path, expected) in cases {
        assert_eq!(probe_path(path), expected, "{path}");
    }
}

#[test]
fn the_given_host_is_named_until_a_redirect_names_one() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = seen.clone();
    serve_http(move |request| {
        let host = request.headers.iter().find(|(name, _)| name == "Host").map(|(_, value)| value.clone());
        log.borrow_mut().push((request.path.clone(), host));
        match request.path.as_str() {
            "/a" => answer(301, &[("location", "/b")], ""),
            "/b" => answer(301, &[("location", "http://10.0.0.7:8080/c")], ""),
            _ => answer(200, &[], "end"),
        }
    });
    let header = Header { name: "Host".to_owned(), value: "example.org".to_owned() };
    let parameters = Parameters { http_headers: Some(vec![header]), ..parameters("/a") };
    assert_eq!(probe(&parameters), Ok(Outcome::Success("end".to_owned())));
    let named = Some("example.org".to_owned());
    assert_eq!(
        *seen.borrow(),
        [("/a".to_owned(), named.clone()), ("/b".to_owned(), named), ("/c".to_owned(), None)]
    );
}

#[test]
fn only_the_beginning_of_a_large_body_is_read() {
    serve_http(|_| {
        // A client that reads on gets an error.
        let breaks = Some(Error::BodyLate);
        Ok(ScriptedAnswer { body: vec![b'x'; BODY_BYTES_MAX], breaks, ..ScriptedAnswer::default() })
    });
    assert_eq!(probe_path("/"), Outcome::Success("x".repeat(BODY_BYTES_MAX)));
    serve_http(|_| Ok(ScriptedAnswer { body: b"\xff".to_vec(), ..ScriptedAnswer::default() }));
    assert_eq!(probe_path("/"), Outcome::Success("\u{fffd}".to_owned()));
}

#[test]
fn a_server_that_doesnt_answer_is_a_failure_in_its_words() {
    let cases = [
        (Error::HeadersLate, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
        (
            Error::Host { words: "http: server gave HTTP response to HTTPS client".to_owned() },
            "http: server gave HTTP response to HTTPS client",
        ),
    ];
    for (error, words) in cases {
        serve_http(move |_| Err(error.clone()));
        assert_eq!(probe_path("/x"), Outcome::Failure(format!("Get \"http://10.0.0.7:8080/x\": {words}")));
    }
}

#[test]
fn a_body_that_breaks_off_or_dawdles_cant_be_judged() {
    for breaks in [Error::BodyLate, Error::Malformed { problem: "unexpected EOF".to_owned() }] {
        let words = breaks.to_string();
        serve_http(move |_| {
            Ok(ScriptedAnswer {
                body: b"x".to_vec(),
                breaks: Some(breaks.clone()),
                ..ScriptedAnswer::default()
            })
        });
        assert_eq!(probe(&parameters("/")), Err(words));
    }
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let check = |parameters: &Parameters| {
        HttpGet::check_parameters(parameters, &()).map_err(|error| error.to_string())
    };
    assert_eq!(check(&parameters("/")), Ok(()));
    let no_port = Parameters { port: 0, ..Parameters::default() };
    assert_eq!(check(&no_port), Err("port: invalid port number: 0".to_owned()));
    let ftp = Parameters { scheme: Some("ftp".to_owned()), ..parameters("/") };
    assert_eq!(check(&ftp), Err("scheme: unsupported scheme \"ftp\"".to_owned()));
}

#[test]
fn a_pod_without_an_address_cant_be_judged() {
    let probed = HttpGet::probe(&TargetFacts::default().target(), &parameters("/"), &());
    assert_eq!(probed.map_err(|error| error.to_string()), Err("the pod has no IP address".to_owned()));
}
