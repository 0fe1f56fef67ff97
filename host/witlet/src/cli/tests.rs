//! What `--help` looks like, for all commands.

use clap::CommandFactory as _;

use super::Cli;

/// Columns of a terminal in which lists and examples stay whole: clap's width where standard output is none.
const COLUMNS: usize = 100;

/// The command and all below it, each with its whole name.
fn all(name: &str, command: clap::Command) -> Vec<(String, clap::Command)> {
    let name = format!("{name} {}", command.get_name()).trim_start().to_owned();
    let below = command.get_subcommands().cloned().flat_map(|below| all(&name, below));
    below.chain([(name.clone(), command.clone())]).collect()
}

#[test]
fn lines_behind_the_flags_are_broken_by_the_terminal_and_examples_fit_into_one() {
    for (name, command) in all("", Cli::command()) {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().filter(|line| line.starts_with(' ')) {
            assert!(line.len() <= COLUMNS, "{name}: an example or a row of a list is too long: {line}");
        }
        for pair in lines.windows(2).filter(|pair| !pair[0].is_empty() && !pair[0].starts_with(' ')) {
            let goes_on = !pair[1].is_empty() && !pair[1].starts_with(' ');
            assert!(!goes_on, "{name}: a paragraph is one line: {}", pair[0]);
        }
    }
}

#[test]
fn every_command_has_examples_of_itself() {
    for (name, command) in all("", Cli::command()) {
        // `kubelet` takes the kubelet's flags, and has that program's help.
        if command.is_hide_set() || name == "witlet kubelet" {
            continue;
        }
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = text.split_once("Example").map_or("", |(_, examples)| examples);
        // Another name of the same list.
        let shown = if name == "witlet get plugins" { "witlet plugin list" } else { &name };
        assert!(examples.contains(shown), "{name}: `--help` shows no example: {text}");
    }
}

#[test]
fn flags_of_the_log_have_a_heading_of_their_own() {
    for (name, command) in all("", Cli::command()) {
        let headings: Vec<_> = command
            .get_arguments()
            .filter(|argument| ["log-format", "v", "vmodule"].map(Some).contains(&argument.get_long()))
            .map(|argument| argument.get_help_heading())
            .collect();
        assert!(headings.iter().all(|heading| *heading == Some("Logging")), "{name}: {headings:?}");
    }
}
