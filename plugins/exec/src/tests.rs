//! Commands that come to what a case says.

use std::time::Duration;

use witlet_plugin_sdk::facts::TargetFacts;
use witlet_plugin_sdk::probe::{ExecError, Outcome, Output, ProbeType};

use super::{Exec, Parameters};

fn of(result: Result<Output, ExecError>) -> Result<Outcome, String> {
    let command = vec!["cat".to_owned(), "/tmp/healthy".to_owned()];
    let facts = TargetFacts {
        remaining: Duration::from_secs(3),
        commands: vec![(command.clone(), result)],
        ..TargetFacts::default()
    };
    Exec::probe(&facts.target(), &Parameters { command }, &()).map_err(|error| error.to_string())
}

fn output(exit_code: i32, output: &[u8]) -> Output {
    Output { exit_code, output: output.to_vec() }
}

#[test]
fn the_exit_code_decides_and_the_output_is_reported() {
    let cases = [
        (output(0, b""), Outcome::Success(String::new())),
        (output(0, b"outerr"), Outcome::Success("outerr".to_owned())),
        (output(1, b"no such file"), Outcome::Failure("no such file".to_owned())),
        (output(-1, b"a"), Outcome::Failure("a".to_owned())),
        (output(137, b"\xff\xfe"), Outcome::Failure("\u{fffd}\u{fffd}".to_owned())),
    ];
    for (output, expected) in cases {
        assert_eq!(of(Ok(output.clone())), Ok(expected), "exit code {}", output.exit_code);
    }
}

#[test]
fn too_long_is_a_failure() {
    let expected = Outcome::Failure("command timed out: \"cat /tmp/healthy\" timed out after 3s".to_owned());
    assert_eq!(of(Err(ExecError::TimedOut)), Ok(expected));
}

#[test]
fn a_runtime_that_cant_run_it_is_an_error_in_its_words() {
    let failed = ExecError::Failed { message: "container a1 not found".to_owned() };
    assert_eq!(of(Err(failed)), Err("container a1 not found".to_owned()));
}
