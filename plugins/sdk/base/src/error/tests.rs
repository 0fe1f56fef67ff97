//! Tests of the text of errors.

use super::{Error, describe};

#[test]
fn an_error_is_reported_with_its_causes_once() {
    let cause = serde_json::from_str::<u8>("256").expect_err("more than a byte holds");
    let error = Error::Decode { field: "/spec/priority".to_owned(), cause };
    assert_eq!(
        describe(&error),
        "decode /spec/priority: invalid value: integer `256`, expected u8 at line 1 column 3"
    );
    assert_eq!(describe(&Error::invalid("allowedRegistries", "is empty")), "allowedRegistries: is empty");
}
