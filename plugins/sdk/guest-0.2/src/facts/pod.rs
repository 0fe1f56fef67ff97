//! A pod of a manifest.

use std::net::IpAddr;
use std::rc::Rc;

use serde_json::Value;

use super::amounts::{Amounts, is_sidecar, names, of_pod, qos};
use super::container::{Container, containers, protocol};
use super::image::Image;
use super::json::{items, pairs, pointer, text, word};

/// A pod in plain data: a manifest, and the source that brought it.
///
/// ```
/// # use serde_json::json;
/// # use witlet_plugin_sdk_0_2::facts::{PodFacts, RequestFacts};
/// let pod = PodFacts::of(&json!({"metadata": {"name": "web"}})).with_source("api");
/// let facts = RequestFacts { pod, ..RequestFacts::default() };
/// assert_eq!(facts.request().pod().source(), "api");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PodFacts {
    manifest: Rc<Value>,
    source: String,
    runtime_handler: Option<String>,
}

/// With nothing in its manifest.
impl Default for PodFacts {
    fn default() -> Self {
        Self::of(&Value::Null)
    }
}

impl PodFacts {
    /// The pod of a manifest, from the source `file`.
    pub fn of(manifest: &Value) -> Self {
        Self { manifest: Rc::new(manifest.clone()), source: "file".to_owned(), runtime_handler: None }
    }

    /// The same pod from another source.
    #[must_use]
    pub fn with_source(self, source: &str) -> Self {
        Self { source: source.to_owned(), ..self }
    }

    /// The same pod, whose runtime class means this handler on the node.
    #[must_use]
    pub fn with_runtime_handler(self, handler: &str) -> Self {
        Self { runtime_handler: Some(handler.to_owned()), ..self }
    }

    fn metadata(&self) -> &Value {
        &self.manifest["metadata"]
    }

    fn spec(&self) -> &Value {
        &self.manifest["spec"]
    }

    fn flag(&self, field: &str) -> bool {
        self.spec()[field].as_bool().unwrap_or_default()
    }

    pub(super) fn amounts(&self, part: &str) -> Amounts {
        of_pod(self.spec(), part)
    }

    pub(crate) fn namespace(&self) -> String {
        text(&self.metadata()["namespace"])
    }

    pub(crate) fn name(&self) -> String {
        text(&self.metadata()["name"])
    }

    pub(crate) fn uid(&self) -> String {
        text(&self.metadata()["uid"])
    }

    pub(crate) fn source(&self) -> String {
        self.source.clone()
    }

    pub(crate) fn label(&self, key: &str) -> Option<String> {
        self.metadata()["labels"][key].as_str().map(str::to_owned)
    }

