//! Tests of the reading of dep-info files.

use super::sources;

#[test]
fn prerequisites_are_read_with_their_spaces() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("/t/a.wasm:\n", &[]),
        ("/t/a.wasm: /w/src/lib.rs\n", &["/w/src/lib.rs"]),
        ("/t/a.wasm: /w/src/lib.rs /w/wit/host.wit", &["/w/src/lib.rs", "/w/wit/host.wit"]),
        ("/t/a.wasm: /my\\ w/lib.rs  /w/b.rs", &["/my w/lib.rs", "/w/b.rs"]),
        ("/t/a.wasm: C:\\w\\lib.rs", &["C:\\w\\lib.rs"]),
        ("/t/a.wasm: /w/a.rs\n/w/a.rs:\n", &["/w/a.rs"]),
    ];
    for (text, expected) in cases {
        let found: Vec<String> = sources(text).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(found, *expected, "{text:?}");
    }
}
