//! What is reported of an absent toolchain.

use witlet_templates::Language;

use super::{Found, absence};

fn found(target: bool, installed: Option<&str>) -> Found {
    Found { missing: Vec::new(), target, installed: installed.map(str::to_owned), pinned: "pins".to_owned() }
}

#[test]
fn an_absent_toolchain_is_reported_with_the_way_out() {
    let cases = [
        (Language::Rust, found(true, None), None),
        (Language::Rust, found(false, Some("pins")), Some("make setup")),
        (Language::C, found(true, None), Some("make languages")),
        (Language::C, found(false, Some("pins")), None),
        (Language::Python, found(false, Some("older pins")), Some("renews")),
        (Language::Go, found(false, Some("pins")), None),
        (Language::Go, found(true, None), Some("make languages")),
        (Language::Cpp, found(true, Some("older pins")), Some("renews")),
        (
            Language::JavaScript,
            Found { missing: vec!["node"], ..found(true, Some("pins")) },
            Some("node isn't"),
        ),
    ];
    for (language, found, words) in cases {
        match (absence(language, &found), words) {
            (None, None) => {}
            (Some(why), Some(words)) => assert!(why.contains(words), "{language}: {why}"),
            (why, words) => panic!("{language}: {why:?} instead of {words:?}"),
        }
    }
}
