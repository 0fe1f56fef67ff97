//! What plugins cost, compared with the least that the same thing can cost on the same machine at the same time.
//!
//! Prints one JSON object a line: `name, unit, value, floor, ratio, budget`. What a floor is, each module says. Names as
//! arguments choose among the groups. Has its own `main`, because it starts itself: as the compiling child, as the server
//! that is probed, and as the process whose idle cost is read.

mod admission;
mod chain;
mod floor;
mod idle;
mod loading;
mod measure;
mod pod_source;
mod probe;
mod probe_rate;
mod server;

use std::ffi::OsString;
use std::process::ExitCode;

use witlet_wasm::compile;

/// Figures of one kind.
type Group = (&'static str, fn() -> Result<bool, String>);

/// In the order in which they are measured.
const GROUPS: &[Group] = &[
    ("admission", admission::measure),
    ("chain", chain::measure),
    ("probe", probe::measure),
    ("pod-source", pod_source::measure),
    ("probe-rate", probe_rate::measure),
    ("idle", idle::measure),
];

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if compile::is_compile_command(&words) {
        return compile::child_main(words.into_iter().skip(1));
    }
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let first = words.first().map(String::as_str);
    let result = match first {
        Some(server::COMMAND) => server::serve().map(|()| true),
        Some(idle::CHILD) => idle::child(&words[1..]).map(|()| true),
        // `cargo test --benches` only wants to know that it builds.
        Some("--test") => Ok(true),
        Some(_) | None => measure(&words),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => fail("a budget was exceeded"),
        Err(message) => fail(&message),
    }
}

fn measure(words: &[String]) -> Result<bool, String> {
    // `cargo bench` adds `--bench`.
    let chosen: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    if let Some(other) = chosen.iter().find(|word| !GROUPS.iter().any(|(name, _)| name == *word)) {
        return Err(format!("there is no group {other}"));
    }
    let mut kept = true;
    for (name, measure) in GROUPS {
        if chosen.is_empty() || chosen.iter().any(|word| word == name) {
            kept &= measure()?;
        }
    }
    Ok(kept)
}

#[allow(clippy::print_stderr, reason = "a benchmark talks to its user")]
fn fail(message: &str) -> ExitCode {
    eprintln!("plugins benchmark: {message}");
    ExitCode::FAILURE
}
