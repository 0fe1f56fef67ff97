//! `kubelet --help`: every flag, what it takes, and whether it does something.

use super::configuration::fields::{Fate, Kind, field};
use super::flags::table::{FLAGS, Flag, Own, Target};

const INTRODUCTION: &str =
    "witlet in the kubelet's place: a node of a Kubernetes cluster. It takes the kubelet's flags and its \
KubeletConfiguration.

Usage:
  kubelet [flags]

Flags:
";

const END: &str = "
What nothing sets has the default of KubeletConfiguration, also without --config. Durations have units: 300ms, 10s, 1m30s.
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
        Target::Own(own) => meaning(own).to_owned(),
        Target::NotYet(_) => String::new(),
        Target::Nothing => "changes nothing".to_owned(),
    };
    let text = format!("{mark} {:<62} {means}", format!("{names} {}", takes(flag.kind)).trim_end());
    text.trim_end().to_owned() + "\n"
}

/// What a flag says that no field says.
fn meaning(own: Own) -> &'static str {
    match own {
        Own::AllocatableIgnoreEviction => "leaves hard eviction thresholds out of allocatable",
        Own::ApiSocket => "socket of witlet's local API (default /run/witlet/witlet.sock)",
        Own::BootstrapKubeconfig => "how to ask for a certificate while there is no kubeconfig",
        Own::CertDir => "folder for the node's certificates (default pki in --root-dir)",
        Own::CloudProvider => "external: the node waits for its cloud's controller",
        Own::Config => "file with a KubeletConfiguration",
        Own::ConfigDir => "folder of *.conf files that win over --config",
        Own::Help => "prints this",
        Own::HostnameOverride => "the node's name (default the host's, in lower case)",
        Own::Kubeconfig => "how to reach the API server; without it the node stands alone",
        Own::MaximumDeadContainers => {
            "dead containers that are kept in all; negative: any number (default -1)"
        }
        Own::MaximumDeadContainersPerContainer => {
            "dead instances that are kept of each container; negative: any number (default 1)"
        }
        Own::MinimumContainerTtlDuration => "dead containers are kept at least so long (default 0s)",
        Own::NodeIp => "addresses of the node, one or one of each family (default the machine's)",
        Own::NodeLabels => "labels that the node is registered with",
        Own::Plugins => "file with a PluginConfiguration, reloaded whenever it changes",
        Own::ReadmitOnRestart => "asks admission handlers again for pods that were admitted before",
        Own::RegistryCredentials => "credentials for registries, as docker's config.json",
        Own::RootDir => "folder for the agent's own files (default /var/lib/kubelet)",
        Own::RuntimeClasses => "handlers of the runtime by the names of runtime classes",
        Own::StopPodsOnExit => "stops all pods when the agent is asked to stop",
        Own::Version => "prints the version; true or raw",
    }
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
