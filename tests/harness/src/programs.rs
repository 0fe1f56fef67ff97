//! Programs of deeds, as an example workload of the embedded runtime and as a script of busybox.

use crate::BUSYBOX_IMAGE;
use witlet_testkit::scenarios::{Deed, Workload};

use crate::node::shell;

/// The example workload `probe-target`.
pub(crate) fn embedded_workload(deeds: &[Deed]) -> Workload {
    Workload { image: "file:probe-target.wasm".to_owned(), command: Vec::new(), args: words(deeds) }
}

/// The same program run once more.
pub(crate) fn embedded_command(deeds: &[Deed]) -> Vec<String> {
    std::iter::once("probe-target".to_owned()).chain(words(deeds)).collect()
}

/// A shell.
pub(crate) fn busybox_workload(deeds: &[Deed]) -> Workload {
    Workload { image: BUSYBOX_IMAGE.to_owned(), command: busybox_command(deeds), args: Vec::new() }
}

/// A shell.
pub(crate) fn busybox_command(deeds: &[Deed]) -> Vec<String> {
    let lines: Vec<String> = deeds.iter().map(line).collect();
    shell(&format!("set -e; {}", lines.join("; ")))
}

fn words(deeds: &[Deed]) -> Vec<String> {
    let words = deeds.iter().flat_map(|deed| match deed {
        Deed::Sleep(milliseconds) => vec!["sleep".to_owned(), milliseconds.to_string()],
        Deed::Wait => vec!["wait".to_owned()],
        Deed::Write(path, text) => vec!["write".to_owned(), path.clone(), text.clone()],
        Deed::Append(path, text) => vec!["append".to_owned(), path.clone(), text.clone()],
        Deed::Exists(path) => vec!["exists".to_owned(), path.clone()],
        Deed::Message(text) => vec!["message".to_owned(), text.clone()],
        Deed::Exit(code) => vec!["exit".to_owned(), code.to_string()],
    });
    words.collect()
}

/// Texts of scenarios have no quotes in them.
fn line(deed: &Deed) -> String {
    match deed {
        Deed::Sleep(milliseconds) => format!("usleep {}", u64::from(*milliseconds) * 1000),
        Deed::Wait => "trap 'exit 0' TERM; while :; do sleep 0.1; done".to_owned(),
        Deed::Write(path, text) => format!("printf '%s' '{text}' > '{path}'"),
        Deed::Append(path, text) => format!("echo '{text}' >> '{path}'"),
        Deed::Exists(path) => format!("[ -e '{path}' ]"),
        Deed::Message(text) => format!("printf '%s' '{text}' > /dev/termination-log"),
        Deed::Exit(code) => format!("exit {code}"),
    }
}
