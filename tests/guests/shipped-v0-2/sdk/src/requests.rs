//! What the shipped handlers use of the SDK of 0.1, on the getters of 0.2.

use serde::de::DeserializeOwned;

use crate::bindings::witlet::admission::admission_types as wit;

/// A component that decides on pods, as in the SDK of 0.1.
pub trait AdmissionHandler {
    type Config: DeserializeOwned + 'static;

    fn validate(config: &Self::Config) -> Result<(), Error> {
        let _ = config;
        Ok(())
    }

    fn admit(request: &Request<'_>, config: &Self::Config) -> Result<Verdict, Error>;
}

#[derive(Debug)]
pub struct Error {
    pub field: String,
    pub problem: String,
}

impl Error {
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add,
    Resize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QosClass {
    Guaranteed,
    Burstable,
    BestEffort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerKind {
    Init,
    Sidecar,
    App,
    Ephemeral,
}

#[derive(Debug)]
pub struct Container {
    pub name: String,
    pub kind: ContainerKind,
}

#[derive(Debug)]
pub struct Quantity {
    pub resource: String,
    pub amount: i64,
}

#[derive(Debug, PartialEq, Eq)]
pub struct HostPort {
    pub ip: String,
    pub protocol: String,
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

#[derive(Debug)]
pub struct Condition {
    pub kind: String,
    pub status: String,
}

#[derive(Debug)]
pub struct Rejection {
    pub reason: String,
    pub message: String,
}

#[derive(Debug)]
pub struct Shortage {
    pub resource: String,
    pub requested: i64,
    pub used: i64,
    pub capacity: i64,
}

#[derive(Debug)]
pub enum Verdict {
    Admit,
    Reject(Rejection),
    Shortage(Vec<Shortage>),
}

impl Verdict {
    pub fn reject(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Reject(Rejection { reason: reason.into(), message: message.into() })
    }

    pub fn shortages(shortages: Vec<Shortage>) -> Self {
        if shortages.is_empty() { Self::Admit } else { Self::Shortage(shortages) }
    }
}

pub fn amount_of(quantities: &[Quantity], resource: &str) -> i64 {
    quantities.iter().find(|quantity| quantity.resource == resource).map_or(0, |quantity| quantity.amount)
}

#[derive(Debug)]
pub struct Request<'a>(&'a wit::Request);

impl<'a> Request<'a> {
    pub(crate) fn new(request: &'a wit::Request) -> Self {
        Self(request)
    }

    pub fn operation(&self) -> Operation {
        if self.0.operation() == "resize" { Operation::Resize } else { Operation::Add }
    }

    pub fn pod(&self) -> Pod {
        Pod(self.0.pod())
    }

    pub fn node(&self) -> Node {
        Node(self.0.node())
    }
}

#[derive(Debug)]
pub struct Pod(wit::Pod);

impl Pod {
    pub fn source(&self) -> String {
        self.0.source()
    }

    pub fn label(&self, key: &str) -> Option<String> {
        self.0.label(key)
    }

    pub fn annotations(&self) -> Vec<(String, String)> {
        self.0.annotations()
    }

    pub fn priority(&self) -> i32 {
        self.0.priority()
    }

    pub fn qos(&self) -> QosClass {
        match self.0.qos().as_str() {
            "Guaranteed" => QosClass::Guaranteed,
            "Burstable" => QosClass::Burstable,
            _ => QosClass::BestEffort,
        }
    }

    pub fn containers(&self) -> Vec<Container> {
        let kind = |word: &str| match word {
            "init" => ContainerKind::Init,
            "sidecar" => ContainerKind::Sidecar,
            "ephemeral" => ContainerKind::Ephemeral,
            _ => ContainerKind::App,
        };
        let containers = self.0.containers();
        containers.iter().map(|it| Container { name: it.name(), kind: kind(&it.kind()) }).collect()
    }

    pub fn requests(&self) -> Vec<Quantity> {
        let amounts = self.0.resources().into_iter();
        let amounts = amounts.filter_map(|name| self.0.request(&name).map(|amount| (name, amount)));
        amounts.map(|(resource, amount)| Quantity { resource, amount }).collect()
    }

    pub fn host_ports(&self) -> Vec<HostPort> {
        self.0.host_ports().iter().map(host_port).collect()
    }

    pub fn pointer(&self, path: &str) -> Option<String> {
        self.0.pointer(path)
    }

    pub fn at<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Error> {
        decode(self.pointer(path), path)
    }
}

#[derive(Debug)]
pub struct Node(wit::Node);

impl Node {
    pub fn name(&self) -> String {
        self.0.name()
    }

    pub fn labels(&self) -> Vec<(String, String)> {
        self.0.labels()
    }

    pub fn taints(&self) -> Vec<Taint> {
        let taint =
            |taint: &wit::Taint| Taint { key: taint.key(), value: taint.value(), effect: taint.effect() };
        self.0.taints().iter().map(taint).collect()
    }

    pub fn allocatable(&self) -> Vec<Quantity> {
        self.amounts(|node, name| node.allocatable(name))
    }

    pub fn requested(&self) -> Vec<Quantity> {
        self.amounts(|node, name| Some(node.requested(name)))
    }

    fn amounts(&self, of: impl Fn(&wit::Node, &str) -> Option<i64>) -> Vec<Quantity> {
        let names = self.0.resources().into_iter();
        let amounts = names.filter_map(|name| of(&self.0, &name).map(|amount| (name, amount)));
        amounts.map(|(resource, amount)| Quantity { resource, amount }).collect()
    }

    pub fn used_host_ports(&self) -> Vec<HostPort> {
        self.0.used_host_ports().iter().map(host_port).collect()
    }

    pub fn conditions(&self) -> Vec<Condition> {
        let condition = |it: &wit::Condition| Condition { kind: it.kind(), status: it.status() };
        self.0.conditions().iter().map(condition).collect()
    }

    pub fn fact(&self, key: &str) -> Option<String> {
        self.0.fact(key)
    }

    pub fn at<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Error> {
        decode(self.0.pointer(path), path)
    }
}

fn host_port(port: &wit::HostPort) -> HostPort {
    let ip = port.address().unwrap_or_else(|| "0.0.0.0".to_owned());
    HostPort { ip, protocol: port.protocol(), port: port.number() }
}

fn decode<T: DeserializeOwned>(text: Option<String>, path: &str) -> Result<Option<T>, Error> {
    let Some(text) = text else { return Ok(None) };
    serde_json::from_str(&text).map_err(|error| Error::invalid(path, error.to_string()))
}
