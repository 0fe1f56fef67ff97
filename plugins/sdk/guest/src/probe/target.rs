//! The container that is probed, read lazily.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::{ExecError, NamedPort, Output, PodRef, ProbeKind, backend};
use crate::Error;
use crate::admission::decode;
use crate::time::Deadline;

/// The container that is probed. It is valid during the call only, and only what is asked for crosses into the
/// component, again at every call.
///
/// ```
/// # use std::time::Duration;
/// # use witlet_plugin_sdk::facts::TargetFacts;
/// let pod_ips = vec!["10.0.0.7".to_owned()];
/// let facts = TargetFacts { pod_ips, remaining: Duration::from_secs(1), ..TargetFacts::default() };
/// let target = facts.target();
/// assert_eq!(target.pod_ip()?, "10.0.0.7");
/// assert!(target.deadline().left() <= Duration::from_secs(1));
/// # Ok::<(), witlet_plugin_sdk::Error>(())
/// ```
#[derive(Debug)]
pub struct Target<'a>(&'a backend::Target);

impl<'a> Target<'a> {
    /// Wraps what the host (or, outside a component, the facts) gives.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "called by the export macro and the facts only")]
    pub fn __from_host(target: &'a backend::Target) -> Self {
        Self(target)
    }

    /// Its pod.
    pub fn pod(&self) -> PodRef {
        self.0.pod()
    }

    /// The whole pod as JSON text. Decoding it costs more than most probes: prefer getters and [`Target::at`].
    pub fn pod_json(&self) -> String {
        self.0.pod_json()
    }

    /// The JSON text at a JSON pointer (RFC 6901) into the pod, such as `/metadata/labels/app`; none where the pod has
    /// nothing.
    pub fn pod_pointer(&self, path: &str) -> Option<String> {
        self.0.pod_pointer(path)
    }

    /// The value at a JSON pointer (RFC 6901) into the pod, decoded; none where the pod has nothing or `null`.
    ///
    /// # Errors
    /// When the value is there, but isn't of that type.
    pub fn at<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Error> {
        decode(self.pod_pointer(path), path)
    }

    /// Name of the container in the pod's spec.
    pub fn container(&self) -> String {
        self.0.container()
    }

    /// Its id at the runtime, without the runtime's scheme.
    pub fn container_id(&self) -> String {
        self.0.container_id()
    }

    /// How often it was restarted.
    pub fn restarts(&self) -> u32 {
        self.0.restarts()
    }

    /// The pod's addresses, the primary one first; empty while it has none.
    pub fn pod_ips(&self) -> Vec<String> {
        self.0.pod_ips()
    }

    /// The pod's primary address.
    ///
    /// # Errors
    /// [`Error::NoAddress`] while it has none.
    pub fn pod_ip(&self) -> Result<String, Error> {
        self.pod_ips().into_iter().find(|ip| !ip.is_empty()).ok_or(Error::NoAddress)
    }

    /// The host that the parameters name, or else the pod's primary address, as upstream has it for its own probe types.
    ///
    /// # Errors
    /// [`Error::NoAddress`] if they name none, and the pod has none.
    pub fn host_or_pod_ip(&self, host: Option<&str>) -> Result<String, Error> {
        match host.filter(|host| !host.is_empty()) {
            Some(host) => Ok(host.to_owned()),
            None => self.pod_ip(),
        }
    }

    /// The node's addresses, the primary one first.
    pub fn host_ips(&self) -> Vec<String> {
        self.0.host_ips()
    }

    /// Ports that the container's spec names, in its order.
    pub fn named_ports(&self) -> Vec<NamedPort> {
        self.0.named_ports()
    }

    /// Which probe runs.
    pub fn kind(&self) -> ProbeKind {
        self.0.kind()
    }

    /// How long the probe may take: at the first call its `timeoutSeconds`, less each time. A probe that still waits for
    /// something then counts as failed.
    pub fn remaining(&self) -> Duration {
        Duration::from_millis(self.0.remaining_milliseconds())
    }

    /// When the probe's time is over.
    pub fn deadline(&self) -> Deadline {
        Deadline::after(self.remaining())
    }

    /// Runs a command in the container, without a shell, for as long as the probe has time left. A component that uses it
    /// needs the grant `exec`.
    ///
    /// # Errors
    /// When it runs out of time, or the runtime can't run it.
    pub fn exec(&self, command: &[String]) -> Result<Output, ExecError> {
        #[cfg(target_family = "wasm")]
        {
            use super::bindings::witlet::probe::exec;
            match exec::run(self.0, command) {
                Ok(result) => Ok(Output { exit_code: result.exit_code, output: result.output }),
                Err(exec::ExecError::TimedOut) => Err(ExecError::TimedOut),
                Err(exec::ExecError::Failed(message)) => Err(ExecError::Failed { message }),
            }
        }
        #[cfg(not(target_family = "wasm"))]
        self.0.exec(command)
    }
}
