//! Probes: what is checked, and what was found out about running containers.

use std::collections::BTreeMap;

use crate::runtime::ContainerId;

/// What a probe has found out so far, after thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeResult {
    /// Nothing yet.
    Unknown,
    /// It passes.
    Success,
    /// It fails.
    Failure,
}

/// The results of one container's probes; none where the spec has no such probe, or nobody works on it yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerProbes {
    /// Whether it has started. Gates the other two.
    pub startup: Option<ProbeResult>,
    /// Whether it can serve.
    pub readiness: Option<ProbeResult>,
    /// Whether it should live on.
    pub liveness: Option<ProbeResult>,
}

/// The results of a pod's probes, by container instance.
pub type ProbeResults = BTreeMap<ContainerId, ContainerProbes>;

/// What one probe checks, with every reference resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeCheck {
    /// A command in the container ends with exit code 0.
    Exec {
        /// The command.
        command: Vec<String>,
    },
    /// A GET is answered with a status from 200 to 399.
    HttpGet {
        /// `http` or `https`; certificates aren't verified.
        scheme: Scheme,
        /// Address or name.
        host: String,
        /// Port.
        port: u16,
        /// Path with the query, as the spec has it.
        path: String,
        /// Headers in order, the default ones among them.
        headers: Vec<(String, String)>,
    },
    /// A TCP connection can be opened.
    TcpSocket {
        /// Address or name.
        host: String,
        /// Port.
        port: u16,
    },
    /// `grpc.health.v1.Health/Check` answers `SERVING`.
    Grpc {
        /// Address.
        host: String,
        /// Port.
        port: u16,
        /// Name of the service; empty for the server as a whole.
        service: String,
    },
}

/// Scheme of an HTTP request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

/// What one probe found, before thresholds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// It passed; the text is what the probed process said.
    Success(String),
    /// It passed, with something that somebody should know (event `ProbeWarning`).
    Warning(String),
    /// It failed, and why.
    Failure(String),
}
