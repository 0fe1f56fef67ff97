//! From gRPC's codes to the port's errors, in one match.

use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

use tonic::{Code, Status};
use witlet_core::text::truncated;
use witlet_ports::{RuntimeError, UNKNOWN};

use crate::endpoint::Endpoint;

/// Longest message of a runtime that is kept, in bytes: they end in events and statuses.
const WORDS_BYTES_MAX: usize = 8 * 1024;

/// Returns what a failed call means.
pub(crate) fn runtime_error(
    call: &'static str,
    endpoint: &Endpoint,
    limit: Duration,
    status: &Status,
) -> RuntimeError {
    let message = truncated(status.message(), WORDS_BYTES_MAX);
    let unavailable = |message| RuntimeError::Unavailable { call, endpoint: endpoint.to_string(), message };
    match status.code() {
        // A status with a cause was made on this side, because the transport failed.
        Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled if status.source().is_some() => {
            unavailable(unreachable(status))
        }
        Code::Unavailable => unavailable(message),
        Code::DeadlineExceeded => RuntimeError::DeadlineExceeded { call, limit },
        Code::NotFound => RuntimeError::NotFound { call, message },
        Code::AlreadyExists => RuntimeError::AlreadyExists { call, message },
        Code::Unimplemented => RuntimeError::Unimplemented { call, message },
        // gRPC has no code for size alone: grpc-go says the first, tonic the second.
        Code::ResourceExhausted if message.contains("larger than max") => {
            RuntimeError::TooLarge { call, message }
        }
        Code::OutOfRange if message.contains("message length too large") => {
            RuntimeError::TooLarge { call, message }
        }
        Code::Internal if message.contains("failed to decode Protobuf") => {
            RuntimeError::Malformed { call, message }
        }
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::InvalidArgument
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Internal
        | Code::DataLoss
        | Code::Unauthenticated => {
            RuntimeError::Failed { call, code: go_name(status.code()), message: said(status) }
        }
    }
}

/// A code's name as gRPC for Go prints it.
pub(crate) fn go_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "Canceled",
        Code::Unknown => UNKNOWN,
        Code::InvalidArgument => "InvalidArgument",
        Code::DeadlineExceeded => "DeadlineExceeded",
        Code::NotFound => "NotFound",
        Code::AlreadyExists => "AlreadyExists",
        Code::PermissionDenied => "PermissionDenied",
        Code::ResourceExhausted => "ResourceExhausted",
        Code::FailedPrecondition => "FailedPrecondition",
        Code::Aborted => "Aborted",
        Code::OutOfRange => "OutOfRange",
        Code::Unimplemented => "Unimplemented",
        Code::Internal => "Internal",
        Code::Unavailable => "Unavailable",
        Code::DataLoss => "DataLoss",
        Code::Unauthenticated => "Unauthenticated",
    }
}

/// The runtime's words, or the name of its code if it has none.
fn said(status: &Status) -> String {
    if status.message().is_empty() {
        status.code().to_string()
    } else {
        truncated(status.message(), WORDS_BYTES_MAX)
    }
}

/// Why no one answers, and the way out where there is one.
fn unreachable(status: &Status) -> String {
    let mut cause: Option<&(dyn Error + 'static)> = status.source();
    let mut last = status.message().to_owned();
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            let way_out = match io.kind() {
                ErrorKind::NotFound => {
                    "socket not found; start the runtime, or set --container-runtime-endpoint to its socket"
                }
                ErrorKind::PermissionDenied => "permission denied: run as root",
                ErrorKind::ConnectionRefused => "connection refused; start the runtime",
                _ => return io.to_string(),
            };
            return way_out.to_owned();
        }
        last = error.to_string();
        cause = error.source();
    }
    last
}

#[cfg(test)]
mod tests;
