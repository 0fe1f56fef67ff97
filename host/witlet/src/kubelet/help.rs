//! `kubelet --help`: every flag, what it takes, and whether it does something.

use super::configuration::fields::{FieldSupport, Kind, field};
use super::flags::table::{CURRENT, DEPRECATED, FLAGS, Flag, Own, Target};

const INTRODUCTION: &str =
    "witlet in the kubelet's place: a node of a Kubernetes cluster. It takes the kubelet's flags and its \
KubeletConfiguration.

Usage:
  kubelet [flags]

Flags:
";

const END: &str = "
Values that are not set have the defaults of KubeletConfiguration, also without --config. Durations have units: 300ms, 10s, 1m30s.
Flags marked * have no effect in this release; the log names those that are set. Flags marked DEPRECATED are
deprecated upstream: set the field in the file of --config instead. --api-socket, --plugin-sets, --plugins,
--readmit-on-restart, --registry-credentials, --runtime-classes and --stop-pods-on-exit are witlet's own.
";

/// Returns what `--help` prints.
pub(super) fn text() -> String {
    let lines = FLAGS.iter().map(line);
    INTRODUCTION.to_owned() + &lines.collect::<String>() + END
}

fn line(flag: &Flag) -> String {
    let mark = if acts(flag) { ' ' } else { '*' };
    let names = if flag.name == "v" { "-v, --v".to_owned() } else { format!("    --{}", flag.name) };
    let means = match flag.target {
        Target::Field(path) => format!("sets {path}"),
        Target::Own(own) => meaning(own).to_owned(),
        Target::NotYet(_) => String::new(),
        Target::Nothing => "no effect".to_owned(),
    };
    let flag_and_value = format!("{names} {}", takes(flag.kind));
    let text = format!("{mark} {:<62} {means}", flag_and_value.trim_end());
    let deprecated = if is_deprecated(flag) { " (DEPRECATED)" } else { "" };
    text.trim_end().to_owned() + deprecated + "\n"
}

/// Whether upstream marks the flag so: all that stand for a field or come from cAdvisor, and few others.
fn is_deprecated(flag: &Flag) -> bool {
    match flag.target {
        Target::Own(_) => DEPRECATED.iter().any(|(name, _)| *name == flag.name),
        _ => !CURRENT.contains(&flag.name),
    }
}

/// Returns what a flag says that no field says.
fn meaning(own: Own) -> &'static str {
    match own {
        Own::AllocatableIgnoreEviction => "leaves hard eviction thresholds out of allocatable",
        Own::ApiSocket => "socket of witlet's local API (default /run/witlet/witlet.sock)",
        Own::BootstrapKubeconfig => {
            "kubeconfig for requesting a client certificate while there is no --kubeconfig"
        }
        Own::CertDir => "folder for the node's certificates (default pki in --root-dir)",
        Own::CloudProvider => "external: the node waits for the cloud controller manager",
        Own::Config => "file with a KubeletConfiguration",
        Own::ConfigDir => "folder of *.conf files that override --config",
        Own::Help => "help for kubelet",
        Own::HostnameOverride => "name of the node (default the host name in lower case)",
        Own::Kubeconfig => "kubeconfig for the API server; without it the node runs by itself",
        Own::MaximumDeadContainers => {
            "maximum number of dead containers on the node; negative for no limit (default -1)"
        }
        Own::MaximumDeadContainersPerContainer => {
            "maximum number of dead instances of a container; negative for no limit (default 1)"
        }
        Own::MinimumContainerTtlDuration => {
            "minimum age of a dead container before it is removed (default 0s)"
        }
        Own::NodeIp => "IP address of the node, or one of each family (default the machine's address)",
        Own::NodeLabels => "labels to register the node with",
        Own::PluginSets => {
            "PluginSetPolicy file: which sets of plugins the annotation witlet.dev/plugin-set of the node may choose"
        }
        Own::Plugins => "PluginConfiguration file; reloaded when it changes",
        Own::ReadmitOnRestart => "admit pods again that were admitted before a restart",
        Own::RegistryCredentials => "registry credentials in docker's config.json format",
        Own::RootDir => "folder for the agent's own files (default /var/lib/kubelet)",
        Own::RuntimeCgroups => "cgroup of the container runtime, shown in /stats/summary",
        Own::RuntimeClasses => "runtime handlers by RuntimeClass name",
        Own::StopPodsOnExit => "stop all pods when the agent stops",
        Own::Version => "print the version; true or raw",
    }
}

fn acts(flag: &Flag) -> bool {
    match flag.target {
        Target::Own(_) => true,
        Target::Field(path) => field(path).is_some_and(|field| !matches!(field.fate, FieldSupport::Fixed(_))),
        Target::NotYet(_) => false,
        Target::Nothing => true,
    }
}

fn takes(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "",
        Kind::Int => "int",
        Kind::Verbosity => "Level",
        Kind::FilePatterns => "pattern=N,...",
        Kind::Quantity => "quantity",
        Kind::Float => "float",
        Kind::Text | Kind::Any => "string",
        Kind::Duration | Kind::Period => "duration",
        Kind::Texts => "strings",
        Kind::Ints => "ints",
        Kind::TextMap => "key=value,…",
        Kind::BoolMap => "key=True|False,…",
        Kind::TextsMap => "key:value,…",
        Kind::Taints => "key=value:effect,…",
        Kind::Maps(_) => "",
    }
}
