//! What reaches the log of what a guest writes.

use super::*;

#[test]
fn text_is_cut_between_letters_and_can_not_forge_lines() {
    let cases = [
        ("plain", 10, "plain"),
        ("two\nlines", 20, "two\\nlines"),
        ("\u{1b}[31mred", 20, "\\u{1b}[31mred"),
        ("safe\u{202e}fdp.exe\u{2069}", 40, "safe\\u{202e}fdp.exe\\u{2069}"),
        ("zero\u{200d}width joins", 40, "zero\u{200d}width joins"),
        ("ääää", 5, "ää…"),
        ("", 5, ""),
    ];
    for (text, bytes, expected) in cases {
        assert_eq!(printable(text, bytes), expected, "{text:?}");
    }
}

#[test]
fn fields_beyond_the_bound_are_counted() {
    let many: Vec<_> = (0..20).map(|number| (format!("k{number}"), "v".to_owned())).collect();
    let shown = fields(&many);
    assert!(shown.starts_with("k0=v k1=v ") && shown.ends_with("k15=v …4 more"), "{shown}");
}

#[test]
fn lines_beyond_the_bound_are_dropped_and_counted_per_call() {
    let log = GuestLog::new("loud".into(), None);
    let line = || Line { level: Level::TRACE, message: "m".to_owned(), fields: Vec::new() };
    for _ in 0..LINES_PER_CALL_MAX + 7 {
        log.clone().write(line());
    }
    assert_eq!(log.end(), 7);
    log.begin();
    log.write(line());
    assert_eq!(log.end(), 0, "each call has a budget of its own");
}
