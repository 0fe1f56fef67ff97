//! Flags of a command line.

use super::*;

fn flags(line: &str) -> BTreeMap<String, String> {
    flags_of_run(line.split_whitespace().map(OsString::from))
}

#[test]
fn flags_have_the_given_value_or_the_default() {
    let shown = flags(
        "witlet run --max-pods 7 --manifest-url http://127.0.0.1/ --manifest-url-header Authorization:secret",
    );
    assert_eq!((shown["max-pods"].as_str(), shown["manifest-url-header"].as_str()), ("7", "CLASSIFIED"));
    assert_eq!(shown["manifest-url"], "http://127.0.0.1/");
    assert_eq!(flags("witlet run")["max-pods"], "110");
    assert_eq!(flags("witlet run")["manifest-url-header"], "");
    assert!(flags("witlet check").is_empty());
    assert!(flags("witlet run --no-such-flag").is_empty());
}
