//! Flags of the commands that ask recorded questions again.

use std::path::PathBuf;

use clap::Args;

use super::common::{ComponentCacheArgs, OutputFormat, RegistryArgs};

/// What `witlet plugin replay --help` says at its end.
pub(crate) const REPLAY_HELP: &str =
    "Entries of the PluginConfiguration with `record: {max: N}` keep their last N calls below witlet/recorded in the \
daemon's --root-dir. Admission is replayed in full; a probe with the results of its commands, unless it had network access or secrets, which aren't recorded; a pod source not at all.

Exit codes: 0 for the same result or a printed case, 4 for a different result, 1 if the call cannot be repeated or be a case.

Examples:
  witlet plugin replay call.json
  witlet plugin replay call.json --component new.wasm -o json
  witlet plugin replay call.json --to-case >cases/from-a-node.yaml";

/// What `witlet plugin diff --help` says at its end.
pub(crate) const DIFF_HELP: &str = "A and B are components (a file, `builtin:NAME` or `oci://…`), or entries of plugin files: PLUGINS#ENTRY. A component has the \
configuration, the limits and the data of the recorded call, an entry its own. Both are asked whatever their `match` says, and \
nothing that was recorded counts as an answer.

Exit codes: 0 if they answer everything in the same way, 4 if they don't, 1 if nothing can be compared.

Examples:
  witlet plugin diff old.wasm new.wasm /var/lib/witlet/witlet/recorded/images
  witlet plugin diff plugins.yaml#images plugins.yaml#images-next recorded/images -o json";

/// `witlet plugin replay`
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// File of a recorded call
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Component to call instead of the recorded one: a file, `builtin:NAME` or `oci://…`
    #[arg(long, value_name = "FILE")]
    pub(crate) component: Option<String>,
    /// PluginConfiguration with the recorded plugin's component
    #[arg(long, value_name = "FILE", conflicts_with = "component")]
    pub(crate) plugins: Option<PathBuf>,
    /// Data that the recorded plugin had; repeatable
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) data: Vec<String>,
    /// Print the call as a case file for `witlet plugin test` instead of repeating it (-o json: as JSON)
    #[arg(long, conflicts_with_all = ["component", "plugins"])]
    pub(crate) to_case: bool,
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
    /// Compiled code of components
    #[command(flatten)]
    pub(crate) cache: ComponentCacheArgs,
}

/// `witlet plugin diff`
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// First version: a component, or PLUGINS#ENTRY
    #[arg(value_name = "A")]
    pub(crate) a: String,
    /// Second version: a component, or PLUGINS#ENTRY
    #[arg(value_name = "B")]
    pub(crate) b: String,
    /// Files of recorded calls, or folders of them
    #[arg(value_name = "RECORDINGS", required = true)]
    pub(crate) recordings: Vec<PathBuf>,
    /// Data of components that aren't named by an entry; repeatable
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) data: Vec<String>,
    /// How registries are asked
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
    /// Compiled code of components
    #[command(flatten)]
    pub(crate) cache: ComponentCacheArgs,
}
