//! Forms as Go reads them.

use http_body_util::Full;

use super::*;

fn request(method: Method, uri: &str, content_type: Option<&str>, body: &str) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(uri);
    if let Some(content_type) = content_type {
        request = request.header("content-type", content_type);
    }
    request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap()
}

#[tokio::test]
async fn a_posted_form_comes_before_the_query() {
    let both = "/?a=1&b=2";
    for (method, content_type, body, expected) in [
        (Method::POST, Some(FORM), "a=3", Ok("a=3 a=1 b=2")),
        (Method::POST, Some("Application/X-WWW-Form-URLEncoded ; charset=utf-8"), "c=%20", Ok("c=  a=1 b=2")),
        (Method::POST, Some("application/json"), "a=3", Ok("a=1 b=2")),
        (Method::POST, Some("form"), "a=3", Ok("a=1 b=2")),
        (Method::POST, Some(""), "a=3", Ok("a=1 b=2")),
        (Method::POST, None, "a=3", Ok("a=1 b=2")),
        (Method::GET, Some(FORM), "a=3", Ok("a=1 b=2")),
        (Method::GET, Some("/"), "", Ok("a=1 b=2")),
        (Method::POST, Some(FORM), "a=%zz", Err("invalid URL escape \"%zz\"")),
        (Method::POST, Some(FORM), "a;b", Err("invalid semicolon separator in query")),
        (Method::POST, Some("/"), "", Err("mime: no media type")),
        (Method::POST, Some("; a=b"), "", Err("mime: no media type")),
        (Method::POST, Some("a b"), "", Err("mime: expected slash after first token")),
        (Method::POST, Some("a/ b"), "", Err("mime: expected token after slash")),
        (Method::POST, Some("a/b c"), "", Err("mime: unexpected content after media subtype")),
    ] {
        let what = format!("{method} {content_type:?} {body}");
        let read = form(request(method, both, content_type, body)).await;
        let read = read.map(|all| {
            all.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        });
        assert_eq!(
            read.map_err(|error| error.to_string()),
            expected.map(str::to_owned).map_err(str::to_owned),
            "{what}"
        );
    }
}

#[tokio::test]
async fn a_malformed_query_and_a_large_form_are_errors() {
    let query = form(request(Method::GET, "/?a=%4", None, "")).await;
    assert_eq!(query.unwrap_err().to_string(), "invalid URL escape \"%4\"");
    let large = "a".repeat(FORM_BYTES_MAX);
    assert_eq!(form(request(Method::POST, "/", Some(FORM), &large)).await.unwrap().len(), 1);
    let too_large = form(request(Method::POST, "/", Some(FORM), &(large + "a"))).await;
    assert_eq!(too_large.unwrap_err().to_string(), "http: POST too large");
}
