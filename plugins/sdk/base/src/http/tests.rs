//! Tests of requests and scripted answers.

use std::time::Duration;

use super::{Error, Request, Scheme, send};
use crate::facts::{ScriptedAnswer, serve_http};
use crate::time::Deadline;

#[test]
fn urls_are_taken_apart_or_refused() {
    let cases = [
        ("http://a", Some((Scheme::Http, "a", "/"))),
        ("HTTPS://a:1/b?c=d#e", Some((Scheme::Https, "a:1", "/b?c=d"))),
        ("http://[::1]:80?x", Some((Scheme::Http, "[::1]:80", "/?x"))),
        ("ftp://a", None),
        ("a/b", None),
        ("http:///b", None),
        ("http://user@a/", None),
        ("http://a/b c", None),
        ("http://a/\r\nX: y", None),
    ];
    for (url, expected) in cases {
        let request = Request::get(url).ok();
        let found = request
            .as_ref()
            .map(|request| (request.scheme, request.authority.as_str(), request.path.as_str()));
        assert_eq!(found, expected, "{url}");
    }
}

#[test]
fn an_answers_body_is_read_as_far_as_it_is_desired() {
    let deadline = Deadline::after(Duration::from_secs(1));
    let request = Request::get("http://a/").expect("a URL").header("x-a", "1");
    assert_eq!(
        send(&request, deadline).expect_err("there is no answer"),
        Error::Denied { authority: "a".to_owned() }
    );
    serve_http(|request| {
        let headers = request.headers.clone();
        Ok(ScriptedAnswer {
            status: 201,
            headers,
            body: b"0123456789".to_vec(),
            breaks: Some(Error::BodyLate),
            part_bytes: None,
        })
    });
    let answer = || send(&request, deadline).expect("an answer");
    assert_eq!((answer().status(), answer().header("X-A").as_deref()), (201, Some("1")));
    assert_eq!(answer().header("x-b"), None);
    assert_eq!(answer().beginning(4, deadline).expect("four bytes"), b"0123");
    assert_eq!(answer().beginning(10, deadline).expect("all that comes"), b"0123456789");
    assert_eq!(answer().beginning(11, deadline), Err(Error::BodyLate));
    serve_http(|_| Ok(ScriptedAnswer { body: b"0123456789".to_vec(), ..ScriptedAnswer::default() }));
    assert_eq!(answer().whole_body(10, deadline).expect("all of it"), b"0123456789");
    assert_eq!(answer().whole_body(9, deadline), Err(Error::BodyTooLarge { bytes_max: 9 }));
}

#[test]
fn a_body_that_comes_almost_byte_by_byte_is_given_up() {
    let deadline = Deadline::after(Duration::from_secs(1));
    let read = |bytes: usize, part_bytes| {
        serve_http(move |_| {
            let part_bytes = Some(part_bytes);
            Ok(ScriptedAnswer { body: vec![b'x'; bytes], part_bytes, ..ScriptedAnswer::default() })
        });
        let request = Request::get("http://a/").expect("a URL");
        let mut answer = send(&request, deadline).expect("an answer");
        answer.beginning(100_000, deadline).map(|body| body.len())
    };
    assert_eq!(read(200, 1), Ok(200));
    assert_eq!(read(100_000, 1_000), Ok(100_000));
    assert_eq!(read(200_000, 300), Ok(100_000));
    assert!(matches!(read(100_000, 1), Err(Error::Malformed { .. })));
}

#[test]
fn a_request_that_cant_be_sent_is_an_error_before_anyone_is_asked() {
    serve_http(|_| Ok(ScriptedAnswer::default()));
    let sent = |change: &dyn Fn(&mut Request)| {
        let mut request = Request::get("http://a/").expect("a URL");
        change(&mut request);
        send(&request, Deadline::after(Duration::from_secs(1))).map(|answer| answer.status())
    };
    assert_eq!(sent(&|request| request.headers.push(("X-A".into(), "ü\t1".into()))), Ok(200));
    let changes: [&dyn Fn(&mut Request); 6] = [
        &|request| request.headers.push(("X A".into(), "1".into())),
        &|request| request.headers.push((String::new(), "1".into())),
        &|request| request.headers.push(("X-A".into(), "1\r\nX-B: 2".into())),
        &|request| request.path = "a".into(),
        &|request| request.path = "/a b".into(),
        &|request| request.method = "GET /".into(),
    ];
    for change in changes {
        assert!(matches!(sent(change), Err(Error::Request { .. })));
    }
}
