//! What is said of a server that can't be asked.

use std::io;

use super::*;

#[derive(Debug, Error)]
#[error("{text}")]
struct Layer {
    text: &'static str,
    source: io::Error,
}

#[test]
fn unavailable_server_is_reported_with_the_innermost_cause() {
    let untrusted = || io::Error::other("invalid peer certificate: UnknownIssuer");
    for (text, expected) in [
        (
            "client error (Connect)",
            "request failed: ServiceError: client error (Connect): invalid peer certificate: UnknownIssuer",
        ),
        (
            "Connect: invalid peer certificate: UnknownIssuer",
            "request failed: ServiceError: Connect: invalid peer certificate: UnknownIssuer",
        ),
    ] {
        let error = kube::Error::Service(Box::new(Layer { text, source: untrusted() }));
        assert_eq!(ApiError::of(error).to_string(), expected);
    }
}
