//! Every code has its error.

use super::*;

fn check(status: Status) -> RuntimeError {
    let endpoint = "/run/test.sock".parse().expect("absolute");
    runtime_error("StopContainer", &endpoint, Duration::from_secs(3), &status)
}

#[test]
fn each_code_becomes_its_error() {
    let cases: &[(Code, &str, &str)] = &[
        (
            Code::Unavailable,
            "closing",
            "StopContainer: failed to reach the runtime at unix:///run/test.sock: closing",
        ),
        (Code::DeadlineExceeded, "context deadline exceeded", "StopContainer: no response within 3s"),
        (Code::NotFound, "no such container", "StopContainer: not found: no such container"),
        (Code::AlreadyExists, "name taken", "StopContainer: already exists: name taken"),
        (
            Code::Unimplemented,
            "unknown method",
            "StopContainer: not implemented by the runtime: unknown method",
        ),
        (
            Code::ResourceExhausted,
            "grpc: received message larger than max (17000000 vs. 16777216)",
            "StopContainer: message too large: grpc: received message larger than max (17000000 vs. 16777216)",
        ),
        (
            Code::OutOfRange,
            "Error, decoded message length too large: found 17 bytes, the limit is: 16 bytes",
            "StopContainer: message too large: Error, decoded message length too large: found 17 bytes, the limit is: 16 bytes",
        ),
        (
            Code::Internal,
            "failed to decode Protobuf message: invalid wire type",
            "StopContainer: invalid response: failed to decode Protobuf message: invalid wire type",
        ),
        (Code::ResourceExhausted, "too many requests", "StopContainer: too many requests"),
        (Code::OutOfRange, "offset", "StopContainer: offset"),
        (Code::Unknown, "runc broke", "StopContainer: runc broke"),
        (Code::Cancelled, "context canceled", "StopContainer: context canceled"),
        (Code::InvalidArgument, "bad name", "StopContainer: bad name"),
        (Code::PermissionDenied, "no", "StopContainer: no"),
        (Code::FailedPrecondition, "not running", "StopContainer: not running"),
        (Code::Aborted, "again", "StopContainer: again"),
        (Code::Internal, "oops", "StopContainer: oops"),
        (Code::DataLoss, "lost", "StopContainer: lost"),
        (Code::Unauthenticated, "who", "StopContainer: who"),
    ];
    for (code, message, expected) in cases {
        assert_eq!(check(Status::new(*code, *message)).to_string(), *expected);
    }
}

#[test]
fn a_failure_without_words_names_its_code() {
    let error = check(Status::new(Code::Aborted, ""));
    assert_eq!(error.to_string(), format!("StopContainer: {}", Code::Aborted));
}

#[test]
fn long_messages_are_cut_between_characters() {
    let error = check(Status::new(Code::Unknown, "é".repeat(WORDS_BYTES_MAX)));
    assert_eq!(error.to_string().len(), "StopContainer: ".len() + WORDS_BYTES_MAX);
    let error = check(Status::new(Code::Unknown, format!("x{}", "é".repeat(WORDS_BYTES_MAX))));
    assert_eq!(error.to_string().len(), "StopContainer: ".len() + WORDS_BYTES_MAX - 1);
}

#[test]
fn events_and_statuses_show_an_error_as_a_kubelet_does() {
    for (code, said, status_text, pull_text, message) in [
        (
            Code::Unknown,
            "runc broke",
            "rpc error: code = Unknown desc = runc broke",
            "runc broke",
            "runc broke",
        ),
        (
            Code::NotFound,
            "no such image",
            "rpc error: code = NotFound desc = no such image",
            "rpc error: code = NotFound desc = no such image",
            "no such image",
        ),
        (
            Code::Cancelled,
            "context canceled",
            "rpc error: code = Canceled desc = context canceled",
            "rpc error: code = Canceled desc = context canceled",
            "context canceled",
        ),
        (
            Code::DeadlineExceeded,
            "context deadline exceeded",
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            "context deadline exceeded",
        ),
    ] {
        let error = check(Status::new(code, said));
        assert_eq!(error.status_text(), status_text);
        assert_eq!(error.pull_text(), pull_text);
        assert_eq!(error.message(), message);
    }
}
