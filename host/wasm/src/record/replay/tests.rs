//! Commands as they are played back.

use super::*;

fn record(command: &str, error: Option<&str>) -> ExecRecord {
    let ran = error.is_none();
    ExecRecord {
        command: vec![command.to_owned()],
        output: ran.then(|| "said".to_owned()),
        exit_code: ran.then_some(3),
        error: error.map(str::to_owned),
    }
}

fn run(tape: &Tape, command: &str) -> Result<ExecOutput, RuntimeError> {
    tape.next(&[command.to_owned()])
}

#[test]
fn commands_get_their_recorded_results_in_order() {
    let tape = Tape::new(vec![
        record("a", None),
        record("b", Some(ExecRecord::TIMED_OUT)),
        record("c", Some("ExecSync: no such container")),
    ]);
    let output = run(&tape, "a").expect("it ran");
    assert_eq!((output.stdout.as_slice(), output.exit_code), (&b"said"[..], 3));
    assert!(matches!(run(&tape, "b"), Err(RuntimeError::DeadlineExceeded { .. })));
    // In the very words that the probe saw then.
    assert_eq!(run(&tape, "c").expect_err("it failed").to_string(), "ExecSync: no such container");
    assert_eq!(tape.difference(), None);
}

#[test]
fn other_commands_than_the_recorded_ones_are_reported() {
    let other = Tape::new(vec![record("a", None)]);
    assert!(run(&other, "x").is_err());
    assert_eq!(other.difference().as_deref(), Some(r#"it ran ["x"] where it ran ["a"] then"#));
    let more = Tape::new(vec![]);
    assert!(run(&more, "x").is_err());
    assert_eq!(more.difference().as_deref(), Some(r#"it ran ["x"] where it ran none then"#));
    let fewer = Tape::new(vec![record("a", None)]);
    assert_eq!(fewer.difference().as_deref(), Some(r#"it didn't run ["a"]"#));
}

#[test]
fn data_must_be_the_recorded_ones() {
    let one = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
    let recorded = BTreeMap::from([("list".to_owned(), one.to_owned())]);
    let given = |pairs: &[(&str, &str)]| -> GivenData {
        pairs.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.as_bytes().to_vec())).collect()
    };
    let taken = |pairs: &[(&str, &str)]| -> Result<Vec<Vec<u8>>, String> {
        let data = data_as_recorded(&recorded, given(pairs)).map_err(|error| error.to_string())?;
        Ok(data.iter().map(|data| data.snapshot.bytes().to_vec()).collect())
    };
    assert_eq!(taken(&[("list", "one")]), Ok(vec![b"one".to_vec()]));
    let cases: [(&[(&str, &str)], &str); 3] = [
        (&[], r#"it had the data "list" (sha256:7692"#),
        (&[("list", "two")], r#"the data "list" are sha256:3fc4"#),
        (&[("list", "one"), ("more", "x")], r#"it had no data "more""#),
    ];
    for (pairs, expected) in cases {
        let error: String = taken(pairs).err().unwrap_or_default();
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(data_as_recorded(&BTreeMap::new(), given(&[])).is_ok_and(|data| data.is_empty()));
}
