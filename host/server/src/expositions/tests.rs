//! Expositions next to one that takes long.

use std::sync::mpsc::{Receiver, sync_channel};

use futures::poll;
use tokio::sync::oneshot;

use super::*;

/// Writes once the other side of `go` is gone.
fn slow(started: oneshot::Sender<()>, go: Receiver<()>) -> impl FnOnce(&mut Exposition) + Send + 'static {
    move |to| {
        let _ = started.send(());
        let _ = go.recv();
        to.gauge("slow", "", 1.0);
    }
}

async fn code(expositions: &Expositions) -> u16 {
    let quick = |to: &mut Exposition| to.gauge("quick", "", 1.0);
    expositions.answer(&HeaderMap::new(), quick).await.status().as_u16()
}

#[tokio::test(start_paused = true)]
async fn one_that_takes_long_holds_no_other_up_and_no_client_waits_for_ever() {
    let expositions = Expositions::default();
    let headers = HeaderMap::new();
    let mut waiting = Vec::new();
    let mut ends = Vec::new();
    for count in 1..=AT_ONCE_MAX {
        let ((started, has_started), (end, go)) = (oneshot::channel(), sync_channel(1));
        let mut answer = Box::pin(expositions.answer(&headers, slow(started, go)));
        assert!(poll!(&mut answer).is_pending(), "it takes long");
        has_started.await.unwrap();
        waiting.push(answer);
        ends.push(end);
        if count < AT_ONCE_MAX {
            assert_eq!(code(&expositions).await, 200, "another goes on meanwhile");
        }
    }
    let mut last = Box::pin(code(&expositions));
    assert!(poll!(&mut last).is_pending(), "all turns are taken");
    // Time doesn't pass by itself while threads run.
    tokio::time::advance(ANSWERED_WITHIN + Duration::from_millis(1)).await;
    for answer in waiting {
        assert_eq!(answer.await.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
    assert_eq!(last.await, 503);
    drop(ends);
    assert_eq!(code(&expositions).await, 200, "turns are given back");
}
