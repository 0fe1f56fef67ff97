//! Commands that check a node: what is used, what a pod is about, its logs, and commands in it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use witlet_core::duration::nanoseconds;

use super::common::{API_SOCKET, OutputFormat};

/// Bounds of an interval.
const INTERVAL_MIN: Duration = Duration::from_millis(500);
const INTERVAL_MAX: Duration = Duration::from_hours(1);

/// `witlet top`
#[derive(Debug, Subcommand)]
pub(crate) enum Top {
    /// Show the CPU and memory that running pods use
    #[command(visible_aliases = ["pod", "po"], after_help = "CPU is what was used within the second before the table is printed.

Examples:
  witlet top pods
  witlet top pods -n kube-system --sort-by memory
  witlet top pods --once --containers
  witlet top pods -o json")]
    Pods(TopPodsArgs),
    /// Show what of the node's resources is requested and used
    #[command(visible_aliases = ["nodes", "no"], after_help = "Examples:
  witlet top node
  witlet top node --interval 10s
  witlet top node -o json")]
    Node(TopArgs),
    /// Show calls, errors, durations, CPU and memory of plugins
    #[command(
        visible_alias = "plugin",
        after_help = "Calls, errors and CPU are rates between two refreshes; p50 and p99 are of all calls since the plugin was loaded.

Examples:
  witlet top plugins
  witlet top plugins --sort-by p99
  witlet top plugins -o json"
    )]
    Plugins(TopPluginsArgs),
}

/// How `witlet top` goes on.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Time between two refreshes, such as 500ms or 5s
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = interval)]
    pub(crate) interval: Duration,
    /// Show it once and end, as without a terminal or with -o json and yaml
    #[arg(long)]
    pub(crate) once: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
    /// Socket of the daemon
    #[arg(long, value_name = "PATH", default_value = API_SOCKET)]
    pub(crate) api_socket: PathBuf,
}

/// `witlet top pods`
#[derive(Debug, Args)]
pub(crate) struct TopPodsArgs {
    /// Name of the pod (default: all)
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Namespace (default: all; with a NAME: default)
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Order of the rows
    #[arg(long, value_name = "COLUMN", default_value = "cpu")]
    pub(crate) sort_by: PodOrder,
    /// Show a row for each container
    #[arg(long)]
    pub(crate) containers: bool,
    #[command(flatten)]
    pub(crate) top: TopArgs,
}

/// Orders of pods: the largest amount first, or by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PodOrder {
    /// CPU.
    Cpu,
    /// Memory.
    Memory,
    /// Namespace and name.
    Name,
}

/// `witlet top plugins`
#[derive(Debug, Args)]
pub(crate) struct TopPluginsArgs {
    /// Name of the plugin (default: all)
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Order of the rows
    #[arg(long, value_name = "COLUMN", default_value = "cpu")]
    pub(crate) sort_by: PluginOrder,
    #[command(flatten)]
    pub(crate) top: TopArgs,
}

/// Orders of plugins: the largest amount first, or by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PluginOrder {
    /// CPU.
    Cpu,
    /// Memory of the largest instance.
    Memory,
    /// Calls per second.
    Calls,
    /// Errors since the plugin was loaded.
    Errors,
    /// The slowest of 100 calls.
    P99,
    /// Name and role.
    Name,
}

/// `witlet describe`
#[derive(Debug, Subcommand)]
pub(crate) enum Describe {
    /// Show a pod: spec, status, admission verdicts, probes and events
    #[command(visible_aliases = ["pods", "po"], after_help = "A static pod is also found by the name that its manifest has.

Examples:
  witlet describe pod web
  witlet describe pod etcd -n kube-system
  witlet describe pod web -o json | jq .admission")]
    Pod(DescribePodArgs),
    /// Show the node: conditions, resources, thresholds, pods and events
    #[command(visible_aliases = ["nodes", "no"], after_help = "Examples:
  witlet describe node
  witlet describe node -o yaml")]
    Node(DescribeArgs),
    /// Show a plugin: component, roles, failures and events
    #[command(
        visible_alias = "plugins",
        after_help = "Examples:
  witlet describe plugin host-ports
  witlet describe plugin images -o json"
    )]
    Plugin(DescribePluginArgs),
}

