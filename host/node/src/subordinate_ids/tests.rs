//! A script stands for the program; the user is one that every machine has.

use super::*;

/// The shell sees the program's arguments as `$1` and `$2`.
async fn asked(user: &str, script: &str) -> Result<IdRange, SubordinateIdsError> {
    of_user(user, &["/bin/sh", "-c", script, "getsubids"], 110).await
}

#[tokio::test]
async fn without_the_user_or_the_program_all_ids_are_pods() {
    let all = IdRange::default();
    assert_eq!(asked("no-such-user-here", "exit 1").await.expect("no user"), all);
    assert_eq!(of_user("root", &["/no/such/program"], 110).await.expect("no program"), all);
}

#[tokio::test]
async fn the_ids_of_the_user_are_read_for_users_and_groups() {
    let line = "0: root 131072 7208960\n";
    let expected = IdRange::delegated(line, line, 110).expect("a range");
    let script = r#"echo "0: ${2:-$1} 131072 7208960""#;
    assert_eq!(asked("root", script).await.expect("asked"), expected);
    let script = r#"[ "$1" = -g ] && echo "0: root 65536 7208960" || echo "0: root 131072 7208960""#;
    let error = asked("root", script).await.expect_err("they differ");
    assert!(matches!(error, SubordinateIdsError::Range(IdRangeError::Mismatch)), "{error}");
}

#[tokio::test]
async fn a_program_that_fails_is_an_error_with_its_words() {
    let script = "echo first >&2; echo 'Error fetching ranges' >&2; exit 1";
    let error = asked("root", script).await.expect_err("it failed").to_string();
    assert!(
        error.ends_with("for the user \"root\" ended with exit status: 1: Error fetching ranges"),
        "{error}"
    );
}
