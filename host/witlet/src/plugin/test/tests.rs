//! What the command line of `witlet plugin test` asks for.

use super::*;

#[test]
fn layers_are_chosen_or_left_out() {
    use Layer::{Budget, Hostile, Load};
    let set = |layers: &[Layer]| layers.iter().copied().collect::<BTreeSet<_>>();
    assert_eq!(layers(&[], &[]), set(&Layer::ALL));
    assert_eq!(layers(&[Load, Hostile], &[]), set(&[Load, Hostile]));
    assert_eq!(layers(&[Load, Hostile], &[Hostile]), set(&[Load]));
    assert_eq!(layers(&[], &[Budget]).len(), Layer::ALL.len() - 1);
}

#[test]
fn words_are_quoted_for_a_shell() {
    for (word, shown) in
        [("a.wasm", "a.wasm"), ("", "''"), (r#"{"a": 1}"#, r#"'{"a": 1}'"#), ("it's", r"'it'\''s'")]
    {
        assert_eq!(quoted(word), shown);
    }
}

#[test]
fn the_command_that_repeats_names_what_was_asked_for() {
    use clap::Parser as _;
    let words =
        ["test", "a.wasm", "--record", "a call.json", "--config", "{}", "--plain-http", "--seed", "4"];
    let args = Line::try_parse_from(words).expect("these are its arguments").args;
    let reported = command(&args);
    assert_eq!(reported, "witlet plugin test a.wasm --config '{}' --record 'a call.json' --plain-http");
}

/// A command line of this command alone.
#[derive(Debug, clap::Parser)]
struct Line {
    #[command(flatten)]
    args: TestArgs,
}
