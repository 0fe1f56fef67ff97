//! Each small language.

use serde_json::json;

use super::*;

#[test]
fn commands_are_split_as_by_a_shell() {
    for (text, expected) in [
        ("a b  c", Ok(vec!["a", "b", "c"])),
        ("sh -c 'a  b' \"c d\"", Ok(vec!["sh", "-c", "a  b", "c d"])),
        (r#"a\ b "\"q\"" '\n' "\n""#, Ok(vec!["a b", "\"q\"", "\\n", "\\n"])),
        ("''", Ok(vec![""])),
        ("a=b'c'd", Ok(vec!["a=bcd"])),
        ("", Err("must not be empty: a pod can't run an image without it")),
        ("'a", Err("has a quote that isn't closed")),
        ("a\\", Err("ends in a backslash")),
    ] {
        let found = command(&json!(text));
        let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }
    assert_eq!(
        command(&json!(["a b", 1, true])),
        Ok(vec!["a b".to_owned(), "1".to_owned(), "true".to_owned()])
    );
    assert!(command(&json!([])).is_err() && command(&json!(7)).is_err());
}

#[test]
fn durations_and_sizes() {
    for (text, expected) in [
        ("10s", Some(10)),
        ("1m30s", Some(90)),
        ("1h", Some(3600)),
        ("1500ms", Some(2)),
        ("1us", Some(1)),
        ("0s", Some(0)),
        ("10", None),
        ("", None),
        ("s", None),
        ("1d", None),
        ("99999999999999999999h", None),
    ] {
        assert_eq!(seconds(&json!(text)).ok(), expected, "{text}");
    }
    for (value, expected) in [
        (json!("64m"), Some("64Mi")),
        (json!("1GB"), Some("1Gi")),
        (json!("512"), Some("512")),
        (json!(512), Some("512")),
        (json!("10k"), Some("10Ki")),
        (json!("m"), None),
        (json!("1.5g"), None),
    ] {
        assert_eq!(bytes(&value).ok().as_deref(), expected, "{value}");
    }
    for (value, expected) in [
        (json!("0.5"), Some("500m")),
        (json!(2), Some("2000m")),
        (json!("x"), None),
        (json!(0), None),
        (json!("NaN"), None),
    ] {
        assert_eq!(cpus(&value).ok().as_deref(), expected, "{value}");
    }
}

#[test]
fn lists_may_be_maps() {
    let expected = BTreeMap::from([("A".to_owned(), Some("b=c".to_owned())), ("D".to_owned(), None)]);
    assert_eq!(map(&json!(["A=b=c", "D"])), Ok(expected.clone()));
    assert_eq!(map(&json!({"A": "b=c", "D": null})), Ok(expected));
    assert_eq!(map(&json!({"A": 1})), Ok(BTreeMap::from([("A".to_owned(), Some("1".to_owned()))])));
    assert!(map(&json!("A")).is_err() && map(&json!({"A": []})).is_err());
    assert_eq!(list(&json!("a")), Ok(vec!["a".to_owned()]));
    assert_eq!((flag(&json!("true")), flag(&json!(false))), (Ok(true), Ok(false)));
    assert!(flag(&json!("yes")).is_err() && number(&json!(-1)).is_err());
    assert_eq!(number(&json!("7")), Ok(7));
}
