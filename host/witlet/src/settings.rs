//! What the agent is to do, whichever command line said it: `witlet run` and the kubelet's lead here.

pub(crate) mod from_args;
pub(crate) mod plugin_sets;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::core::v1::Taint;
use serde_json::Value;
use witlet_agent::{CgroupSettings, ImagePullLimits, LogLimits};
use witlet_core::container::gc::GcPolicy;
use witlet_core::eviction::EvictionConfig;
use witlet_core::image::gc::ImageGcPolicy;
use witlet_core::image::records::VerificationPolicy;
use witlet_core::node::allocatable::Reservations;
use witlet_core::runtime::CgroupDriver;
use witlet_core::stats::system_containers::NamedCgroups;
use witlet_core::trace::endpoint::{CollectorEndpoint, CollectorEndpointError};
use witlet_node::ManifestUrl;
use witlet_server::EndpointSwitches;

/// Everything that `run` needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) node: NodeSettings,
    /// Where the agent keeps things.
    pub(crate) folders: Folders,
    /// Pods next to those of an API server.
    pub(crate) manifests: Manifests,
    pub(crate) runtime: RuntimeSettings,
    /// What pods get of this machine.
    pub(crate) pods: PodSettings,
    /// Cgroups of the node and of pods; what the machine says is added at the start.
    pub(crate) cgroups: CgroupSettings,
    /// CPUs that are reserved for the system, in the kernel's list form (`reservedSystemCPUs`).
    pub(crate) reserved_cpus: Option<String>,
    /// When pods are evicted.
    pub(crate) eviction: EvictionConfig,
    pub(crate) plugins: Option<PathBuf>,
    /// PluginSetPolicy: which sets of plugins an annotation of the node may choose.
    pub(crate) plugin_sets: Option<PathBuf>,
    /// Socket of the local API.
    pub(crate) api_socket: PathBuf,
    /// Whether admitted pods are judged again after a restart.
    pub(crate) readmit_on_restart: bool,
    /// Whether pods end with the agent.
    pub(crate) stop_pods_on_exit: bool,
    /// How often a pod is checked without any reason.
    pub(crate) resync: Duration,
    /// The API server, if the node is part of a cluster.
    pub(crate) cluster: Option<ClusterSettings>,
    /// The endpoints that the API server calls, if they are on.
    pub(crate) server: Option<ServerSettings>,
    /// Where `/healthz` answers without TLS, if anywhere.
    pub(crate) healthz: Option<SocketAddr>,
    /// Where what may be read is answered without TLS to all clients, if anywhere.
    pub(crate) read_only: Option<SocketAddr>,
    /// The score that the kernel's out-of-memory killer gives this process; as it is, if none.
    pub(crate) oom_score: Option<i32>,
    /// Feature gates, for handlers that check some.
    pub(crate) feature_gates: BTreeMap<String, bool>,
    /// Spans to a collector, if they are configured.
    pub(crate) tracing: Option<TracingSettings>,
    /// What `/configz` shows.
    pub(crate) configz: Value,
    /// What `/flagz` shows: the values of flags by their names.
    pub(crate) flags: BTreeMap<String, String>,
}

impl Settings {
    /// Cgroups of the node's processes that are shown next to those of pods.
    pub(crate) fn named_cgroups(&self) -> NamedCgroups {
        NamedCgroups { runtime: self.runtime.cgroup.clone(), misc: self.cgroups.system_processes.clone() }
    }
}

/// The node itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NodeSettings {
    /// Name in place of the host's.
    pub(crate) name: Option<String>,
    /// Labels next to those that every node has.
    pub(crate) labels: BTreeMap<String, String>,
    /// How many pods it takes.
    pub(crate) max_pods: u32,
    /// How many pods it takes per CPU; 0 is no such limit.
    pub(crate) pods_per_core: u32,
    /// What isn't for pods.
    pub(crate) reserved: Reservations,
    /// Its addresses, if the machine's own aren't meant; at most one of each family.
    pub(crate) ips: Vec<IpAddr>,
}

/// Folders of the agent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folders {
    /// The agent's own files, volumes of pods among them.
    pub(crate) root: PathBuf,
    pub(crate) pod_logs: PathBuf,
    /// Links to the logs of all containers.
    pub(crate) container_logs: PathBuf,
    /// Where relative `file:` images of the embedded runtime are looked up.
    pub(crate) images: PathBuf,
    /// Compiled code of components, of plugins and of the embedded runtime's workloads; none is below `root`.
    pub(crate) component_cache: Option<PathBuf>,
}

/// Sources on the node.
#[derive(Clone, Debug)]
pub(crate) struct Manifests {
    /// File or folder; none is no such source.
    pub(crate) path: Option<PathBuf>,
    /// How often it is listed.
    pub(crate) path_period: Duration,
    pub(crate) url: Option<ManifestUrl>,
    /// How often it is asked.
    pub(crate) url_period: Duration,
}

