//! Compressed bodies that clients of the same text share: each piece is made once, by the client that is the first to need it.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use axum::body::Body;
use futures::stream;
use hyper::body::Bytes;
use tokio::time::Instant;
use witlet_core::stats::exposition::Format;
use witlet_core::stats::summary::Scope;

use super::work::BoundedWork;

#[cfg(test)]
mod tests;

/// Clients join a body for so long after it was begun, which is as long as they get the same text. Its beginning isn't kept for longer.
const JOINED_FOR: Duration = Duration::from_secs(1);
/// Bodies that can be joined at the same time: one of each kind and a newer one.
const BODIES_MAX: usize = 12;

/// Compressed bytes that are made at a time; a piece may be larger.
pub(super) const PIECE_BYTES: usize = 64 * 1024;

/// What a text shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Cgroups(Format),
    Resources(Format),
    Summary(Scope),
}

/// Bodies that can be joined, as long as a client reads them.
#[derive(Clone, Default)]
pub(super) struct SharedBodies(Arc<Mutex<Vec<Weak<SharedBody>>>>);

/// A body from its beginning.
struct SharedBody {
    shown: Shown,
    /// What was measured, whose place in memory stands for it.
    measured: Measured,
    begun: Instant,
    first: Arc<Rest>,
    maker: Arc<Maker>,
}

/// Something that a text is made of.
pub(crate) type Measured = Arc<dyn std::any::Any + Send + Sync>;

/// A body that is compressed while it is sent.
pub(super) type Pieces = Box<dyn Iterator<Item = Vec<u8>> + Send>;

/// The next pieces, until they are [`PIECE_BYTES`]; none at the end.
fn gathered(pieces: &mut Pieces) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < PIECE_BYTES {
        match pieces.next() {
            Some(piece) if bytes.is_empty() => bytes = piece,
            Some(piece) => bytes.extend(piece),
            None => break,
        }
    }
    (!bytes.is_empty()).then_some(bytes)
}

/// A body from some place on: the next piece and what follows it, once it was made; none at the end.
#[derive(Default)]
struct Rest(OnceLock<Option<(Bytes, Arc<Rest>)>>);

/// What makes the pieces of a body.
struct Maker {
    /// Of the client that makes the next piece, for which others wait without a thread.
    turn: tokio::sync::Mutex<()>,
    pieces: Mutex<Pieces>,
}

impl SharedBodies {
    /// A compressed body for one more client of what was `measured`; `begin` is called for the first one.
    pub(super) fn body(
        &self,
        work: &BoundedWork,
        shown: Shown,
        measured: &Measured,
        begin: impl FnOnce() -> Pieces,
    ) -> Body {
        let whole = self.join(shown, measured, begin);
        let (maker, rest) = (whole.maker.clone(), whole.first.clone());
        let reader = Reader { work: work.clone(), whole: Some(whole), maker, rest };
        Body::from_stream(stream::unfold(reader, Reader::next))
    }

    /// The body of this text, which another client may have begun.
    fn join(&self, shown: Shown, measured: &Measured, begin: impl FnOnce() -> Pieces) -> Arc<SharedBody> {
        let mut bodies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bodies.retain(|body| body.strong_count() > 0);
        let same = |body: &Arc<SharedBody>| {
            body.shown == shown && Arc::ptr_eq(&body.measured, measured) && body.can_be_joined()
        };
        if let Some(body) = bodies.iter().filter_map(Weak::upgrade).find(same) {
            return body;
        }
        let maker = Maker { turn: tokio::sync::Mutex::default(), pieces: Mutex::new(begin()) };
        let body = Arc::new(SharedBody {
            shown,
            measured: measured.clone(),
            begun: Instant::now(),
            first: Arc::default(),
            maker: Arc::new(maker),
        });
        if bodies.len() >= BODIES_MAX {
            bodies.remove(0);
        }
        bodies.push(Arc::downgrade(&body));
        body
    }
}

impl SharedBody {
    fn can_be_joined(&self) -> bool {
        self.begun.elapsed() < JOINED_FOR
    }
}

impl Rest {
    fn make(&self, maker: &Maker) {
        self.0.get_or_init(|| {
            let mut pieces = maker.pieces.lock().unwrap_or_else(PoisonError::into_inner);
            gathered(&mut pieces).map(|piece| (Bytes::from(piece), Arc::default()))
        });
    }
}

/// Where a client is.
struct Reader {
    work: BoundedWork,
    /// The whole body, as long as others can join it.
    whole: Option<Arc<SharedBody>>,
    maker: Arc<Maker>,
    rest: Arc<Rest>,
}

impl Reader {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        self.whole = self.whole.filter(|whole| whole.can_be_joined());
        if let Err(error) = self.make().await {
            return Some((Err(error), Self { rest: Arc::new(Rest(OnceLock::from(None))), ..self }));
        }
        let (piece, rest) = self.rest.0.get()?.clone()?;
        Some((Ok(piece), Self { rest, ..self }))
    }

    /// Makes the next piece, unless another client has.
    async fn make(&self) -> io::Result<()> {
        if self.rest.0.get().is_some() {
            return Ok(());
        }
        let _turn = self.maker.turn.lock().await;
        if self.rest.0.get().is_some() {
            return Ok(());
        }
        let (maker, rest) = (self.maker.clone(), self.rest.clone());
        self.work.run(move || rest.make(&maker)).await
    }
}
