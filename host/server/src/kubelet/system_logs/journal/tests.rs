//! Ends of a query's body.

use std::io::{Cursor, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::sync::Semaphore;

use super::*;

async fn shown(outputs: Vec<JournalOutput>, is_gzip: bool, stop: &CancellationToken) -> Vec<u8> {
    let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    let deadline = Instant::now() + QUERY_DEADLINE;
    let tasks = TaskTracker::new();
    let query = ShownQuery::begin(outputs, deadline, stop.clone(), is_gzip, permit, &tasks);
    query.into_body().collect().await.unwrap().to_bytes().to_vec()
}

fn text(text: &str) -> JournalOutput {
    Box::pin(Cursor::new(text.as_bytes().to_vec()))
}

/// Says this, and then nothing more.
async fn silent(begin: &str) -> (JournalOutput, tokio::io::DuplexStream) {
    let (output, mut other) = tokio::io::duplex(1024);
    other.write_all(begin.as_bytes()).await.unwrap();
    (Box::pin(output), other)
}

#[tokio::test]
async fn outputs_follow_each_other() {
    let stop = CancellationToken::new();
    let long = "a line\n".repeat(100_000);
    let outputs = || vec![text("first\n"), text(""), text(&long)];
    let expected = format!("first\n{long}");
    assert_eq!(shown(outputs(), false, &stop).await, expected.as_bytes());
    let packed = shown(outputs(), true, &stop).await;
    assert!(packed.len() < expected.len() / 10, "{}", packed.len());
    let mut unpacked = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).unwrap();
    assert!(unpacked == expected);
    assert!(shown(Vec::new(), false, &stop).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_silent_output_ends_with_the_time() {
    let (output, _other) = silent("begin\n").await;
    let begun = Instant::now();
    let shown = shown(vec![output, text("never")], false, &CancellationToken::new()).await;
    assert_eq!(&shown[..], b"begin\n");
    assert!(begun.elapsed() >= QUERY_DEADLINE);
}

#[tokio::test(start_paused = true)]
async fn a_silent_output_ends_with_the_server() {
    let (output, _other) = silent("").await;
    let stop = CancellationToken::new();
    stop.cancel();
    let begun = Instant::now();
    assert!(shown(vec![output], false, &stop).await.is_empty());
    assert!(begun.elapsed() < QUERY_DEADLINE);
}

/// A process that always has something to say, and lives as long as this does.
struct Endless {
    _alive: Arc<()>,
}

impl AsyncRead for Endless {
    fn poll_read(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buffer.put_slice(&vec![b'x'; buffer.remaining()]);
        Poll::Ready(Ok(()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_query_that_is_not_read_ends_with_the_time() {
    for is_gzip in [false, true] {
        let (process, permits, tasks) = (Arc::new(()), Arc::new(Semaphore::new(1)), TaskTracker::new());
        let begin = || {
            let permit = permits.clone().try_acquire_owned().unwrap();
            let (outputs, stop) = (
                vec![Box::pin(Endless { _alive: process.clone() }) as JournalOutput],
                CancellationToken::new(),
            );
            ShownQuery::begin(outputs, Instant::now() + QUERY_DEADLINE, stop, is_gzip, permit, &tasks)
                .into_body()
        };
        let body = begin();
        tokio::time::sleep(QUERY_DEADLINE - Duration::from_secs(1)).await;
        assert_eq!((Arc::strong_count(&process), permits.available_permits()), (2, 0));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!((Arc::strong_count(&process), permits.available_permits()), (1, 1));
        // What was read before then is whole.
        let shown = body.collect().await.unwrap().to_bytes();
        let mut text = Vec::new();
        if is_gzip {
            GzDecoder::new(&shown[..]).read_to_end(&mut text).unwrap();
        } else {
            text.extend_from_slice(&shown);
        }
        assert!(text == vec![b'x'; READ_BYTES], "{} bytes", text.len());
        // A client that goes away isn't waited for until then.
        let begun = Instant::now();
        drop(begin());
        let _permit = permits.acquire().await.unwrap();
        assert!(Arc::strong_count(&process) == 1 && begun.elapsed() < QUERY_DEADLINE);
    }
}
