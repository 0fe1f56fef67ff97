//! Clients of one body.

use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::read::GzDecoder;
use http_body_util::BodyExt as _;

use super::super::{Gzip, pieces};
use super::*;

const PIECES: usize = 40;

/// A text that doesn't get shorter, and how many of its pieces were made.
#[derive(Clone, Default)]
struct Text(Arc<AtomicUsize>);

impl Text {
    fn piece(number: usize) -> Vec<u8> {
        let mut state = number as u64;
        let byte = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..PIECE_BYTES).map(byte).collect()
    }

    fn body(&self, gzip: &Gzip, measured: &Measured) -> Body {
        let made = self.0.clone();
        let piece = move |number| {
            made.fetch_add(1, Ordering::Relaxed);
            Self::piece(number)
        };
        let begin = || -> Pieces { Box::new(pieces((0..PIECES).map(piece))) };
        gzip.bodies.body(&gzip.work, Shown::Cgroups(Format::Text), measured, begin)
    }

    fn made(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn measured() -> Measured {
    Arc::new(0_u8)
}

async fn is_whole(body: Body) -> bool {
    let packed = body.collect().await.unwrap().to_bytes();
    let mut read = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut read).unwrap();
    read == (0..PIECES).flat_map(Text::piece).collect::<Vec<_>>()
}

#[tokio::test(start_paused = true)]
async fn each_piece_is_made_once_for_all_clients() {
    let (gzip, text, same) = (Gzip::default(), Text::default(), measured());
    let mut first = text.body(&gzip, &same);
    for _ in 0..3 {
        assert!(first.frame().await.unwrap().is_ok());
    }
    assert!(text.made() < PIECES, "it is made while it is read");
    let late = [text.body(&gzip, &same), text.body(&gzip, &same)];
    drop(first);
    for whole in futures::future::join_all(late.map(is_whole)).await {
        assert!(whole);
    }
    assert_eq!(text.made(), PIECES);
}

#[tokio::test(start_paused = true)]
async fn other_texts_and_later_clients_have_bodies_of_their_own() {
    let (gzip, text, same) = (Gzip::default(), Text::default(), measured());
    let read = async |body: &mut Body| body.frame().await.unwrap().unwrap();
    let mut first = text.body(&gzip, &same);
    read(&mut first).await;
    let mut other = text.body(&gzip, &measured());
    read(&mut other).await;
    let begun = text.made();
    read(&mut text.body(&gzip, &same)).await;
    assert_eq!(text.made(), begun, "it joined the first one");
    tokio::time::advance(JOINED_FOR).await;
    assert!(is_whole(text.body(&gzip, &same)).await);
    assert_eq!(text.made(), begun + PIECES);
    assert!(is_whole(text.body(&gzip, &same)).await, "nothing was kept of it");
    assert_eq!(text.made(), begun + 2 * PIECES);
}

#[tokio::test(start_paused = true)]
async fn what_all_have_read_is_not_kept() {
    let (gzip, text, same) = (Gzip::default(), Text::default(), measured());
    let mut body = text.body(&gzip, &same);
    let begin = {
        let bodies = gzip.bodies.0.lock().unwrap();
        Arc::downgrade(&bodies[0].upgrade().unwrap().first)
    };
    assert!(body.frame().await.unwrap().is_ok());
    assert!(begin.upgrade().is_some());
    tokio::time::advance(JOINED_FOR).await;
    assert!(body.frame().await.unwrap().is_ok());
    assert!(begin.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn only_so_many_bodies_can_be_joined() {
    let bodies = SharedBodies::default();
    let begin = || -> Pieces { Box::new(std::iter::empty()) };
    let all = [(); BODIES_MAX + 3].map(|()| bodies.join(Shown::Summary(Scope::All), &measured(), begin));
    assert_eq!(bodies.0.lock().unwrap().len(), BODIES_MAX);
    let last = all.last().unwrap();
    assert!(Arc::ptr_eq(last, &bodies.join(last.shown, &last.measured, begin)));
    drop(all);
    bodies.join(Shown::Summary(Scope::All), &measured(), begin);
    assert_eq!(bodies.0.lock().unwrap().len(), 1);
}
