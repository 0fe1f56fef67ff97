//! How a call ended that has no answer: gRPC's codes (<https://grpc.io/docs/guides/status-codes/>).

use std::fmt;

/// What isn't known.
pub(crate) const UNKNOWN: u32 = 2;
/// The time was over.
pub(crate) const DEADLINE_EXCEEDED: u32 = 4;
/// The server has no such method.
pub(crate) const UNIMPLEMENTED: u32 = 12;
/// What came makes no sense.
pub(crate) const INTERNAL: u32 = 13;
/// The server can't be talked to.
pub(crate) const UNAVAILABLE: u32 = 14;

/// A status other than OK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: u32,
    pub(crate) message: String,
}

impl Status {
    pub(crate) fn new(code: u32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A server that breaks HTTP/2.
    pub(crate) fn broken(problem: &str) -> Self {
        Self::new(UNAVAILABLE, format!("connection error: {problem}"))
    }

    /// A server that answers with another HTTP status than 200 (upstream: `HTTPStatusConvTab`).
    pub(crate) fn of_http(status: &str, content_type: Option<&str>) -> Self {
        let code = match status {
            "400" | "431" => INTERNAL,
            "401" => 16,
            "403" => 7,
            "404" => UNIMPLEMENTED,
            "429" | "502" | "503" | "504" => UNAVAILABLE,
            _ => UNKNOWN,
        };
        let mut message = format!("unexpected HTTP status code received from server: {status}");
        match content_type {
            None => message.push_str("; malformed header: missing HTTP content-type"),
            Some(content_type) if !is_grpc(content_type) => {
                message.push_str(&format!("; transport: received unexpected content-type {content_type:?}"));
            }
            Some(_) => {}
        }
        Self::new(code, message)
    }
}

/// Whether content is gRPC's: `application/grpc`, also with a subtype or parameters.
pub(crate) fn is_grpc(content_type: &str) -> bool {
    content_type
        .get(..16)
        .filter(|start| start.eq_ignore_ascii_case("application/grpc"))
        .is_some_and(|_| matches!(content_type.as_bytes().get(16), None | Some(b'+' | b';')))
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rpc error: code = {} desc = {}", code_name(self.code), self.message)
    }
}

/// A code as Go's client names it.
fn code_name(code: u32) -> String {
    const NAMES: [&str; 17] = [
        "OK",
        "Canceled",
        "Unknown",
        "InvalidArgument",
        "DeadlineExceeded",
        "NotFound",
        "AlreadyExists",
        "PermissionDenied",
        "ResourceExhausted",
        "FailedPrecondition",
        "Aborted",
        "OutOfRange",
        "Unimplemented",
        "Internal",
        "Unavailable",
        "DataLoss",
        "Unauthenticated",
    ];
    let name = usize::try_from(code).ok().and_then(|code| NAMES.get(code));
    name.map_or_else(|| format!("Code({code})"), |name| (*name).to_owned())
}
