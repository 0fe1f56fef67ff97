//! Every form of a variable.

use super::*;

#[test]
fn forms_of_variables() {
    let variables =
        BTreeMap::from([("TAG".to_owned(), "1.2".to_owned()), ("EMPTY".to_owned(), String::new())]);
    for (written, expected) in [
        ("plain", Ok("plain")),
        ("a:$TAG", Ok("a:1.2")),
        ("a:${TAG}-b", Ok("a:1.2-b")),
        ("$$TAG", Ok("$TAG")),
        ("${NO:-x}", Ok("x")),
        ("${NO-x}", Ok("x")),
        ("${NO:-}", Ok("")),
        ("${EMPTY:-x}", Ok("x")),
        ("${EMPTY-x}", Ok("")),
        ("${NO:-${TAG}}", Ok("1.2")),
        ("${NO:-${ALSO:-deep}}!", Ok("deep!")),
        ("${TAG:+yes}", Ok("yes")),
        ("${EMPTY:+yes}", Ok("")),
        ("${EMPTY+yes}", Ok("yes")),
        ("${NO+yes}", Ok("")),
        ("${TAG:?must be}", Ok("1.2")),
        ("${NO:?must be}", Err("NO: must be")),
        ("${EMPTY:?}", Err("the variable EMPTY isn't set")),
        ("$NO", Err("the variable NO isn't set")),
        ("${NO}", Err("the variable NO isn't set")),
        ("${TAG", Err("\"${TAG\" has a `${` without its `}`")),
        ("cost: 5$", Err("\"cost: 5$\" has a `$` that begins no variable; write `$$` for a dollar sign")),
        ("${TAG!x}", Err("${TAG!x} isn't a form that compose knows")),
        ("${TAG:}", Err("${TAG:} isn't a form that compose knows")),
        ("${1}", Err("${1} names no variable")),
    ] {
        let found = text(written, &variables, 0);
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{written}");
    }
}

#[test]
fn depth_and_length_have_bounds() {
    let deep = format!("{}x{}", "${NO:-".repeat(20), "}".repeat(20));
    assert!(text(&deep, &BTreeMap::new(), 0).is_err());
    let long = BTreeMap::from([("L".to_owned(), "x".repeat(10_000))]);
    assert!(text(&"$L".repeat(10), &long, 0).is_err());
}

#[test]
fn values_are_replaced_and_keys_are_not() {
    let variables = BTreeMap::from([("A".to_owned(), "b".to_owned())]);
    let mut tree = serde_json::json!({"$A": ["$A", 1, {"x": "${A}"}]});
    value(&mut tree, &variables).expect("replaced");
    assert_eq!(tree, serde_json::json!({"$A": ["b", 1, {"x": "b"}]}));
}
