//! Queries that are read, and queries that are refused.

use super::*;

fn read(query: &str) -> Result<LogRequest, LogRequestError> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name.to_owned(), value.to_owned())
    });
    LogRequest::from_query(&pairs.collect::<Vec<_>>())
}

#[test]
fn queries_say_what_upstream_reads_in_them() {
    let none = LogRequest::default();
    let cases = [
        ("", none.clone()),
        ("container=app&insecureSkipTLSVerifyBackend=true&unknown=1", none.clone()),
        ("follow=true", LogRequest { follow: true, ..none.clone() }),
        ("follow", LogRequest { follow: true, ..none.clone() }),
        ("follow=1&previous=yes", LogRequest { follow: true, previous: true, ..none.clone() }),
        ("follow=false&previous=0&timestamps=FALSE", none.clone()),
        ("timestamps=true", LogRequest { timestamps: true, ..none.clone() }),
        ("tailLines=0", LogRequest { tail_lines: Some(0), ..none.clone() }),
        ("tailLines=7&tailLines=8", LogRequest { tail_lines: Some(7), ..none.clone() }),
        ("tail=3&tailLines=8", LogRequest { tail_lines: Some(3), ..none.clone() }),
        ("tail=all&tailLines=8", none.clone()),
        ("tail=&tailLines=8", LogRequest { tail_lines: Some(8), ..none.clone() }),
        ("sinceSeconds=1", LogRequest { since_seconds: Some(1), ..none.clone() }),
        (
            "sinceTime=2024-01-01T00:00:00Z",
            LogRequest { since_time: "2024-01-01T00:00:00Z".parse().ok(), ..none.clone() },
        ),
        ("sinceTime=", none.clone()),
        ("limitBytes=1", LogRequest { limit_bytes: Some(1), ..none.clone() }),
        ("stream=All", none.clone()),
        ("stream=All&tailLines=1", LogRequest { tail_lines: Some(1), ..none.clone() }),
        ("stream=Stdout", LogRequest { stream: Some(LogStream::Stdout), ..none.clone() }),
        ("stream=Stderr", LogRequest { stream: Some(LogStream::Stderr), ..none }),
    ];
    for (query, expected) in cases {
        assert_eq!(read(query), Ok(expected), "{query}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_upstreams_words() {
    let cases = [
        ("tailLines=x", LogRequestError::Undecodable),
        ("tailLines=", LogRequestError::Undecodable),
        ("sinceSeconds=1.5", LogRequestError::Undecodable),
        ("sinceTime=yesterday", LogRequestError::Undecodable),
        ("limitBytes=99999999999999999999", LogRequestError::Undecodable),
        ("tailLines=-1", LogRequestError::Invalid),
        ("sinceSeconds=0", LogRequestError::Invalid),
        ("limitBytes=0", LogRequestError::Invalid),
        ("sinceSeconds=1&sinceTime=2024-01-01T00:00:00Z", LogRequestError::Invalid),
        ("stream=stdout", LogRequestError::Invalid),
        ("stream=Stdout&tailLines=1", LogRequestError::Invalid),
    ];
    for (query, expected) in cases {
        assert_eq!(read(query), Err(expected), "{query}");
    }
    assert_eq!(LogRequestError::Undecodable.to_string(), r#"{"message": "Unable to decode query."}"#);
    assert_eq!(LogRequestError::Invalid.to_string(), r#"{"message": "Invalid request."}"#);
}

#[test]
fn a_beginning_before_all_time_is_the_first_moment() {
    let request = LogRequest { since_seconds: Some(i64::MAX), ..LogRequest::default() };
    assert_eq!(request.since(Timestamp::UNIX_EPOCH), Some(Timestamp::MIN));
    assert_eq!(LogRequest::default().since(Timestamp::UNIX_EPOCH), None);
}
