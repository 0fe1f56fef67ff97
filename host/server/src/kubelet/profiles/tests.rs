//! What each name answers.

use http_body_util::BodyExt;

use super::*;

#[tokio::test]
async fn each_profile_is_there_or_says_why_it_is_not() {
    for (path, code, kind, words) in [
        ("", 200, "text/html; charset=utf-8", "<a href='cmdline'>"),
        ("/", 200, "text/html; charset=utf-8", "There are no profiles"),
        ("/cmdline", 200, "text/plain; charset=utf-8", ""),
        (
            "/heap",
            501,
            "text/plain; charset=utf-8",
            "profile \"heap\" is not available: this agent is not a Go program\n",
        ),
        ("/profile", 501, "text/plain; charset=utf-8", "profile \"profile\" is not available"),
        ("/none", 404, "text/plain; charset=utf-8", "Unknown profile\n"),
        ("/heap/more", 404, "text/plain; charset=utf-8", "Unknown profile\n"),
        ("/<script>", 404, "text/plain; charset=utf-8", "Unknown profile\n"),
    ] {
        let answer = answer(path);
        assert_eq!(
            (answer.status().as_u16(), answer.headers()["content-type"].as_bytes()),
            (code, kind.as_bytes()),
            "{path}"
        );
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff", "{path}");
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8_lossy(&body);
        assert!(body.contains(words), "{path}: {body}");
        if path == "/cmdline" {
            let program = std::env::args().next().unwrap();
            assert_eq!(body.split('\0').next(), Some(&*program));
        }
    }
}
