//! Flags that several commands have.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Where the daemon's own socket is unless a flag says otherwise.
pub(crate) const API_SOCKET: &str = "/run/witlet/witlet.sock";

/// Names the folder of compiled components where no flag does.
pub(crate) const COMPONENT_CACHE_VARIABLE: &str = "WITLET_COMPONENT_CACHE_DIR";

/// Where compiled code of components is kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ComponentCacheArgs {
    /// Folder for compiled components, private to its owner (default: below --root-dir; for commands that end by themselves a
    /// temporary folder)
    #[arg(long, value_name = "FOLDER", env = COMPONENT_CACHE_VARIABLE, hide_env_values = true)]
    pub(crate) component_cache_dir: Option<PathBuf>,
}

impl ComponentCacheArgs {
    /// The folder, or this one if none was given.
    pub(crate) fn or(&self, default: impl Into<PathBuf>) -> PathBuf {
        self.component_cache_dir.clone().unwrap_or_else(|| default.into())
    }
}

/// Looks of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// A table for people.
    Table,
    /// The table with more columns.
    Wide,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Looks of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}
