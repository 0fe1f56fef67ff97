//! `witlet plugin manifest`: names and help of its arguments.

use std::path::PathBuf;

use clap::Args;

/// What the command does, with examples.
pub(super) const MANIFEST_HELP: &str = "The manifest says what the plugin is, which `config:` and `parameters` it takes, and which grants it wants and why. It takes \
the place of one that the component has. `witlet plugin inspect` shows it, hosts hold entries against it, and `witlet plugin push` \
makes annotations of it.

Examples:
  witlet plugin manifest team-label.wasm plugin.yaml
  witlet plugin manifest target/plugin.wasm plugin.yaml --to team-label.wasm";

/// `witlet plugin manifest`
#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    /// Component to put the manifest into
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Manifest to put into it: YAML or JSON, `kind: PluginManifest`
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    /// File to write (default: FILE itself)
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
}
