//! Bodies of answers in the test's own time.

use http::Request;
use http_body_util::{BodyExt, Empty};
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::time::{Instant, timeout};

use super::*;
use crate::http::{HEADER_BYTES_MAX, exchange};
use crate::testing::read_head;

/// Bytes that the pipe holds.
const PIPE_BYTES: usize = 1024;

/// An answer of a server at the other end of a pipe, so that its time can be the test's.
async fn piped(between_bytes: Duration, length: usize) -> (ResponseBody, DuplexStream) {
    let (ours, mut theirs) = tokio::io::duplex(PIPE_BYTES);
    let serving = async move {
        read_head(&mut theirs).await;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        theirs.write_all(head.as_bytes()).await.expect("it is read");
        theirs
    };
    let request = Request::get("/").body(Empty::<Bytes>::new()).expect("it is one");
    let (exchanged, theirs) = tokio::join!(exchange(ours, request), serving);
    let (response, connection) = exchanged.expect("it answers");
    (ResponseBody::new(response.into_body(), connection, between_bytes), theirs)
}

#[tokio::test(start_paused = true)]
async fn each_part_of_a_body_has_time_of_its_own() {
    let wait = Duration::from_secs(5);
    let (body, mut theirs) = piped(wait, 20).await;
    let trickling = async move {
        for _ in 0..20 {
            sleep(wait - Duration::from_millis(1)).await;
            theirs.write_all(b"x").await.expect("it is read");
        }
    };
    let (read, ()) = tokio::join!(body.collect(), trickling);
    assert_eq!(read.expect("each comes in time").to_bytes(), "x".repeat(20));

    let (mut body, mut theirs) = piped(wait, 20).await;
    let before = Instant::now();
    theirs.write_all(b"x").await.expect("there is capacity");
    assert!(matches!(body.frame().await, Some(Ok(_))));
    assert!(matches!(body.frame().await, Some(Err(BodyError::Timeout))));
    assert_eq!(before.elapsed(), wait);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_read_ahead_of_the_reader() {
    let (body, mut theirs) = piped(Duration::from_hours(1), 1 << 30).await;
    let mut taken = 0;
    // What the pipe takes, and then nothing more.
    while let Ok(written) = timeout(Duration::from_secs(1), theirs.write(&[b'x'; 4096])).await {
        taken += written.expect("no one closes it");
        assert!(taken <= PIPE_BYTES + HEADER_BYTES_MAX, "{taken} bytes were taken though no one reads them");
    }
    drop(body);
}
