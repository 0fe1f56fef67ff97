//! Errors as one line.

use super::*;

#[test]
fn several_errors_are_one_line_as_in_go() {
    for (errors, expected) in
        [(vec!["a"], "a"), (vec!["a", "b"], "[a, b]"), (vec!["a", "a"], "a"), (vec!["a", "b", "a"], "[a, b]")]
    {
        assert_eq!(aggregate(errors.into_iter().map(ToOwned::to_owned)), expected);
    }
}
