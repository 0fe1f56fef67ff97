//! Cases for steps.

use super::*;

fn parsed(line: &str) -> Result<Vec<Step>, String> {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

#[test]
fn steps_follow_each_other() {
    let own = |text: &str| text.to_owned();
    for (line, expected) in [
        ("", vec![]),
        ("serve", vec![Step::Serve]),
        ("sleep 20 exit 3", vec![Step::Sleep(Duration::from_millis(20)), Step::Exit(3)]),
        ("write /a b append /a c", vec![Step::Write(own("/a"), own("b")), Step::Append(own("/a"), own("c"))]),
        ("exists wait", vec![Step::Exists(own("wait"))]),
        ("message over wait", vec![Step::Message(own("over")), Step::Wait]),
    ] {
        assert_eq!(parsed(line), Ok(expected), "{line}");
    }
}

#[test]
fn what_is_no_step_is_named() {
    for (line, words) in [
        ("dance", "\"dance\" is no step"),
        ("sleep", "sleep: an argument is missing"),
        ("sleep long", "sleep: \"long\" isn't a number"),
        ("write /a", "write: an argument is missing"),
        ("exit 256", "exit: 256 is more than 255"),
        ("exit -1", "exit: \"-1\" isn't a number"),
    ] {
        assert_eq!(parsed(line).expect_err(line), words);
    }
}
