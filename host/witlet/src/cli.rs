//! The command line: names, defaults and help of every command and flag.

mod cluster;
mod common;
mod eval;
pub(crate) mod given;
mod inspect;
mod manifest;
mod plugin;
mod recorded;
#[cfg(test)]
mod tests;
mod trace;
mod transfer;
mod webhook_target;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use cluster::ClusterArgs;
pub(crate) use common::{
    API_SOCKET, COMPONENT_CACHE_VARIABLE, ComponentCacheArgs, LogArgs, LogFormat, OutputFormat, RegistryArgs,
};
pub(crate) use eval::{AuditArgs, EvalArgs, HandlerArgs, ImageArgs, OperationArg};
pub(crate) use inspect::{
    ContainerArgs, Describe, DescribeArgs, DescribeFormat, DescribePluginArgs, DescribePodArgs, ExecArgs,
    LogsArgs, PluginOrder, PodOrder, Top, TopArgs, TopPluginsArgs, TopPodsArgs,
};
pub(crate) use manifest::ManifestArgs;
use plugin::LIST_HELP;
pub(crate) use plugin::{
    BenchArgs, EntryArgs, NewArgs, Plugin, PluginListArgs, PluginRunArgs, ReportFormat, ServeArgs, TestArgs,
    UpgradeArgs,
};
pub(crate) use recorded::{DiffArgs, ReplayArgs};
pub(crate) use trace::TracingArgs;
pub(crate) use transfer::{LoginArgs, PullArgs, PushArgs, PushSetArgs, SignArgs};
pub(crate) use webhook_target::WebhookTarget;
use witlet_core::runtime::CgroupDriver;

/// What `witlet --help` says behind the commands.
const HELP: &str = "Examples:
  witlet run --pod-manifest-path ./pods --container-runtime-endpoint embedded
  witlet get pods -o wide
  witlet plugin eval pod.yaml --plugins plugins.yaml

Exit codes:
  0  success
  1  failed; the reason is on standard error
  2  invalid command line
  3  no agent answers on the socket
  4  `check` or `plugin test` found errors, `plugin run`, `replay` or `diff` got a different result,
     `plugin eval` got invalid input, or `plugin upgrade` left files to the author
  5  `plugin eval` or `plugin audit` has a pod that is not admitted
`witlet exec` ends with the exit code of the command.";

/// A Kubernetes node agent whose admission handlers, probe types and pod sources are WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "witlet", version, after_help = HELP, max_term_width = 110)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the node agent
    #[command(after_help = "Examples:
  witlet run --pod-manifest-path ./pods --container-runtime-endpoint embedded
  witlet run --plugins /etc/witlet/plugins.yaml
  witlet run --kubeconfig /etc/kubernetes/kubelet.conf --client-ca-file /etc/kubernetes/pki/ca.crt
  RUST_LOG=witlet_agent=debug witlet run --log-format json")]
    Run(Box<RunArgs>),
    /// Run the node agent with the kubelet's flags and KubeletConfiguration, as when called `kubelet`
    #[command(disable_help_flag = true)]
    Kubelet {
        /// The kubelet's flags; `witlet kubelet --help` lists them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Run the embedded runtime, a CRI runtime for WASI components
    #[command(after_help = "Example:
  witlet runtime --socket /run/witlet/runtime.sock --image-root /srv/components")]
    Runtime(RuntimeArgs),
    /// Show pods, events, the node or plugins
    #[command(
        subcommand,
        after_help = "Examples:
  witlet get pods --watch
  witlet get events
  witlet get plugins -o json"
    )]
    Get(Get),
    /// Show what pods, the node or plugins use, until Ctrl-C
    #[command(
        subcommand,
        after_help = "Examples:
  witlet top pods
  witlet top node --once"
    )]
    Top(Top),
    /// Show all that is known of a pod, the node or a plugin
    #[command(
        subcommand,
        after_help = "Examples:
  witlet describe pod web
  witlet describe plugin images"
    )]
    Describe(Describe),
    /// Show the log of a container
    #[command(after_help = "A static pod is also found by the name that its manifest has.

