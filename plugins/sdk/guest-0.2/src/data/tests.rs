//! Tests of what data are read as.

use std::collections::BTreeMap;

use super::{PART_BYTES, Snapshot, names, open};
use crate::facts::set_data;

fn opened(bytes: &[u8]) -> Snapshot {
    set_data("it", bytes);
    open("it").expect("it was set")
}

#[test]
fn names_are_sorted_and_the_newest_value_counts() {
    assert_eq!(names(), [""; 0]);
    for (name, bytes) in [("b", "1"), ("a", "2"), ("b", "3")] {
        set_data(name, bytes.as_bytes());
    }
    assert_eq!(names(), ["a", "b"]);
    assert_eq!(open("b").expect("it was set").bytes(), b"3");
    let error = open("c").expect_err("the entry has none");
    assert_eq!((error.code(), error.message()), ("NotFound", r#"the entry has no data "c""#));
}

#[test]
fn a_part_has_the_bounds_that_the_host_has() {
    let length = PART_BYTES + 3;
    let all: Vec<u8> = (0..length).map(|at| at.to_le_bytes()[0]).collect();
    let snapshot = opened(&all);
    assert_eq!((snapshot.size(), snapshot.bytes() == all), (length, true));
    for (offset, asked, given) in [
        (0, length, PART_BYTES),
        (3, PART_BYTES, PART_BYTES),
        (PART_BYTES, u64::MAX, 3),
        (1, 2, 2),
        (1, 0, 0),
        (length, 1, 0),
        (u64::MAX, u64::MAX, 0),
    ] {
        assert_eq!(snapshot.read(offset, asked).len() as u64, given, "{asked} from {offset}");
    }
    assert_eq!(snapshot.read(1, 2), [1, 2]);
}

#[test]
fn a_digest_is_that_of_all_bytes() {
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!((opened(b"").digest().as_str(), opened(b"abc").digest().as_str()), (empty, abc));
}

#[test]
fn what_isnt_expected_is_an_error_that_names_the_data() {
    assert_eq!(opened(b"shop\n").text().as_deref(), Ok("shop\n"));
    let json = opened(br#"{"shop": 7}"#).json::<BTreeMap<String, u8>>();
    assert_eq!(json, Ok(BTreeMap::from([("shop".to_owned(), 7)])));
    for (error, words) in [
        (opened(b"\xff").text().expect_err("no UTF-8"), r#"data "it": it isn't UTF-8"#),
        (opened(b"{").json::<bool>().expect_err("no JSON"), r#"data "it": "#),
        (opened(b"256").json::<u8>().expect_err("more than a byte holds"), "invalid value: integer `256`"),
    ] {
        assert_eq!(error.code(), "InvalidData");
        assert!(error.message().contains(words), "{error}");
    }
}
