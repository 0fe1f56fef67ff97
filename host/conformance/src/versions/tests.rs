//! Versions of contracts are told by names.

use super::*;

#[test]
fn the_version_of_a_contract_is_in_the_names_of_its_exports() {
    let exports = ["witlet:probe/prober@0.1.0".to_owned(), "witlet:pod-source/source@0.2.0".to_owned()];
    assert_eq!(built_against(&exports, "witlet:probe"), Some("0.1.0"));
    assert_eq!(built_against(&exports, "witlet:pod-source"), Some("0.2.0"));
    assert_eq!(built_against(&exports, "witlet:pod"), None);
    assert_eq!(built_against(&exports, "witlet:admission"), None);
}

#[test]
fn versions_of_other_tracks_are_told_and_fail_nothing() {
    assert_eq!(judge("witlet:probe", Some("0.1.0"), "0.1.0", true), CheckResult::Passed);
    let CheckResult::Skipped { why } = judge("witlet:probe", Some("0.1.0"), "0.2.0", false) else {
        panic!("it isn't served by that one")
    };
    assert_eq!(why, "witlet:probe@0.2.0 is of another track than 0.1.0");
}
