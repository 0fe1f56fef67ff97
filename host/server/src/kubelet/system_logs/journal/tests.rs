//! Ends of a query's body.

use std::io::{Cursor, Read};
use std::sync::Arc;

use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

use super::*;

async fn shown(outputs: Vec<JournalOutput>, is_gzip: bool, stop: &CancellationToken) -> Vec<u8> {
    let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
    let deadline = Instant::now() + QUERY_DEADLINE;
    let query = ShownQuery::new(outputs.into(), deadline, stop.clone(), is_gzip, permit);
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
