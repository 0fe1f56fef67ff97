//! A body that has something wait for its end.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use http_body::{Frame, SizeHint};
use hyper::body::Bytes;

/// A body with a guard that is dropped with it: when all of it was taken, or no one takes it any more.
pub(super) struct Guarded<G> {
    body: Body,
    _guard: G,
}

impl<G> Guarded<G> {
    pub(super) fn new(body: Body, guard: G) -> Self {
        Self { body, _guard: guard }
    }
}

impl<G: Unpin> http_body::Body for Guarded<G> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
