//! What is compressed for whom.

use std::io::Read as _;
use std::sync::Arc;

use flate2::read::GzDecoder;
use tokio::task::JoinSet;
use witlet_core::stats::exposition::Format;

use super::shared::PIECE_BYTES;
use super::work::AT_ONCE_MAX;
use super::*;

fn headers(values: &[&str]) -> HeaderMap {
    let values = values.iter().map(|value| (header::ACCEPT_ENCODING, value.parse().unwrap()));
    values.fold(HeaderMap::new(), |mut headers, (name, value)| {
        headers.append(name, value);
        headers
    })
}

#[test]
fn it_is_accepted_by_name_or_by_a_star() {
    let cases: [(&[&str], bool); 12] = [
        (&[], false),
        (&[""], false),
        (&["identity"], false),
        (&["gzip"], true),
        (&["GZIP"], true),
        (&["deflate, gzip;q=0.5"], true),
        (&["deflate", "gzip"], true),
        (&["gzip;q=0"], false),
        (&["gzip; q=0.000, *"], false),
        (&["*"], true),
        (&["*;q=0"], false),
        (&["gzip;q=x"], false),
    ];
    for (values, expected) in cases {
        assert_eq!(is_accepted(&headers(values)), expected, "{values:?}");
    }
}

#[test]
fn metrics_and_the_summary_are_compressed() {
    for (path, expected) in [
        ("/metrics", true),
        ("/metrics/resource", true),
        ("/metrics/cadvisor", true),
        ("/stats/summary", true),
        ("/metricsx", false),
        ("/pods", false),
        ("/exec/default/web/app", false),
    ] {
        assert_eq!(is_for(path), expected, "{path}");
    }
}

#[tokio::test]
async fn a_success_is_compressed_and_all_else_is_sent_as_it_is() {
    let gzip = Gzip::default();
    let words = "figures ".repeat(10_000);
    let response = gzip.compressed(answers::text(StatusCode::OK, words.clone())).await;
    assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(body.len() < words.len() / 10, "{}", body.len());
    let mut read = String::new();
    GzDecoder::new(&body[..]).read_to_string(&mut read).unwrap();
    assert_eq!(read, words);
    let stream = Body::from_stream(stream::iter([Ok::<_, io::Error>("part")]));
    let too_large = vec![b'x'; EXPOSITION_BYTES_MAX + 1];
    for response in [answers::not_found(), Response::new(stream), Response::new(Body::from(too_large))] {
        let response = gzip.compressed(response).await;
        assert!(!response.headers().contains_key(header::CONTENT_ENCODING), "{:?}", response.status());
    }
}

#[tokio::test]
async fn a_body_that_is_made_while_it_is_sent_arrives_whole() {
    let gzip = Gzip::default();
    let pieces = || (0..3).map(|n| n.to_string().repeat(PIECE_BYTES).into_bytes());
    let expected: Vec<u8> = pieces().flatten().collect();
    let plain = gzip.streamed(pieces()).collect().await.unwrap().to_bytes();
    assert_eq!(plain, expected);
    let measured: Measured = Arc::new(());
    let shown = Shown::Cgroups(Format::Text);
    let packed = gzip.streamed_as_gzip(shown, &measured, pieces).collect().await.unwrap().to_bytes();
    let mut read = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut read).unwrap();
    assert_eq!(read, expected);
    assert_eq!(gzip.work.permits.available_permits(), AT_ONCE_MAX);
}

#[tokio::test]
async fn work_counts_until_it_has_ended_also_for_a_client_that_is_gone() {
    let gzip = Gzip::default();
    let (go, wait) = std::sync::mpsc::sync_channel::<()>(1);
    let mut work = JoinSet::new();
    work.spawn({
        let gzip = gzip.clone();
        async move { gzip.work.run(move || wait.recv()).await }
    });
    while gzip.work.permits.available_permits() == AT_ONCE_MAX {
        tokio::task::yield_now().await;
    }
    work.abort_all();
    assert!(work.join_next().await.unwrap().unwrap_err().is_cancelled());
    assert_eq!(gzip.work.permits.available_permits(), AT_ONCE_MAX - 1);
    drop(go);
    let _all = gzip.work.permits.acquire_many(2).await.unwrap();
}
