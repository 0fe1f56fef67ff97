//! Tests of names in sub-paths.

use super::*;

#[test]
fn names_are_replaced_by_their_last_value() {
    let env = [("POD", "old"), ("POD", "web-0"), ("A", "$(POD)")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
    for (text, expected) in [
        ("", ""),
        ("plain/path", "plain/path"),
        ("$(POD)", "web-0"),
        ("logs/$(POD)/x", "logs/web-0/x"),
        ("$(POD)$(POD)", "web-0web-0"),
        // Values are not inspected.
        ("$(A)", "$(POD)"),
        ("$$(POD)", "$(POD)"),
        ("$$$(POD)", "$web-0"),
        ("$POD", "$POD"),
        ("$(POD", "$(POD"),
        ("a$", "a$"),
    ] {
        assert_eq!(expand(text, &env), Ok(expected.to_owned()), "{text}");
    }
}

#[test]
fn names_that_are_not_there_or_empty_are_an_error() {
    let env = [("EMPTY".to_owned(), String::new()), ("A".to_owned(), "a".to_owned())];
    for (text, names) in [
        ("$(UNSET)", &["UNSET"][..]),
        ("a/$()/b", &[""]),
        ("$($(A))", &["$(A"]),
        ("$(EMPTY)", &["EMPTY"]),
        ("$(Z)/$(A)/$(B)/$(Z)", &["B", "Z"]),
    ] {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(expand(text, &env), Err(ExpandError::Missing(names)), "{text}");
    }
}

#[test]
fn a_path_grows_to_what_linux_takes_and_no_further() {
    let env = |length| [("A".to_owned(), "a".repeat(length))];
    assert_eq!(expand("$(A)", &env(4096)).map(|path| path.len()), Ok(4096));
    assert_eq!(expand("$(A)", &env(4097)), Err(ExpandError::TooLong));
    assert_eq!(expand(&"$(A)".repeat(1 << 20), &env(4096)), Err(ExpandError::TooLong));
}

/// Would not end if each of them were looked for from the beginning.
#[test]
fn names_among_many_variables_and_parentheses_that_never_close_are_soon_done_with() {
    let env: Vec<(String, String)> = (0..20_000).map(|at| (format!("A{at}"), "a".to_owned())).collect();
    let missing = ["NO".to_owned()].into();
    assert_eq!(expand(&"$(NO)".repeat(1 << 18), &env), Err(ExpandError::Missing(missing)));
    assert_eq!(expand(&"$(".repeat(1 << 22), &env), Err(ExpandError::TooLong));
}
