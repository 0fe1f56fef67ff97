//! Targets of probes in plain data.

pub(crate) mod connection;

use std::cell::RefCell;
use std::time::Duration;

use serde_json::Value;

use super::{Check, Ended, ProbeType, Setup, Target};
use crate::facts::json;
use crate::{Error, ProbeKind};

/// What is probed, in plain data: the first container of a manifest, for readiness, with ten seconds, at no address.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetFacts {
    /// The pod's manifest.
    pub manifest: Value,
    /// Name of the container.
    pub container: String,
    /// Its id at the runtime.
    pub container_id: String,
    /// How often it was restarted.
    pub restarts: u32,
    /// The pod's addresses.
    pub addresses: Vec<String>,
    /// The node's addresses.
    pub host_addresses: Vec<String>,
    /// Which probe runs.
    pub kind: ProbeKind,
    /// How long the probe has altogether.
    pub timeout: Duration,
    /// How long it still has; it doesn't get less by itself.
    pub remaining: Duration,
    /// What commands come to. The runtime can't run one that isn't here.
    pub commands: Vec<(Vec<String>, Result<Ended, Error>)>,
}

impl TargetFacts {
    /// The first container of a manifest.
    pub fn of(manifest: &Value) -> Self {
        Self {
            manifest: manifest.clone(),
            container: json::text(&manifest["spec"]["containers"][0]["name"]),
            container_id: "id".to_owned(),
            restarts: 0,
            addresses: Vec::new(),
            host_addresses: Vec::new(),
            kind: ProbeKind::Readiness,
            timeout: Duration::from_secs(10),
            remaining: Duration::from_secs(10),
            commands: Vec::new(),
        }
    }

    /// The same of a pod at this address.
    #[must_use]
    pub fn at(mut self, address: &str) -> Self {
        self.addresses.push(address.to_owned());
        self
    }

    /// The same, where this command comes to that.
    #[must_use]
    pub fn running(mut self, command: &[String], ended: Result<Ended, Error>) -> Self {
        self.commands.push((command.to_vec(), ended));
        self
    }

