//! Where locations lead.

use witlet_http_target::Scheme;

use super::redirect;
use crate::target::Target;

#[test]
fn locations_lead_where_rfc_3986_has_them() {
    let from =
        Target { scheme: Scheme::Http, host: "10.0.0.7".to_owned(), port: 8080, path: "/a/b?c".to_owned() };
    let cases = [
        ("/end?x#part", Some("http://10.0.0.7:8080/end?x")),
        ("end", Some("http://10.0.0.7:8080/a/end")),
        ("?x", Some("http://10.0.0.7:8080/a/b?x")),
        ("", Some("http://10.0.0.7:8080/a/b?c")),
        ("http://other", Some("http://other:80/ named")),
        ("https://other/x?y", Some("https://other:443/x?y named")),
        ("HTTPS://other:8443?y", Some("https://other:8443/?y named")),
        ("//other/x", Some("http://other:80/x named")),
        ("http://[fd00::7]/", Some("http://[fd00::7]:80/ named")),
        ("http://[fd00::7]:81/", Some("http://[fd00::7]:81/ named")),
        ("http://user:word@other/", Some("http://other:80/ named")),
        ("/x?to=http://other", Some("http://10.0.0.7:8080/x?to=http://other")),
        ("ftp://other/", None),
        ("://other/", None),
        ("http://", None),
        ("http:///x", None),
        ("http://other:port/", None),
        ("http://other:65536/", None),
        ("http://[fd00::7", None),
        ("http://[fd00::7]x/", None),
        ("/a b", None),
        ("/ü", None),
        ("http://other/\r\nX: y", None),
    ];
    for (location, expected) in cases {
        let found = redirect(&from, location)
            .map(|next| format!("{}{}", next.target, if next.names_host { " named" } else { "" }));
        assert_eq!(found.as_deref(), expected, "{location:?}");
    }
}