Examples:
  witlet logs web
  witlet logs web -c sidecar --tail 20 --follow
  witlet logs web --previous --timestamps
  witlet logs etcd -n kube-system --since 5m")]
    Logs(LogsArgs),
    /// Run a command in a container
    #[command(
        after_help = "The exit code is the command's. It is 1, with a reason on standard error, if the command could not be \
run, and 3 if no agent answers.

Examples:
  witlet exec web -- ls /
  witlet exec web -c sidecar -it -- sh
  tar -c ./conf | witlet exec web -i -- tar -x -C /etc/conf"
    )]
    Exec(ExecArgs),
    /// Work with plugins
    #[command(
        subcommand,
        after_help = "Examples:
  witlet plugin new team-label --lang python --role admission
  witlet plugin inspect team-label.wasm
  witlet plugin eval pod.yaml --plugins plugins.yaml
  witlet plugin list"
    )]
    Plugin(Plugin),
    /// Check manifests and plugin files without a daemon
    #[command(after_help = "Examples:
  witlet check /etc/kubernetes/manifests
  witlet check --plugins plugins.yaml pods/*.yaml")]
    Check(CheckArgs),
    /// Compile a component in a limited process; the daemon calls this itself
    #[command(hide = true)]
    CompileComponent {
        /// What `witlet_wasm::compile` passes to itself.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
}

/// `witlet run`
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// File or folder with pod manifests
    #[arg(long, value_name = "PATH", default_value = "/etc/kubernetes/manifests")]
    pub(crate) pod_manifest_path: PathBuf,
    /// Period in seconds for listing the manifests, in addition to watching them
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) file_check_frequency: u64,
    /// URL of a pod or a list of pods, in addition to --pod-manifest-path
    #[arg(long, value_name = "URL")]
    pub(crate) manifest_url: Option<String>,
    /// HTTP headers for --manifest-url; repeatable
    #[arg(long, value_name = "KEY:VALUE,…", requires = "manifest_url")]
    pub(crate) manifest_url_header: Vec<String>,
    /// Period in seconds for requests to --manifest-url
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) http_check_frequency: u64,
    /// PluginConfiguration file; reloaded when it changes
    #[arg(long, value_name = "FILE")]
    pub(crate) plugins: Option<PathBuf>,
    /// PluginSetPolicy file: which sets of plugins the node's annotation witlet.dev/plugin-set may choose (default: none)
    #[arg(long, value_name = "FILE", requires = "kubeconfig")]
    pub(crate) plugin_sets: Option<PathBuf>,
    /// CRI socket, or `embedded` for the built-in runtime of WASI components
    #[arg(long, value_name = "ENDPOINT", default_value = "unix:///run/containerd/containerd.sock")]
    pub(crate) container_runtime_endpoint: String,
    /// CRI socket for images (default: --container-runtime-endpoint)
    #[arg(long, value_name = "ENDPOINT")]
    pub(crate) image_service_endpoint: Option<String>,
    /// Cgroup driver, used if the runtime does not report one (containerd 1.x)
    #[arg(long, value_name = "DRIVER", value_enum, default_value_t = CgroupDriverArg::Cgroupfs)]
    pub(crate) cgroup_driver: CgroupDriverArg,
    /// Create cgroups for pods and QoS classes; without effect on the embedded runtime
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          action = clap::ArgAction::Set, default_value_t = true)]
    pub(crate) cgroups_per_qos: bool,
    /// Parent of the cgroup of all pods; must exist
    #[arg(long, value_name = "CGROUP", default_value = "/")]
    pub(crate) cgroup_root: String,
    /// Folder for relative `file:` images of the embedded runtime
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/witlet/images")]
    pub(crate) image_root: PathBuf,
    /// Folder for the agent's own files
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/witlet")]
    pub(crate) root_dir: PathBuf,
    /// Folder for the logs of pods
    #[arg(long, value_name = "FOLDER", default_value = "/var/log/pods")]
    pub(crate) pod_logs_dir: PathBuf,
    /// Compiled code of components
    #[command(flatten)]
    pub(crate) cache: ComponentCacheArgs,
    /// Name of the node (default: the host name in lower case)
    #[arg(long, value_name = "NAME")]
    pub(crate) node_name: Option<String>,
    /// Labels of the node
    #[arg(long, value_name = "KEY=VALUE,…", value_delimiter = ',')]
    pub(crate) node_labels: Vec<String>,
    /// Number of pods that can run on the node
    #[arg(long, value_name = "NUMBER", default_value_t = 110, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_pods: u32,
    /// Socket of the local API; only root can open it
    #[arg(long, value_name = "PATH", default_value = API_SOCKET)]
    pub(crate) api_socket: PathBuf,
    /// Admit pods again that were admitted before a restart
    #[arg(long)]
    pub(crate) readmit_on_restart: bool,
    /// Stop all pods when the agent stops; otherwise they go on running
    #[arg(long)]
    pub(crate) stop_pods_on_exit: bool,
    /// What pods get of this machine
    #[command(flatten)]
    pub(crate) pods: PodArgs,
    /// A node of a cluster
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// The log
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// Traces of what the agent does
    #[command(flatten)]
    pub(crate) tracing: TracingArgs,
}

/// `witlet run`: what pods get of this machine.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pods and images")]
pub(crate) struct PodArgs {
    /// resolv.conf file used as the basis for pods; empty for none
    #[arg(long, value_name = "PATH", default_value = "/etc/resolv.conf")]
    pub(crate) resolv_conf: String,
    /// DNS servers of the cluster, for pods with dnsPolicy ClusterFirst
    #[arg(long, value_name = "IP,…", value_delimiter = ',')]
    pub(crate) cluster_dns: Vec<IpAddr>,
    /// Domain of the cluster, such as cluster.local
    #[arg(long, value_name = "DOMAIN", default_value = "")]
    pub(crate) cluster_domain: String,
    /// Runtime handlers by RuntimeClass name
    #[arg(long, value_name = "CLASS=HANDLER,…", value_delimiter = ',')]
    pub(crate) runtime_classes: Vec<String>,
    /// Unsafe sysctls or patterns that pods may set, such as net.core.somaxconn or kernel.msg*
    #[arg(long, value_name = "SYSCTL,…", value_delimiter = ',')]
    pub(crate) allowed_unsafe_sysctls: Vec<String>,
    /// Use RuntimeDefault as the default seccomp profile instead of Unconfined
    #[arg(long)]
    pub(crate) seccomp_default: bool,
    /// Registry credentials in docker's config.json format; reloaded when the file changes
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_credentials: Option<PathBuf>,
    /// Pull one image at a time
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    pub(crate) serialize_image_pulls: bool,
    /// Maximum number of parallel image pulls, with --serialize-image-pulls=false (default: no limit)
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_parallel_image_pulls: Option<u32>,
    /// Limit of image pulls per second; 0 for no limit
    #[arg(long, value_name = "NUMBER", default_value_t = 5)]
    pub(crate) registry_qps: u32,
    /// Maximum burst of image pulls
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub(crate) registry_burst: u32,
    /// Size of a container log file before it is rotated
    #[arg(long, value_name = "QUANTITY", default_value = "10Mi")]
    pub(crate) container_log_max_size: String,
    /// Maximum number of log files of a container
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) container_log_max_files: u32,
    /// Eviction thresholds, such as memory.available<100Mi or nodefs.available<10%; signals: memory.available,
    /// nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available; empty for none
    #[arg(
        long,
        value_name = "SIGNAL<VALUE,…",
        default_value = "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs.inodesFree<5%"
    )]
    pub(crate) eviction_hard: String,
    /// Folder for links to the logs of all containers (default: `containers` next to --pod-logs-dir)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) container_logs_dir: Option<PathBuf>,
}

/// `witlet runtime`
#[derive(Debug, Args)]
pub(crate) struct RuntimeArgs {
    /// Socket to serve the CRI on
    #[arg(long, value_name = "PATH", default_value = "/run/witlet/runtime.sock")]
    pub(crate) socket: PathBuf,
    /// Folder for the runtime's own files
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/witlet/runtime")]
    pub(crate) root_dir: PathBuf,
    /// Folder for relative `file:` images
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/witlet/images")]
    pub(crate) image_root: PathBuf,
    /// Compiled code of components
    #[command(flatten)]
    pub(crate) cache: ComponentCacheArgs,
    /// Start a new session, so that workloads survive the terminal and its Ctrl-C
    #[arg(long)]
    pub(crate) new_session: bool,
    /// The log
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// `witlet get`
#[derive(Debug, Subcommand)]
pub(crate) enum Get {
    /// List pods
    #[command(visible_aliases = ["pod", "po"], after_help = "Examples:
  witlet get pods
  witlet get pods -n kube-system -o wide
  witlet get pods --usage
  witlet get pods --watch
  witlet get pods web-node1 -o yaml")]
    Pods(PodsArgs),
    /// List recent events
    #[command(visible_aliases = ["event", "ev"], after_help = "Examples:
  witlet get events
  witlet get events web-node1 -o wide
  witlet get events --watch")]
    Events(WatchArgs),
    /// Show the node
    #[command(visible_aliases = ["nodes", "no"], after_help = "Examples:
  witlet get node
  witlet get node -o json")]
    Node(GetNodeArgs),
    /// List plugins with their state; the same as `witlet plugin list`
    #[command(visible_alias = "plugin", after_help = LIST_HELP)]
    Plugins(PluginListArgs),
}

/// `witlet get pods`
#[derive(Debug, Args)]
pub(crate) struct PodsArgs {
    #[command(flatten)]
    pub(crate) list: WatchArgs,
    /// Show the CPU and memory that running pods use now, measured for a second
    #[arg(long, conflicts_with = "watch")]
    pub(crate) usage: bool,
}

/// What `witlet get …` shows that may also be watched.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) get: GetArgs,
    /// Show what changes, too, until Ctrl-C; goes on after a restart of the agent
    #[arg(short, long)]
    pub(crate) watch: bool,
}

/// What `witlet get …` shows, and how.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// Name of the object (default: all)
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Namespace (default: all)
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
    /// Socket of the daemon
    #[arg(long, value_name = "PATH", default_value = API_SOCKET)]
    pub(crate) api_socket: PathBuf,
}

/// `witlet get node`: there is one, in no namespace.
#[derive(Debug, Args)]
pub(crate) struct GetNodeArgs {
    /// Name of the node; any other is an error
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
    /// Socket of the daemon
    #[arg(long, value_name = "PATH", default_value = API_SOCKET)]
    pub(crate) api_socket: PathBuf,
}

/// Who makes cgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CgroupDriverArg {
    /// The runtime itself.
    Cgroupfs,
    /// systemd; `SystemdCgroup = true` in containerd's configuration.
    Systemd,
}

impl From<CgroupDriverArg> for CgroupDriver {
    fn from(driver: CgroupDriverArg) -> Self {
        match driver {
            CgroupDriverArg::Cgroupfs => Self::Cgroupfs,
            CgroupDriverArg::Systemd => Self::Systemd,
        }
    }
}

/// `witlet check`
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Manifests, or folders of them
    #[arg(value_name = "PATH")]
    pub(crate) manifests: Vec<PathBuf>,
    /// A PluginConfiguration
    #[arg(long, value_name = "FILE")]
    pub(crate) plugins: Option<PathBuf>,
    /// Node name for the suffix of pod names, and for `${node.name}` in plugins' configurations
    #[arg(long, value_name = "NAME", default_value = "node")]
    pub(crate) node_name: String,
    /// Labels of the node, for `${node.labels['KEY']}` in plugins' configurations
    #[arg(long, value_name = "KEY=VALUE,…", value_delimiter = ',')]
    pub(crate) node_labels: Vec<String>,
    /// Compiled code of components
    #[command(flatten)]
    pub(crate) cache: ComponentCacheArgs,
}
