//! Command lines of `witlet exec`, and exit codes.

use clap::Parser as _;

use super::*;
use crate::cli::{Cli, Command};

fn parsed(arguments: &[&str]) -> Option<ExecOptions> {
    parsed_at(arguments, true)
}

fn parsed_at(arguments: &[&str], is_terminal: bool) -> Option<ExecOptions> {
    let line = [&["witlet", "exec"], arguments].concat();
    let Command::Exec(args) = Cli::try_parse_from(line).ok()?.command else { return None };
    let of = |text: &str| text.to_owned();
    let target = Target { namespace: of("default"), pod: args.target.pod.clone(), container: of("app") };
    Some(options(&target, &args, is_terminal))
}

#[test]
fn a_command_stands_behind_two_dashes() {
    let found = parsed(&["web", "-it", "--", "sh", "-c", "exit 3"]).expect("a command line");
    assert_eq!((found.pod.as_str(), found.stdin, found.tty), ("web", true, true));
    assert_eq!(found.command, ["sh", "-c", "exit 3"]);
    let found = parsed(&["web", "--", "ls"]).expect("a command line");
    assert_eq!((found.stdin, found.tty), (false, false));
    for refused in [&["web"][..], &["web", "ls"], &["web", "--"], &["--", "ls"]] {
        assert_eq!(parsed(refused), None, "{refused:?}");
    }
}

#[test]
fn a_terminal_is_used_only_where_its_keys_are_read() {
    let tty = |flags: &str, is_terminal| {
        parsed_at(&["web", flags, "--", "sh"], is_terminal)
            .map(|options| options.tty)
            .expect("a command line")
    };
    assert_eq!(
        [tty("-it", true), tty("-it", false), tty("-t", true), tty("-i", true)],
        [true, false, false, false]
    );
}

#[test]
fn a_failed_command_and_a_signal_to_this_process_are_distinguished() {
    assert_eq!(said_of_command(0), None);
    assert_eq!(said_of_command(143).as_deref(), Some("command terminated with exit code 143"));
    for (signal, name, code) in [
        (StopSignal::Terminate, "SIGTERM", 143),
        (StopSignal::Interrupt, "SIGINT", 130),
        (StopSignal::Hangup, "SIGHUP", 129),
    ] {
        let said = said_of_signal(signal);
        assert!(said.starts_with(&format!("stopped by {name}; ")) && !said.contains("terminated"), "{said}");
        assert_eq!(signal.exit_code(), code, "{name}");
    }
}

#[test]
fn exit_codes_stay_within_a_byte() {
    assert_eq!([0, 3, 255, 256, -1].map(byte), [0, 3, 255, 1, 1]);
}
