//! Flags that several commands have.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::logging::vmodule::{self, FileVerbosity};

/// Where the daemon's own socket is unless a flag says otherwise.
pub(crate) const API_SOCKET: &str = "/run/witlet/witlet.sock";

/// Names the folder of compiled components where no flag does.
pub(crate) const COMPONENT_CACHE_VARIABLE: &str = "WITLET_COMPONENT_CACHE_DIR";

/// Where compiled code of components is kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ComponentCacheArgs {
    /// Folder for compiled components, private to its owner (default: below --root-dir, or a temporary folder where there is no
    /// such flag)
    #[arg(long, value_name = "FOLDER", env = COMPONENT_CACHE_VARIABLE, hide_env_values = true)]
    pub(crate) component_cache_dir: Option<PathBuf>,
}

impl ComponentCacheArgs {
    /// The folder, or this one if none was given.
    pub(crate) fn or(&self, default: impl Into<PathBuf>) -> PathBuf {
        self.component_cache_dir.clone().unwrap_or_else(|| default.into())
    }
}

/// How registries are asked for `oci://…`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RegistryArgs {
    /// Registry credentials in docker's config.json format (default: those of `docker login`)
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_credentials: Option<PathBuf>,
    /// Allow HTTP without TLS for registries on other machines
    #[arg(long)]
    pub(crate) plain_http: bool,
}

/// Checks of answers.
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

/// The log's format, how much is in it.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Logging")]
pub(crate) struct LogArgs {
    /// Log format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// Log verbosity as klog's -v: 4 for debugging, 6 for everything
    #[arg(short = 'v', long = "v", value_name = "NUMBER", default_value = "0", value_parser = vmodule::verbosity)]
    pub(crate) verbosity: u32,
    /// Log verbosity of source files, such as pods=6 or event_loop/*=4; only for the format text
    #[arg(long, value_name = "PATTERN=N,…", default_value = "", hide_default_value = true, value_parser = files)]
    pub(crate) vmodule: Files,
}

/// The list of `--vmodule`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files(pub(crate) Vec<FileVerbosity>);

fn files(text: &str) -> Result<Files, String> {
    vmodule::parse(text).map(Files)
}

/// Checks of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}