    pub(crate) fn labels(&self) -> Vec<(String, String)> {
        pairs(&self.metadata()["labels"])
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<String> {
        self.metadata()["annotations"][key].as_str().map(str::to_owned)
    }

    pub(crate) fn annotations(&self) -> Vec<(String, String)> {
        pairs(&self.metadata()["annotations"])
    }

    pub(crate) fn owners(&self) -> Vec<Owner> {
        items(&self.metadata()["ownerReferences"]).iter().cloned().map(Owner).collect()
    }

    pub(crate) fn service_account(&self) -> String {
        word(&self.spec()["serviceAccountName"]).unwrap_or_else(|| "default".to_owned())
    }

    pub(crate) fn has_service_account_token(&self) -> bool {
        let volumes = items(&self.spec()["volumes"]).iter();
        let mut sources = volumes.flat_map(|volume| items(&volume["projected"]["sources"]));
        sources.any(|source| !source["serviceAccountToken"].is_null())
    }

    pub(crate) fn priority(&self) -> i32 {
        self.spec()["priority"].as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or_default()
    }

    pub(crate) fn priority_class(&self) -> String {
        text(&self.spec()["priorityClassName"])
    }

    pub(crate) fn runtime_class(&self) -> String {
        text(&self.spec()["runtimeClassName"])
    }

    pub(crate) fn runtime_handler(&self) -> Option<String> {
        let has_default = self.runtime_class().is_empty();
        if has_default { Some(String::new()) } else { self.runtime_handler.clone() }
    }

    pub(crate) fn qos(&self) -> String {
        qos(&self.manifest).to_owned()
    }

    pub(crate) fn host_network(&self) -> bool {
        self.flag("hostNetwork")
    }

    pub(crate) fn host_pid(&self) -> bool {
        self.flag("hostPID")
    }

    pub(crate) fn host_ipc(&self) -> bool {
        self.flag("hostIPC")
    }

    pub(crate) fn host_users(&self) -> bool {
        self.spec()["hostUsers"].as_bool().unwrap_or(true)
    }

    pub(crate) fn containers(&self) -> Vec<Container> {
        containers(&self.manifest)
    }

    pub(crate) fn images(&self) -> Vec<Image> {
        let of_containers = self.containers().into_iter().map(|container| container.image());
        of_containers.chain(self.volumes().iter().filter_map(Volume::image)).collect()
    }

    pub(crate) fn volumes(&self) -> Vec<Volume> {
        let volumes = items(&self.spec()["volumes"]).iter().cloned().enumerate();
        volumes.map(|(index, spec)| Volume { index, spec }).collect()
    }

    pub(crate) fn resources(&self) -> Vec<String> {
        names([&self.amounts("requests"), &self.amounts("limits")])
    }

    pub(crate) fn request(&self, resource: &str) -> Option<i64> {
        self.amounts("requests").get(resource).copied()
    }

    pub(crate) fn limit(&self, resource: &str) -> Option<i64> {
        self.amounts("limits").get(resource).copied()
    }

    pub(crate) fn host_ports(&self) -> Vec<HostPort> {
        let on_host = self.host_network();
        let sidecars = items(&self.spec()["initContainers"]).iter().filter(|container| is_sidecar(container));
        let containers = items(&self.spec()["containers"]).iter().chain(sidecars);
        let ports = containers.flat_map(|container| items(&container["ports"]));
        let taken = |port: &Value| {
            let number = match port["hostPort"].as_i64() {
                None | Some(0) if on_host => port["containerPort"].as_i64(),
                None | Some(0) => None,
                Some(number) => Some(number),
            };
            let address = port["hostIP"].as_str().and_then(|address| address.parse::<IpAddr>().ok());
            Some(HostPort {
                address: address.filter(|address| !address.is_unspecified()),
                protocol: protocol(&port["protocol"]),
                number: u16::try_from(number?).ok()?,
            })
        };
        ports.filter_map(taken).collect()
    }

    pub(crate) fn json(&self) -> String {
        self.manifest.to_string()
    }

    pub(crate) fn pointer(&self, path: &str) -> Option<String> {
        pointer(&self.manifest, path)
    }
}

/// Who made a pod.
#[derive(Clone, Debug)]
pub(crate) struct Owner(Value);

impl Owner {
    pub(crate) fn api_version(&self) -> String {
        text(&self.0["apiVersion"])
    }

    pub(crate) fn kind(&self) -> String {
        text(&self.0["kind"])
    }

    pub(crate) fn name(&self) -> String {
        text(&self.0["name"])
    }

    pub(crate) fn uid(&self) -> String {
        text(&self.0["uid"])
    }

    pub(crate) fn is_controller(&self) -> bool {
        self.0["controller"].as_bool().unwrap_or_default()
    }
}

/// A volume of a pod.
#[derive(Clone, Debug)]
pub(crate) struct Volume {
    index: usize,
    spec: Value,
}

impl Volume {
    pub(crate) fn name(&self) -> String {
        text(&self.spec["name"])
    }

    pub(crate) fn kind(&self) -> String {
        let fields = self.spec.as_object().into_iter().flatten();
        let mut kinds = fields.filter(|(name, value)| *name != "name" && !value.is_null());
        kinds.next().map(|(name, _)| name.clone()).unwrap_or_default()
    }

    pub(crate) fn host_path(&self) -> Option<String> {
        self.spec["hostPath"]["path"].as_str().map(str::to_owned)
    }

    pub(crate) fn image(&self) -> Option<Image> {
        let image = &self.spec["image"];
        let place = format!("spec.volumes[{}].image.reference", self.index);
        image.is_object().then(|| Image::new(text(&image["reference"]), place))
    }

    pub(crate) fn pointer(&self, path: &str) -> Option<String> {
        pointer(&self.spec, path)
    }
}

/// A port that a pod takes on the host.
#[derive(Clone, Debug)]
pub(crate) struct HostPort {
    address: Option<IpAddr>,
    protocol: String,
    number: u16,
}

impl HostPort {
    pub(crate) fn address(&self) -> Option<String> {
        self.address.map(|address| address.to_string())
    }

    pub(crate) fn protocol(&self) -> String {
        self.protocol.clone()
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}
