//! Paths, ranges and pages.

use http_body_util::BodyExt;

use super::*;

#[test]
fn paths_lead_below_the_folder_or_nowhere() {
    let cases = [
        ("", Some(("", false))),
        ("/", Some(("", true))),
        ("//", Some(("", true))),
        ("/syslog", Some(("syslog", false))),
        ("/pods/a/0.log", Some(("pods/a/0.log", false))),
        ("/pods/", Some(("pods", true))),
        ("/./pods//a", Some(("pods/a", false))),
        ("/a%20b", Some(("a b", false))),
        ("/a%2fb", Some(("a/b", false))),
        ("/%2Fetc/passwd", Some(("etc/passwd", false))),
        ("//etc/passwd", Some(("etc/passwd", false))),
        ("/a..b", Some(("a..b", false))),
        ("/..%5cx", Some(("..\\x", false))),
        ("/..", None),
        ("/../etc/passwd", None),
        ("/pods/../../etc/passwd", None),
        ("/%2e%2e/etc/passwd", None),
        ("/%2E./etc/passwd", None),
        ("/pods/%2e%2e%2f%2e%2e%2fetc", None),
        ("/a%00b", None),
        ("/%ff", None),
    ];
    for (encoded, expected) in cases {
        let found = FileRequest::new(encoded, None);
        let found = found.map(|found| (found.path.display().to_string(), found.has_slash));
        assert_eq!(found, expected.map(|(path, slash)| (path.to_owned(), slash)), "{encoded}");
    }
}

#[test]
fn ranges_are_cut_to_the_file() {
    let cases = [
        (None, Range::Whole),
        (Some("bytes=0-"), Range::Part(0, 10)),
        (Some("bytes=0-0"), Range::Part(0, 1)),
        (Some("bytes=3-5"), Range::Part(3, 6)),
        (Some("bytes=3-99"), Range::Part(3, 10)),
        (Some("bytes=9-18446744073709551615"), Range::Part(9, 10)),
        (Some("bytes=-4"), Range::Part(6, 10)),
        (Some("bytes=-99"), Range::Part(0, 10)),
        (Some("bytes=0-1,3-4"), Range::Whole),
        (Some("bytes=10-"), Range::Unsatisfiable),
        (Some("bytes=-0"), Range::Unsatisfiable),
        (Some("bytes=5-3"), Range::Malformed),
        (Some("bytes=+1-3"), Range::Malformed),
        (Some("bytes=x"), Range::Malformed),
        (Some("bytes="), Range::Whole),
        (Some("lines=1-2"), Range::Malformed),
    ];
    for (header, expected) in cases {
        assert_eq!(range(header, 10), expected, "{header:?}");
    }
    for (header, expected) in [
        ("bytes=0-", Range::Whole),
        ("bytes=0-5", Range::Whole),
        ("bytes=-5", Range::Whole),
        ("bytes=7-", Range::Whole),
        ("bytes=x", Range::Malformed),
    ] {
        assert_eq!(range(Some(header), 0), expected, "{header}");
    }
}

#[test]
fn text_and_other_bytes_are_distinguished() {
    for (begin, expected) in [
        (&b""[..], true),
        (b"Nov 24 a line\r\n\t\x1b[1mbold", true),
        ("gr\u{fc}n".as_bytes(), true),
        (b"\x1f\x8b\x08", false),
        (b"a\0b", false),
    ] {
        assert_eq!(is_text(begin), expected, "{begin:?}");
    }
}

#[tokio::test]
async fn names_in_a_listing_can_not_be_code() {
    let entry = |name: &str, is_folder| SystemLogEntry { name: name.to_owned(), is_folder };
    let entries = [entry("pods", true), entry("<b a=\"x\">'&", false), entry("a:b c", false)];
    let page = listing(&entries, true);
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    let page = page.into_body().collect().await.unwrap().to_bytes();
    let expected = "<!doctype html>\n<meta name=\"viewport\" content=\"width=device-width\">\n<pre>\n\
        <a href=\"pods/\">pods/</a>\n\
        <a href=\"%3Cb%20a%3D%22x%22%3E%27%26\">&lt;b a=&#34;x&#34;&gt;&#39;&amp;</a>\n\
        <a href=\"a%3Ab%20c\">a:b c</a>\nand more, which are not shown\n</pre>\n";
    assert_eq!(String::from_utf8_lossy(&page), expected);
}
