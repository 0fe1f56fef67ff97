//! Downloads from servers on loopback, bad ones among them.

use tokio_rustls::rustls::ALL_VERSIONS;

use super::*;
use crate::testing::{Authority, RequestLog, Server, ServerKinds, answer, ends};

fn url(server: &Server) -> DownloadUrl {
    format!("http://{}/list", server.address).parse().expect("a URL")
}

fn file_of(bytes: &str, etag: Option<&str>) -> Downloaded {
    let validators = Validators { etag: etag.map(str::to_owned), last_modified: None };
    Downloaded::File { bytes: bytes.into(), validators }
}

async fn download(
    server: &Server,
    known: Option<&Validators>,
    token: Option<&[u8]>,
) -> Result<Downloaded, DownloadError> {
    let url = url(server);
    ends(Egress::system().download(&Download { url: &url, token, known, bytes_max: 8 })).await
}

async fn refused(answer: String) -> DownloadError {
    let server = Server::http(move |_| answer.clone()).await;
    download(&server, None, None).await.expect_err("refused")
}

#[tokio::test]
async fn a_file_is_brought_once_for_each_version_that_the_server_has() {
    let log = RequestLog::default();
    let seen = log.clone();
    let server = Server::http(move |head| {
        seen.add(&head.to_lowercase());
        match head.contains("\"v1\"") {
            true => answer("304 Not Modified", &[], ""),
            false => answer("200 OK", &["etag: \"v1\""], "one"),
        }
    })
    .await;
    let first = download(&server, None, None).await.expect("brought");
    assert_eq!(first, file_of("one", Some("\"v1\"")));
    let Downloaded::File { validators, .. } = first else { panic!("{first:?}") };
    assert_eq!(download(&server, Some(&validators), None).await.expect("asked"), Downloaded::Unchanged);
    let other = Validators { etag: None, last_modified: Some("Thu, 01 Jan 2026 00:00:00 GMT".to_owned()) };
    assert_eq!(download(&server, Some(&other), None).await.expect("brought"), file_of("one", Some("\"v1\"")));
    let [first, second, third] = log.all().try_into().expect("three requests");
    assert!(!first.contains("if-") && !first.contains("authorization"), "{first}");
    assert!(second.contains("if-none-match: \"v1\"\r\n"), "{second}");
    assert!(third.contains("if-modified-since: thu, 01 jan 2026 00:00:00 gmt\r\n"), "{third}");
}

#[tokio::test]
async fn what_is_not_the_file_is_an_error_by_name() {
    let error = refused(answer("200 OK", &[], "123456789")).await;
    assert!(matches!(error, DownloadError::TooLarge { bytes_max: 8 }), "{error}");
    let error = refused(answer("404 Not Found", &[], "")).await;
    assert_eq!(
        (error.to_string(), error.retry_after()),
        ("the server answered 404 Not Found".to_owned(), None)
    );
    let error = refused(answer("503 Service Unavailable", &["retry-after: 120"], "")).await;
    assert_eq!(error.retry_after(), Some(Duration::from_secs(120)));
    let error = refused(answer("503 Service Unavailable", &["retry-after: tomorrow"], "")).await;
    assert_eq!(error.retry_after(), None);
    let error = refused(answer("304 Not Modified", &[], "")).await;
    assert!(matches!(error, DownloadError::UnaskedNotModified), "{error}");
    let error = refused("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n1234".to_owned()).await;
    assert!(matches!(error, DownloadError::Body(_)), "half a file is none: {error}");
    let error = refused(answer("302 Found", &["location: /list"], "")).await;
    assert!(matches!(error, DownloadError::TooManyRedirects), "{error}");
    let error = refused(answer("302 Found", &["location: http://lists.example.com/"], "")).await;
    assert!(matches!(error, DownloadError::Redirect(RedirectError::Unencrypted { .. })), "{error}");
    let error = refused(answer("302 Found", &[], "")).await;
    assert!(matches!(error, DownloadError::Redirect(RedirectError::Malformed { .. })), "{error}");
}

#[tokio::test]
async fn a_token_goes_to_the_url_s_own_server_alone() {
    let (elsewhere, here) = (RequestLog::default(), RequestLog::default());
    let seen = elsewhere.clone();
    let store = Server::http(move |head| {
        seen.add(&head.to_lowercase());
        answer("200 OK", &[], "one")
    })
    .await;
    let location = format!("location: http://{}/signed", store.address);
    let seen = here.clone();
    let server = Server::http(move |head| {
        seen.add(&head.to_lowercase());
        answer("307 Temporary Redirect", &[&location], "")
    })
    .await;
    let brought = download(&server, None, Some(b"t0ken\n")).await.expect("brought");
    assert_eq!(brought, file_of("one", None));
    let ([asked], [followed]): ([String; 1], [String; 1]) =
        (here.all().try_into().expect("one request"), elsewhere.all().try_into().expect("one request"));
    assert!(asked.contains("authorization: bearer t0ken\r\n"), "{asked}");
    assert!(!followed.contains("t0ken"), "{followed}");
    let error = download(&server, None, Some(b"two\nlines")).await.expect_err("refused");
    assert!(matches!(error, DownloadError::Token), "{error}");
}

#[tokio::test]
async fn a_server_is_believed_that_an_authority_of_the_operator_vouches_for() {
    let authority = Authority::new();
    let identity = authority.server(&["127.0.0.1"], 2099, ALL_VERSIONS);
    let server = Server::tls(&identity, |_| answer("200 OK", &[], "one")).await;
    let url: DownloadUrl = format!("https://{}/list", server.address).parse().expect("a URL");
    let asked = Download { url: &url, token: None, known: None, bytes_max: 8 };
    let error = ends(Egress::system().download(&asked)).await.expect_err("no one vouches for it");
    assert!(matches!(error, DownloadError::Send(SendError::Tls(_))), "{error}");
    let egress = Egress::system().with_authorities(authority.pem.as_bytes()).expect("authorities");
    assert_eq!(ends(egress.download(&asked)).await.expect("brought"), file_of("one", None));
}

#[tokio::test]
async fn a_large_validator_is_forgotten() {
    let large = format!("etag: \"{}\"", "x".repeat(VALIDATOR_BYTES_MAX));
    let server = Server::http(move |_| answer("200 OK", &[&large], "one")).await;
    assert_eq!(download(&server, None, None).await.expect("brought"), file_of("one", None));
}
