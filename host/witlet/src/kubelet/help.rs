//! `kubelet --help`: every flag, what it takes, and whether it does something.

use super::configuration::fields::{Fate, Kind, field};
use super::flags::table::{FLAGS, Flag, Target};

const INTRODUCTION: &str =
    "witlet in the kubelet's place: a node of a Kubernetes cluster. It takes the kubelet's flags and its \
KubeletConfiguration.

Usage:
  kubelet [flags]

Flags:
";

const END: &str = "
Flags marked * are known and not acted on yet; one that asks for something is named in the log. --api-socket, --plugins,
--readmit-on-restart, --registry-credentials, --runtime-classes and --stop-pods-on-exit are witlet's own.
";

/// What `--help` prints.
pub(super) fn text() -> String {
    let lines = FLAGS.iter().map(line);
    INTRODUCTION.to_owned() + &lines.collect::<String>() + END
}

fn line(flag: &Flag) -> String {
    let mark = if acts(flag) { ' ' } else { '*' };
    let names = if flag.name == "v" { "-v, --v".to_owned() } else { format!("    --{}", flag.name) };
    let means = match flag.target {
        Target::Field(path) => format!("sets {path}"),
        Target::Own(_) | Target::NotYet(_) | Target::Nothing => String::new(),
    };
    let text = format!("{mark} {:<54} {means}", format!("{names} {}", takes(flag.kind)).trim_end());
    text.trim_end().to_owned() + "\n"
}

fn acts(flag: &Flag) -> bool {
    match flag.target {
        Target::Own(_) => true,
        Target::Field(path) => field(path).is_some_and(|field| !matches!(field.fate, Fate::Fixed(_))),
        Target::NotYet(_) => false,
        Target::Nothing => true,
    }
}

fn takes(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "",
        Kind::Int => "int",
        Kind::Float => "float",
        Kind::Text | Kind::Any => "string",
        Kind::Duration => "duration",
        Kind::Texts => "strings",
        Kind::Ints => "ints",
        Kind::TextMap => "key=value,…",
        Kind::BoolMap => "key=True|False,…",
        Kind::TextsMap => "key:value,…",
        Kind::Taints => "key=value:effect,…",
        Kind::Maps(_) => "",
    }
}
