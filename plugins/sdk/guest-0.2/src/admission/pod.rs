//! A pod, its owners, its volumes and the ports that it takes on the host.

use std::fmt;

use super::backend;
use super::container::Container;
use super::image::Image;
use crate::QosClass;

/// A pod. Only what is asked for crosses into the component, again at every call: some hundred nanoseconds, and more for longer
/// answers.
///
/// ```
/// # use serde_json::json;
/// # use witlet_plugin_sdk_0_2::facts::RequestFacts;
/// let facts = RequestFacts::of(&json!({
///     "metadata": {"name": "web", "namespace": "shop", "labels": {"team": "red"}},
///     "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "1.5"}}}]},
/// }));
/// let pod = facts.request().pod();
/// assert_eq!(pod.label("team").as_deref(), Some("red"));
/// assert_eq!(pod.request("cpu"), Some(1_500));
/// ```
#[derive(Debug)]
pub struct Pod(pub(super) backend::Pod);

impl Pod {
    getters! {
        /// `metadata.namespace`
        namespace() -> String;
        /// `metadata.name`
        name() -> String;
        /// `metadata.uid`
        uid() -> String;
        /// The source that brought it: `file`, `http`, `api`, or a plugin's name.
        source() -> String;
        /// The value of a label.
        label(key: &str) -> Option<String>;
        /// `metadata.labels`, sorted by key.
        labels() -> Vec<(String, String)>;
        /// The value of an annotation.
        annotation(key: &str) -> Option<String>;
        /// `metadata.annotations`, sorted by key.
        annotations() -> Vec<(String, String)>;
        /// `spec.serviceAccountName`, or `default`.
        service_account() -> String;
        /// Whether a volume brings a token of its service account.
        has_service_account_token() -> bool;
        /// `spec.priority`, or 0.
        priority() -> i32;
        /// `spec.priorityClassName`; empty if it has none.
        priority_class() -> String;
        /// `spec.runtimeClassName`; empty if it has none.
        runtime_class() -> String;
        /// The handler of the container runtime that its class means on this node; empty for the runtime's default one, none of a class
        /// that isn't known.
        runtime_handler() -> Option<String>;
        /// Whether it shares the host's network.
        host_network() -> bool;
        /// Whether it sees the host's processes.
        host_pid() -> bool;
        /// Whether it shares the host's interprocess communication.
        host_ipc() -> bool;
        /// Whether its users are the host's: so unless the spec asks for a user namespace.
        host_users() -> bool;
        /// The names of resources that it counts for or is limited in, sorted; `pods` isn't among them.
        resources() -> Vec<String>;
        /// What it counts for on the node, by the rules of the scheduler.
        request(resource: &str) -> Option<i64>;
        /// What it is limited to, by the same rule.
        limit(resource: &str) -> Option<i64>;
        /// The whole pod as JSON text. Decoding it costs far more than the call: prefer getters and [`Pod::at`].
        json() -> String;
    }

    parts! {
        /// Who made it (`metadata.ownerReferences`).
        owners -> Owner;
        /// All containers: init containers and sidecars, app containers, ephemeral containers, each in the spec's order.
        containers -> Container;
        /// All images: of the containers in their order, then of volumes.
        images -> Image;
        /// All volumes, in the spec's order.
        volumes -> Volume;
        /// Ports that it takes on the host, in the spec's order.
        host_ports -> HostPort;
    }

    pointers! {}

    /// The owner that manages it.
    pub fn controller(&self) -> Option<Owner> {
        self.owners().find(Owner::is_controller)
    }

    /// Quality of service class.
    pub fn qos(&self) -> QosClass {
        self.0.qos().into()
    }
}

/// Who made a pod.
#[derive(Debug)]
pub struct Owner(pub(super) backend::Owner);

impl Owner {
    getters! {
        /// Such as `apps/v1`.
        api_version() -> String;
        /// Such as `ReplicaSet`.
        kind() -> String;
        /// Its name.
        name() -> String;
        /// Its UID.
        uid() -> String;
        /// Whether it is the one that manages the pod.
        is_controller() -> bool;
    }
}

/// A volume of a pod. Shows as `volume "data"` in messages.
#[derive(Debug)]
pub struct Volume(pub(super) backend::Volume);

impl Volume {
    getters! {
        /// Its name.
        name() -> String;
        /// The field of its source: `emptyDir`, `hostPath`, `image`, …; empty if it has none.
        kind() -> String;
        /// The path on the host, of a `hostPath`.
        host_path() -> Option<String>;
    }

    pointers! {}

    /// The image, of an `image`.
    pub fn image(&self) -> Option<Image> {
        self.0.image().map(Image)
    }
}

impl fmt::Display for Volume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "volume {:?}", self.name())
    }
}

/// A port that a pod takes on the host.
#[derive(Debug)]
pub struct HostPort(pub(super) backend::HostPort);

impl HostPort {
    getters! {
        /// None for every address of the host.
        address() -> Option<String>;
        /// `TCP`, `UDP` or `SCTP`.
        protocol() -> String;
        /// 1 to 65535.
        number() -> u16;
    }
}
