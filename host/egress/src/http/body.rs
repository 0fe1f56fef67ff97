//! The body of an answer, read as it is asked for.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use thiserror::Error;
use tokio::time::{Sleep, sleep};

use super::Connection;

#[cfg(test)]
mod tests;

/// A body that ended before its end.
#[derive(Debug, Error)]
pub enum BodyError {
    /// The next part didn't come in time.
    #[error("net/http: timeout while reading body")]
    Timeout,
    /// The server closed the connection.
    #[error("unexpected EOF")]
    Closed {
        #[source]
        cause: hyper::Error,
    },
    /// What the server sends isn't HTTP/1.
    #[error("malformed HTTP exchange")]
    Protocol {
        /// What is wrong with it.
        #[source]
        cause: hyper::Error,
    },
}

impl BodyError {
    fn of(cause: hyper::Error) -> Self {
        if cause.is_parse() { Self::Protocol { cause } } else { Self::Closed { cause } }
    }
}

/// The body of an answer. Nothing is read ahead: the connection makes progress while the body is polled, and is closed
/// when it is dropped.
pub struct ResponseBody {
    incoming: Incoming,
    /// None once it has ended.
    connection: Option<Connection>,
    between_bytes: Duration,
    /// When the next part counts as late; set while one is waited for.
    late: Option<Pin<Box<Sleep>>>,
}

impl ResponseBody {
    pub(super) fn new(incoming: Incoming, connection: Option<Connection>, between_bytes: Duration) -> Self {
        Self { incoming, connection, between_bytes, late: None }
    }

    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(connection) = &mut self.connection {
            // How it ended is passed to the body, too.
            if connection.as_mut().poll(context).is_ready() {
                self.connection = None;
            }
        }
        Pin::new(&mut self.incoming)
            .poll_frame(context)
            .map(|part| part.map(|part| part.map_err(BodyError::of)))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if let Poll::Ready(part) = this.poll_part(context) {
            this.late = None;
            return Poll::Ready(part);
        }
        let between_bytes = this.between_bytes;
        let late = this.late.get_or_insert_with(|| Box::pin(sleep(between_bytes)));
        late.as_mut().poll(context).map(|()| Some(Err(BodyError::Timeout)))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
