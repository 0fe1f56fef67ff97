//! `witlet plugin eval` and `witlet plugin audit`: defaults and help of their flags.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use witlet_core::admission::Operation;
use witlet_core::image::CredentialOrigin;
use witlet_ports::is_sha256;

use super::common::{API_SOCKET, ComponentCacheArgs, OutputFormat};

/// Behind the help of `witlet plugin eval`.
pub(super) const EVAL_HELP: &str = "The pods are judged by the code that the daemon decides with, each as if the others of the files weren't there. No daemon \
is needed, and nothing of one is touched. Of a Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob or \
ReplicationController its pod is judged. Other objects are skipped by name.

The node has 4 CPUs, 8Gi of memory and no other pods unless --node and --others say otherwise.

Exit codes: 0 if all pods are admitted, 5 if one isn't, 4 if a file, a document or a plugin is invalid (the others are judged \
all the same), 1 if nothing could be asked.

Examples:
  witlet plugin eval web.yaml --expression \"object.metadata.?labels[?'team'].hasValue()\"
  kubectl get deployment web -o yaml | witlet plugin eval - --plugins plugins.yaml
  witlet plugin eval pods/*.yaml --plugins plugins.yaml --watch
  witlet plugin eval pod.yaml --component builtin:image-policy --config '{\"allow\": [\"*\"]}' -o json
  witlet plugin eval pod.yaml --node <(kubectl get node worker -o yaml) --others pods.yaml
  witlet plugin eval new.yaml --operation resize --old old.yaml
  witlet plugin eval pod.yaml --plugins plugins.yaml --operation image-resolved
  witlet plugin eval --recording call.json --plugins plugins.yaml";

/// Behind the help of `witlet plugin audit`.
pub(super) const AUDIT_HELP: &str = "Each pod that has not ended is judged as if it were new, next to the others, on the node as it is now. Nothing is ended, \
and the daemon receives only a request for its pods and its node.

Exit codes: 0 if all pods would be admitted, 5 if one wouldn't, 4 if a plugin is invalid, 3 if no agent answers, 1 if nothing could \
be asked.

Examples:
  witlet plugin audit --plugins next.yaml
  witlet plugin audit --plugins next.yaml --shipped=false -o json";

/// Who is asked.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Handlers")]
pub(crate) struct HandlerArgs {
    /// PluginConfiguration with the handlers to ask (default: the shipped handlers alone)
    #[arg(long, value_name = "FILE")]
    pub(crate) plugins: Option<PathBuf>,
    /// Ask the shipped handlers, too (default: true, but false where one handler alone is asked)
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) shipped: Option<bool>,
    /// Unsafe sysctls or patterns that pods may set, as the daemon's flag
    #[arg(long, value_name = "SYSCTL,…", value_delimiter = ',')]
    pub(crate) allowed_unsafe_sysctls: Vec<String>,
    /// Registry credentials in docker's config.json format (default: those of `docker login`)
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_credentials: Option<PathBuf>,
    /// Take data with `url` or `oci` from what an agent kept, and fetch none (`witlet/plugin-data` below its --root-dir)
    #[arg(long, value_name = "DIR", requires = "plugins")]
    pub(crate) kept_data: Option<PathBuf>,
    /// Compiled code of components
    #[command(flatten)]
    pub(crate) cache: ComponentCacheArgs,
}

/// `witlet plugin eval`
#[derive(Clone, Debug, Args)]
pub(crate) struct EvalArgs {
    /// Manifests to judge; `-` for standard input
    #[arg(value_name = "FILE", required_unless_present = "recording")]
    pub(crate) files: Vec<PathBuf>,
    /// Recorded calls of admission handlers, whose questions are asked instead; repeatable
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["files", "node", "others", "operation", "old", "now", "source", "ImageArgs"])]
    pub(crate) recording: Vec<PathBuf>,
    /// One component to ask: a file, `builtin:NAME`, or `oci://…`
    #[arg(long, value_name = "FILE", conflicts_with = "plugins", help_heading = "Handlers")]
    pub(crate) component: Option<String>,
    /// `config:` of --component: a file, or JSON
    #[arg(long, value_name = "FILE|JSON", requires = "component", help_heading = "Handlers")]
    pub(crate) config: Option<String>,
    /// `limits:` of --component or --expression
    #[arg(long, value_name = "JSON", help_heading = "Handlers", conflicts_with = "plugins")]
    pub(crate) limits: Option<String>,
    /// One CEL expression that pods must meet, evaluated by the shipped handler `cel`
    #[arg(
        long,
        value_name = "EXPR",
        conflicts_with_all = ["plugins", "component"],
        // An expression may begin with a minus sign.
        allow_hyphen_values = true,
        help_heading = "Handlers"
    )]
    pub(crate) expression: Option<String>,
    /// Message of a pod that doesn't meet --expression
    #[arg(long, value_name = "TEXT", requires = "expression", help_heading = "Handlers")]
    pub(crate) message: Option<String>,
    /// Who is asked
    #[command(flatten)]
    pub(crate) handlers: HandlerArgs,
    /// Ask all handlers, also those after the one that decided
    #[arg(long)]
    pub(crate) all: bool,
    /// The node: a Node object, or `{name, node, addresses, facts, …}` as case files have it
    #[arg(long, value_name = "FILE", help_heading = "Question")]
    pub(crate) node: Option<PathBuf>,
    /// Pods that are on the node already; those that have ended don't count
    #[arg(long, value_name = "FILE", help_heading = "Question")]
    pub(crate) others: Option<PathBuf>,
    /// What is asked
    #[arg(long, value_name = "OPERATION", default_value = "add", help_heading = "Question")]
    pub(crate) operation: OperationArg,
    /// The pods as they run, for --operation resize, update (which needs it) and ephemeral
    #[arg(long, value_name = "FILE", help_heading = "Question")]
    pub(crate) old: Option<PathBuf>,
    /// The image, for --operation image-resolved
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    /// Time of the question, such as 2026-01-02T03:04:05Z (default: now)
    #[arg(long, value_name = "TIME", help_heading = "Question")]
    pub(crate) now: Option<Timestamp>,
    /// Source that brings the pods: api, file, http, or a plugin (default: api, with --standalone file)
    #[arg(long, value_name = "NAME", help_heading = "Question")]
    pub(crate) source: Option<String>,
    /// The node has no API server, so that static pods are no system pods
    #[arg(long, help_heading = "Question")]
    pub(crate) standalone: bool,
    /// Judge again whenever one of the files changes, until the command is stopped
    #[arg(long)]
    pub(crate) watch: bool,
    /// Output format; wide has more of each handler
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}

/// The image that a container is to start from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Question")]
pub(crate) struct ImageArgs {
    /// The container that is to start, for --operation image-resolved (default: the only one)
    #[arg(long, value_name = "NAME")]
    pub(crate) container: Option<String>,
    /// Digest of the image on the node (default: that of the pod's image, if it has one)
    #[arg(long, value_name = "sha256:DIGEST", value_parser = image_digest)]
    pub(crate) image_digest: Option<String>,
    /// Bytes that the image has on the node (default: unknown)
    #[arg(long, value_name = "BYTES")]
    pub(crate) image_size_bytes: Option<u64>,
    /// Whose credentials opened the registry (default: unknown)
    #[arg(long, value_name = "WHOSE")]
    pub(crate) image_credentials: Option<CredentialsArg>,
}

fn image_digest(text: &str) -> Result<String, String> {
    if is_sha256(text) {
        return Ok(text.to_owned());
    }
    Err("expected `sha256:` and 64 lower-case hexadecimal digits".to_owned())
}

/// Whose credentials an image was pulled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CredentialsArg {
    /// The node's own, or none.
    Node,
    /// A pull secret's.
    Secret,
}

impl From<CredentialsArg> for CredentialOrigin {
    fn from(whose: CredentialsArg) -> Self {
        match whose {
            CredentialsArg::Node => Self::Node,
            CredentialsArg::Secret => Self::Secret,
        }
    }
}

/// Why admission is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperationArg {
    /// The pod is new to the node.
    Add,
    /// The pod runs, and asks for other resources.
    Resize,
    /// Images of the pod, which runs, were edited.
    Update,
    /// The pod, which runs, got ephemeral containers.
    Ephemeral,
    /// A container is to start, and its image is on the node.
    ImageResolved,
    /// The pod ran before the agent was started.
    Readmit,
    /// The pod runs, and is asked about again.
    Recheck,
}

impl From<OperationArg> for Operation {
    fn from(operation: OperationArg) -> Self {
        match operation {
            OperationArg::Add => Self::Add,
            OperationArg::Resize => Self::Resize,
            OperationArg::Update => Self::Update,
            OperationArg::Ephemeral => Self::Ephemeral,
            OperationArg::ImageResolved => Self::ImageResolved,
            OperationArg::Readmit => Self::Readmit,
            OperationArg::Recheck => Self::Recheck,
        }
    }
}

/// `witlet plugin audit`
#[derive(Clone, Debug, Args)]
pub(crate) struct AuditArgs {
    /// Who is asked
    #[command(flatten)]
    pub(crate) handlers: HandlerArgs,
    /// Show the pods that would be admitted, too
    #[arg(long)]
    pub(crate) all: bool,
    /// Socket of the daemon
    #[arg(long, value_name = "PATH", default_value = API_SOCKET)]
    pub(crate) api_socket: PathBuf,
    /// Output format; json and yaml have all pods and all handlers
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: OutputFormat,
}
