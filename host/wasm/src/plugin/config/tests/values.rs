//! Durations and globs.

use std::time::Duration;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};
use witlet_core::text::glob;

use crate::plugin::config::Globs;
use crate::plugin::config::values::DurationText;

#[test]
fn durations_are_those_of_go_but_negative_ones() {
    let cases = [
        ("500ms", Some(500)),
        ("1.5s", Some(1500)),
        ("2m", Some(120_000)),
        ("1h", Some(3_600_000)),
        ("5", None),
        ("s", None),
        ("1s500ms", Some(1500)),
        ("0", Some(0)),
        ("-1s", None),
        ("1e9s", None),
        ("1 s", None),
        ("", None),
        ("1..2s", None),
    ];
    for (text, expected) in cases {
        let deserializer: StrDeserializer<'_, Error> = text.into_deserializer();
        let found = DurationText::deserialize(deserializer).ok().map(|found| found.0);
        assert_eq!(found, expected.map(Duration::from_millis), "{text}");
    }
}

#[test]
fn globs_match_whole_names() {
    let cases = [
        ("*", "anything", true),
        ("*", "", true),
        ("prod", "prod", true),
        ("prod", "production", false),
        ("team-*", "team-a", true),
        ("team-*", "team-", true),
        ("team-*", "a-team-b", false),
        ("*-dev", "web-dev", true),
        ("*-dev", "web-dev-2", false),
        ("a*c", "abc", true),
        ("a*c", "ac", true),
        ("a*a", "a", false),
        ("a*b*c", "a-b-c", true),
        ("a*b*c", "a-c-b", false),
        ("**", "x", true),
        ("", "", true),
        ("", "x", false),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(Globs::new(vec![pattern.to_owned()]).matches(name), expected, "{pattern} on {name}");
    }
}

proptest::proptest! {
    #[test]
    fn a_prefix_with_a_star_matches_what_it_begins(prefix in "[a-z-]{0,8}", rest in "[a-z-]{0,8}") {
        let (pattern, name) = (prefix.clone() + "*", prefix + &rest);
        proptest::prop_assert!(glob(&pattern, &name));
    }
}