    /// The target as a probe type takes it.
    pub fn target(&self) -> Target<'_> {
        Target::new(self)
    }

    pub(crate) fn pod(&self) -> PodView {
        PodView {
            manifest: self.manifest.clone(),
            addresses: self.addresses.clone(),
            host_addresses: self.host_addresses.clone(),
        }
    }

    pub(crate) fn container(&self) -> ContainerView {
        let spec = &self.manifest["spec"];
        let lists = [&spec["containers"], &spec["initContainers"]];
        let mut all = lists.into_iter().flat_map(json::items);
        let found = all.find(|container| json::text(&container["name"]) == self.container);
        ContainerView {
            name: self.container.clone(),
            id: self.container_id.clone(),
            restarts: self.restarts,
            spec: found.cloned().unwrap_or_default(),
        }
    }

    pub(crate) fn kind(&self) -> String {
        self.kind.as_str().to_owned()
    }

    pub(crate) fn timeout_milliseconds(&self) -> u64 {
        u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn remaining_milliseconds(&self) -> u64 {
        u64::try_from(self.remaining.as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn open(&self, host: &str, port: u16) -> Result<connection::Connection, Error> {
        connection::Connection::open(host, port, self.remaining)
    }

    pub(crate) fn exec(&self, command: &[String]) -> Result<Ended, Error> {
        let known = self.commands.iter().find(|(known, _)| known == command);
        known.map_or_else(
            || Err(Error::new("Failed", format!("{command:?} isn't among the facts"))),
            |(_, ended)| ended.clone(),
        )
    }
}

/// The pod that is probed.
#[derive(Debug)]
pub(crate) struct PodView {
    manifest: Value,
    addresses: Vec<String>,
    host_addresses: Vec<String>,
}

impl PodView {
    fn metadata(&self, key: &str) -> &Value {
        &self.manifest["metadata"][key]
    }

    pub(crate) fn namespace(&self) -> String {
        json::text(self.metadata("namespace"))
    }

    pub(crate) fn name(&self) -> String {
        json::text(self.metadata("name"))
    }

    pub(crate) fn uid(&self) -> String {
        json::text(self.metadata("uid"))
    }

    pub(crate) fn label(&self, key: &str) -> Option<String> {
        self.metadata("labels")[key].as_str().map(str::to_owned)
    }

    pub(crate) fn labels(&self) -> Vec<(String, String)> {
        json::pairs(self.metadata("labels"))
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<String> {
        self.metadata("annotations")[key].as_str().map(str::to_owned)
    }

    pub(crate) fn annotations(&self) -> Vec<(String, String)> {
        json::pairs(self.metadata("annotations"))
    }

    pub(crate) fn addresses(&self) -> Vec<String> {
        self.addresses.clone()
    }

    pub(crate) fn host_addresses(&self) -> Vec<String> {
        self.host_addresses.clone()
    }

    pub(crate) fn host_network(&self) -> bool {
        self.manifest["spec"]["hostNetwork"].as_bool().unwrap_or(false)
    }

    pub(crate) fn json(&self) -> String {
        self.manifest.to_string()
    }

    pub(crate) fn pointer(&self, path: &str) -> Option<String> {
        json::pointer(&self.manifest, path)
    }
}

/// The container that is probed.
#[derive(Debug)]
pub(crate) struct ContainerView {
    name: String,
    id: String,
    restarts: u32,
    spec: Value,
}

impl ContainerView {
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    pub(crate) fn id(&self) -> String {
        self.id.clone()
    }

    pub(crate) fn restarts(&self) -> u32 {
        self.restarts
    }

    pub(crate) fn image(&self) -> String {
        json::text(&self.spec["image"])
    }

    pub(crate) fn ports(&self) -> Vec<PortView> {
        json::items(&self.spec["ports"]).iter().cloned().map(PortView).collect()
    }

    pub(crate) fn port(&self, name: &str) -> Option<u16> {
        self.ports().into_iter().find(|port| port.name() == name).map(|port| port.number())
    }

    pub(crate) fn pointer(&self, path: &str) -> Option<String> {
        json::pointer(&self.spec, path).filter(|found| found != "null")
    }
}

/// A port of it.
#[derive(Debug)]
pub(crate) struct PortView(Value);

impl PortView {
    pub(crate) fn name(&self) -> String {
        json::text(&self.0["name"])
    }

    pub(crate) fn number(&self) -> u16 {
        self.0["containerPort"].as_u64().and_then(|number| u16::try_from(number).ok()).unwrap_or(0)
    }

    pub(crate) fn protocol(&self) -> String {
        json::word(&self.0["protocol"]).unwrap_or_else(|| "TCP".to_owned())
    }
}

/// What a probe type warned of.
#[derive(Debug, Default)]
pub(crate) struct WarningFacts(RefCell<Vec<String>>);

impl WarningFacts {
    pub(crate) fn warn(&self, message: &str) {
        self.0.borrow_mut().push(message.to_owned());
    }
}

/// Loads a probe type as the host does, and returns what it warned of.
///
/// # Errors
/// When it refuses its configuration.
pub fn validate_probe_type(probe_type: &impl ProbeType) -> Result<Vec<String>, Error> {
    let facts = WarningFacts::default();
    probe_type.validate(&Setup::new(&facts))?;
    Ok(facts.0.into_inner())
}

/// Asks a probe type about parameters as the host does, and returns what it warned of.
///
/// # Errors
/// When they don't decode, or it refuses them.
pub fn check_parameters<P: ProbeType>(probe_type: &P, parameters: &Value) -> Result<Vec<String>, Error> {
    let facts = WarningFacts::default();
    let parameters = crate::error::parameters(&parameters.to_string())?;
    probe_type.check_parameters(&parameters, &Check::new(&facts))?;
    Ok(facts.0.into_inner())
}
