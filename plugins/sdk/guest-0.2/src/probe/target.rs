//! What is probed.

use std::time::Duration;

use super::{Connection, Ended, backend};
use crate::time::Deadline;
use crate::{Error, ProbeKind};

/// What is probed. It is valid during the call only, and only what is asked for crosses into the component, again at every call.
///
/// ```
/// # use serde_json::json;
/// # use std::time::Duration;
/// # use witlet_plugin_sdk_0_2::ProbeKind;
/// # use witlet_plugin_sdk_0_2::facts::TargetFacts;
/// let containers = json!([{"name": "app", "ports": [{"name": "web", "containerPort": 8080}]}]);
/// let facts = TargetFacts::of(&json!({"spec": {"containers": containers}})).at("10.0.0.7");
/// let target = facts.target();
/// assert_eq!((target.kind(), target.pod().address()?), (ProbeKind::Readiness, "10.0.0.7".to_owned()));
/// assert_eq!(target.container().port("web"), Some(8080));
/// assert!(target.deadline().left() <= Duration::from_secs(10));
/// # Ok::<(), witlet_plugin_sdk_0_2::Error>(())
/// ```
#[derive(Debug)]
pub struct Target<'a>(&'a backend::Target);

impl<'a> Target<'a> {
    pub(super) fn new(target: &'a backend::Target) -> Self {
        Self(target)
    }

    /// Its pod.
    pub fn pod(&self) -> Pod {
        Pod(self.0.pod())
    }

    /// The container.
    pub fn container(&self) -> Container {
        Container(self.0.container())
    }

    /// Which of the container's probes runs.
    pub fn kind(&self) -> ProbeKind {
        self.0.kind().into()
    }

    /// How long the probe has altogether.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.0.timeout_milliseconds())
    }

    /// How long it still has. A probe that still waits for something then counts as failed, whatever it says.
    pub fn remaining(&self) -> Duration {
        Duration::from_millis(self.0.remaining_milliseconds())
    }

    /// When the probe's time is over.
    pub fn deadline(&self) -> Deadline {
        Deadline::after(self.remaining())
    }

    /// The host that the parameters name, or else the pod's primary address, as upstream has it for its own probe types.
    ///
    /// # Errors
    /// With the code `NoAddress` if they name none, and the pod has none.
    pub fn host_or_address(&self, host: Option<&str>) -> Result<String, Error> {
        match host.filter(|host| !host.is_empty()) {
            Some(host) => Ok(host.to_owned()),
            None => self.pod().address(),
        }
    }

    /// Connects to an address or a name that the grant `network` opens, by the host: what TLS on a protocol of its own needs. Without TLS
    /// [`net`](crate::net) does, too.
    ///
    /// # Errors
    /// With the code `NotGranted`, `Refused`, `Unreachable`, `NoSuchName`, `TimedOut`, …
    pub fn open(&self, host: &str, port: u16) -> Result<Connection, Error> {
        #[cfg(target_family = "wasm")]
        let opened = super::bindings::witlet::probe::connections::open(self.0, host, port)?;
        #[cfg(not(target_family = "wasm"))]
        let opened = self.0.open(host, port)?;
        Ok(Connection(opened))
    }

    /// Connects to a port of the loopback interface of the pod, in its own network. A component that uses it needs the network grant
    /// `pod-loopback`.
    ///
    /// # Errors
    /// With the code `NotGranted`, `Refused`, `NoNetwork` (the pod has no network of its own), `TimedOut`, …
    pub fn open_loopback(&self, port: u16) -> Result<Connection, Error> {
        #[cfg(target_family = "wasm")]
        let opened = super::bindings::witlet::probe::connections::open_loopback(self.0, port)?;
        #[cfg(not(target_family = "wasm"))]
        let opened = self.0.open("127.0.0.1", port)?;
        Ok(Connection(opened))
    }

    /// Runs a command in the container, without a shell, for as long as the probe has time left. A component that uses it
    /// needs the grant `exec`.
    ///
    /// # Errors
    /// With the code `TimedOut` when it ran out of the probe's time and was killed, `Failed` when the runtime couldn't run it.
    pub fn exec(&self, command: &[String]) -> Result<Ended, Error> {
        #[cfg(target_family = "wasm")]
        {
            let ended = super::bindings::witlet::probe::exec::run(self.0, command)?;
            let (output, error_output) = (ended.output(), ended.error_output());
            Ok(Ended { exit_code: ended.exit_code(), output, error_output })
        }
        #[cfg(not(target_family = "wasm"))]
        self.0.exec(command)
    }
}

/// The pod that is probed.
#[derive(Debug)]
pub struct Pod(backend::Pod);

impl Pod {
    getters! {
        /// `metadata.namespace`
        namespace() -> String;
        /// `metadata.name`
        name() -> String;
        /// `metadata.uid`
        uid() -> String;
        /// The value of a label.
        label(key: &str) -> Option<String>;
        /// Sorted by key.
        labels() -> Vec<(String, String)>;
        /// The value of an annotation.
        annotation(key: &str) -> Option<String>;
        /// Sorted by key.
        annotations() -> Vec<(String, String)>;
        /// Its addresses, the primary one first; empty while it has none.
        addresses() -> Vec<String>;
        /// The node's addresses as the pod reports them, the primary one first.
        host_addresses() -> Vec<String>;
        /// Whether it is in the network of the host.
        host_network() -> bool;
        /// The whole pod as JSON text. Decoding it costs more than most probes: prefer the getters and [`at`](Self::at).
        json() -> String;
    }
    pointers!();

    /// Its primary address.
    ///
    /// # Errors
    /// With the code `NoAddress` while it has none.
    pub fn address(&self) -> Result<String, Error> {
        let address = self.addresses().into_iter().next();
        address.ok_or_else(|| Error::new("NoAddress", "the pod has no address (yet)"))
    }
}

/// The container that is probed.
#[derive(Debug)]
pub struct Container(backend::Container);

impl Container {
    getters! {
        /// In the pod's spec.
        name() -> String;
        /// The instance, without the runtime's scheme.
        id() -> String;
        /// How often it was restarted.
        restarts() -> u32;
        /// As the spec has it.
        image() -> String;
        /// The number of the port with this name.
        port(name: &str) -> Option<u16>;
    }
    parts! {
        /// All ports that the spec has, in its order.
        ports -> ContainerPort;
    }
    pointers!();
}

/// A port of the container.
#[derive(Debug)]
pub struct ContainerPort(backend::ContainerPort);

impl ContainerPort {
    getters! {
        /// Empty if it has none.
        name() -> String;
        /// In the container.
        number() -> u16;
        /// `TCP`, `UDP` or `SCTP`.
        protocol() -> String;
    }
}