/// What every `witlet describe …` takes.
#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: DescribeFormat,
    /// Socket of the daemon
    #[arg(long, value_name = "PATH", default_value = API_SOCKET)]
    pub(crate) api_socket: PathBuf,
}

/// Output formats of `witlet describe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DescribeFormat {
    /// Text for people.
    Text,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// `witlet describe pod`
#[derive(Debug, Args)]
pub(crate) struct DescribePodArgs {
    /// Name of the pod
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Namespace
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) describe: DescribeArgs,
}

/// `witlet describe plugin`
#[derive(Debug, Args)]
pub(crate) struct DescribePluginArgs {
    /// Name of the plugin
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) describe: DescribeArgs,
}

/// A container of a pod.
#[derive(Debug, Args)]
pub(crate) struct ContainerArgs {
    /// Name of the pod
    #[arg(value_name = "POD")]
    pub(crate) pod: String,
    /// Name of the container (default: the annotation kubectl.kubernetes.io/default-container, or the first one)
    #[arg(short, long, value_name = "CONTAINER")]
    pub(crate) container: Option<String>,
    /// Namespace
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    pub(crate) namespace: String,
    /// Socket of the daemon
    #[arg(long, value_name = "PATH", default_value = API_SOCKET)]
    pub(crate) api_socket: PathBuf,
}

/// `witlet logs`
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) target: ContainerArgs,
    /// Follow the logs until the container ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Number of newest lines to show; -1 for all
    #[arg(long, value_name = "LINES", default_value_t = -1, allow_negative_numbers = true, value_parser = clap::value_parser!(i64).range(-1..))]
    pub(crate) tail: i64,
    /// Show nothing older than this, such as 30s, 5m or 2h
    #[arg(long, value_name = "DURATION", value_parser = since, conflicts_with = "since_time")]
    pub(crate) since: Option<u64>,
    /// Show nothing older than this time (RFC 3339)
    #[arg(long, value_name = "TIME")]
    pub(crate) since_time: Option<jiff::Timestamp>,
    /// Print the logs of the previous instance of the container
    #[arg(short, long)]
    pub(crate) previous: bool,
    /// Include timestamps on each line
    #[arg(long)]
    pub(crate) timestamps: bool,
    /// Maximum bytes of logs to show
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=i64::MAX as u64))]
    pub(crate) limit_bytes: Option<u64>,
}

/// `witlet exec`
#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    #[command(flatten)]
    pub(crate) target: ContainerArgs,
    /// Pass standard input to the command
    #[arg(short = 'i', long)]
    pub(crate) stdin: bool,
    /// Run the command in a terminal
    #[arg(short, long)]
    pub(crate) tty: bool,
    /// The command and its arguments, run without a shell
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

fn interval(text: &str) -> Result<Duration, String> {
    let found = nanoseconds(text).and_then(|nanoseconds| u64::try_from(nanoseconds).ok());
    let found = found.map(Duration::from_nanos).filter(|found| (INTERVAL_MIN..=INTERVAL_MAX).contains(found));
    found.ok_or_else(|| "expected a duration from 500ms to 1h, such as 2s".to_owned())
}

/// Whole seconds, as many as there are at least.
fn since(text: &str) -> Result<u64, String> {
    let found = nanoseconds(text).and_then(|nanoseconds| u64::try_from(nanoseconds).ok());
    let seconds =
        found.filter(|nanoseconds| *nanoseconds > 0).map(|nanoseconds| nanoseconds.div_ceil(1_000_000_000));
    seconds.ok_or_else(|| "expected a duration above 0, such as 5m".to_owned())
}

#[cfg(test)]
mod tests;