/// The container runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuntimeSettings {
    /// Its CRI socket, or `embedded`.
    pub(crate) endpoint: String,
    /// Another socket for images.
    pub(crate) image_endpoint: Option<String>,
    /// How long a call may take that has no deadline of its own.
    pub(crate) request_timeout: Duration,
    /// Who makes cgroups, if the runtime doesn't say.
    pub(crate) cgroup_driver: CgroupDriver,
    /// The cgroup that it is in, if that is to be shown.
    pub(crate) cgroup: Option<String>,
}

/// What pods get of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodSettings {
    /// What the resolv.conf of pods is made from.
    pub(crate) resolv_conf: Option<PathBuf>,
    /// Name servers of the cluster.
    pub(crate) cluster_dns: Vec<IpAddr>,
    /// Domain of the cluster.
    pub(crate) cluster_domain: String,
    /// Handlers of the runtime by runtime classes, where no API server knows them.
    pub(crate) runtime_classes: BTreeMap<String, String>,
    /// Kernel parameters beyond the safe ones.
    pub(crate) allowed_unsafe_sysctls: Vec<String>,
    /// Whether containers without a seccomp profile get the runtime's.
    pub(crate) seccomp_default: bool,
    /// Docker configuration with credentials for registries.
    pub(crate) registry_credentials: Option<PathBuf>,
    /// How images are fetched.
    pub(crate) image_pulls: ImagePullLimits,
    /// For which images that are there already a pod has to show credentials.
    pub(crate) image_verification: VerificationPolicy,
    /// When images that nothing uses are removed.
    pub(crate) image_gc: ImageGcPolicy,
    /// How large logs get.
    pub(crate) logs: LogLimits,
    /// How many dead containers are kept.
    pub(crate) container_gc: GcPolicy,
}

/// The API server, and what the node says it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClusterSettings {
    /// How to reach it; made by the bootstrap if that is given.
    pub(crate) kubeconfig: PathBuf,
    /// How to ask it for a certificate while there is none.
    pub(crate) bootstrap_kubeconfig: Option<PathBuf>,
    pub(crate) cert_dir: PathBuf,
    /// Whether the client certificate is renewed.
    pub(crate) rotate_certificates: bool,
    /// Requests a second; 0 and less are no limit.
    pub(crate) qps: i32,
    /// Requests at once after a while without any.
    pub(crate) burst: u32,
    /// Events a second; 0 is no limit.
    pub(crate) event_qps: u32,
    /// Events at once after a while without any.
    pub(crate) event_burst: u32,
    /// Whether the node registers itself.
    pub(crate) register: bool,
    /// Taints that it registers with.
    pub(crate) taints: Vec<Taint>,
    /// How often the node's status is checked.
    pub(crate) status_update: Duration,
    /// How often it is reported although nothing changed.
    pub(crate) status_report: Duration,
    /// How many images it names; none is all.
    pub(crate) images_max: Option<usize>,
    /// How long the lease lasts.
    pub(crate) lease: Duration,
    /// What the cloud calls this machine.
    pub(crate) provider_id: Option<String>,
    /// Whether a cloud controller fills in addresses and removes its taint (`--cloud-provider=external`).
    pub(crate) external_cloud: bool,
}

/// The endpoints that the API server and kubectl need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerSettings {
    pub(crate) address: SocketAddr,
    /// Certificate and key; made in `cert_dir` if none.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    pub(crate) cert_dir: PathBuf,
    /// Authorities whose client certificates count.
    pub(crate) client_ca: Option<PathBuf>,
    /// Whether someone without credentials is `system:anonymous` and not refused at once.
    pub(crate) anonymous: bool,
    /// Whether bearer tokens are put to the API server.
    pub(crate) token_webhook: bool,
    /// Who decides what an identity may do.
    pub(crate) authorization: Authorization,
    /// Whether logs, exec, attach, port-forward and run answer.
    pub(crate) debugging: bool,
    /// Endpoints that are switched off one by one.
    pub(crate) switches: EndpointSwitches,
    /// Whether TLS 1.2 is refused.
    pub(crate) only_tls13: bool,
    /// A stream on which nothing moves for so long ends.
    pub(crate) streaming_idle: Duration,
    /// How often pods' volumes are measured; none if never.
    pub(crate) volume_stats_period: Option<Duration>,
}

/// Where spans go, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TracingSettings {
    /// The collector; an error is no reason not to start.
    pub(crate) endpoint: Result<CollectorEndpoint, CollectorEndpointError>,
    /// Of traces that begin here, at most a million.
    pub(crate) sampling_rate_per_million: u32,
}

/// Who decides what an identity may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authorization {
    /// Anyone who is known may do everything.
    AlwaysAllow,
    /// The API server is asked.
    Webhook,
}
