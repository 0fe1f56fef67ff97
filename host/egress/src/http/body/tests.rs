//! Bodies of answers in the test's own time.

use http::Request;
use http_body_util::{BodyExt, Empty};
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::time::Instant;

use super::*;
use crate::http::exchange;
use crate::testing::read_head;

/// An answer of a server at the other end of a pipe, so that its time can be the test's.
async fn piped(between_bytes: Duration) -> (ResponseBody, DuplexStream) {
    let (ours, mut theirs) = tokio::io::duplex(1024);
    let serving = async move {
        read_head(&mut theirs).await;
        theirs.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n").await.expect("it is read");
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
    let (body, mut theirs) = piped(wait).await;
    let trickling = async move {
        for _ in 0..20 {
            sleep(wait - Duration::from_millis(1)).await;
            theirs.write_all(b"x").await.expect("it is read");
        }
    };
    let (read, ()) = tokio::join!(body.collect(), trickling);
    assert_eq!(read.expect("each comes in time").to_bytes(), "x".repeat(20));

    let (mut body, mut theirs) = piped(wait).await;
    let before = Instant::now();
    theirs.write_all(b"x").await.expect("there is room");
    assert!(matches!(body.frame().await, Some(Ok(_))));
    assert!(matches!(body.frame().await, Some(Err(BodyError::Timeout))));
    assert_eq!(before.elapsed(), wait);
}
