//! Tests of what is done without an API server.

use super::*;

#[test]
fn a_silent_server_holds_up_only_what_can_not_run_without_it() {
    use InsteadOf::{UseAsItIs, Wait, WithoutCredentials};
    let silent = || VolumeSpecError::Unavailable { message: "no answer".to_owned() };
    let missing = || VolumeSpecError::NoObject { kind: "configmap", name: "c".to_owned() };
    let refused = || VolumeSpecError::Refused { message: "forbidden".to_owned() };
    let several = |errors| VolumeSpecError::Several { errors };
    for (error, is_there, is_restored, expected) in [
        (silent(), true, false, UseAsItIs),
        (silent(), true, true, UseAsItIs),
        (silent(), false, true, WithoutCredentials),
        (silent(), false, false, Wait),
        (several(vec![silent(), silent()]), true, false, UseAsItIs),
        (several(vec![silent(), missing()]), true, true, Wait),
        (missing(), true, true, Wait),
        (refused(), true, true, Wait),
        (refused(), false, true, Wait),
    ] {
        assert_eq!(instead(&error, is_there, is_restored), expected, "{error} {is_there} {is_restored}");
    }
}

#[test]
fn only_what_can_not_be_had_and_is_for_the_server_is_left_out() {
    let unavailable = || Fetched::Unavailable("no answer".to_owned());
    let wish = |seconds| TokenWish { audience: None, expiration_seconds: seconds };
    let referenced = ReferencedObjects {
        config_maps: [(ROOT_CA.to_owned(), unavailable()), ("settings".to_owned(), unavailable())].into(),
        secrets: [("s".to_owned(), Fetched::Unavailable("no answer".to_owned()))].into(),
        tokens: [
            (wish(1), Fetched::Unavailable("no answer".to_owned())),
            (wish(2), Fetched::Found("t".to_owned())),
            (wish(3), Fetched::Refused("forbidden".to_owned())),
        ]
        .into(),
    };
    let left = referenced.without_credentials();
    assert_eq!(left.config_maps[ROOT_CA], Fetched::LeftOut);
    assert_eq!(left.config_maps["settings"], unavailable());
    assert_eq!(left.secrets["s"], Fetched::Unavailable("no answer".to_owned()));
    assert_eq!(left.tokens[&wish(1)], Fetched::LeftOut);
    assert_eq!(left.tokens[&wish(2)], Fetched::Found("t".to_owned()));
    assert_eq!(left.tokens[&wish(3)], Fetched::Refused("forbidden".to_owned()));
    assert_eq!(referenced.tokens[&wish(1)], Fetched::Unavailable("no answer".to_owned()));
    let shown = format!("{referenced:?}");
    assert!(shown.contains("settings") && !shown.contains("\"t\"") && !shown.contains("Found"), "{shown}");
}
