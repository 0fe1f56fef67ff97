//! What pods take of the host: paths, namespaces, ports, kinds of volumes.

use std::path::Path;

use serde::Deserialize;
use witlet_plugin_sdk_0_2::{AdmissionHandler, Error, Operation, Request, Setup, Verdict, Volume};

/// Volumes bring no paths of the host but these and what is below them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoHostPath {
    /// Such as `/var/log`.
    #[serde(default)]
    pub allow: Vec<String>,
}

impl AdmissionHandler for NoHostPath {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let allowed = |path: &Path| self.allow.iter().any(|folder| path.starts_with(folder));
        let objection = |volume: Volume| {
            let path = volume.host_path().filter(|path| path.contains("..") || !allowed(Path::new(path)))?;
            Some(format!("{volume} brings {path} of the host"))
        };
        Ok(Verdict::reject_first("HostPath", request.pod().volumes().filter_map(objection)))
    }
}

/// Nothing is written through a path of the host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPathsReadOnly {}

impl AdmissionHandler for HostPathsReadOnly {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let pod = request.pod();
        let of_host: Vec<_> =
            pod.volumes().filter(|it| it.kind() == "hostPath").map(|it| it.name()).collect();
        let objections = pod.containers().filter_map(|container| {
            let mount =
                container.mounts().find(|mount| !mount.read_only() && of_host.contains(&mount.volume()))?;
            Some(format!("{container} can write to {} of the host", mount.path()))
        });
        Ok(Verdict::reject_first("HostPathWritable", objections))
    }
}

/// Pods share no namespace with the host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoHostNamespaces {}

impl AdmissionHandler for NoHostNamespaces {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let pod = request.pod();
        let shared =
            [("hostNetwork", pod.host_network()), ("hostPID", pod.host_pid()), ("hostIPC", pod.host_ipc())];
        let objections = shared
            .iter()
            .filter(|(_, is_shared)| *is_shared)
            .map(|(field, _)| format!("the pod has {field}"));
        Ok(Verdict::reject_first("HostNamespace", objections))
    }
}

/// Pods take ports on the host from this range only.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPortRange {
    /// The first.
    pub min: u16,
    /// The last.
    pub max: u16,
}

impl AdmissionHandler for HostPortRange {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn validate(&self, _: &Setup<'_>) -> Result<(), Error> {
        if self.min <= self.max { Ok(()) } else { Err(Error::invalid("min", "is greater than max")) }
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let Self { min, max } = self;
        let outside = request.pod().host_ports().filter(|port| !(*min..=*max).contains(&port.number()));
        let objections =
            outside.map(|port| format!("port {} of the host isn't one of {min} to {max}", port.number()));
        Ok(Verdict::reject_first("HostPort", objections))
    }
}

/// Volumes are of these kinds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeKinds {
    /// Such as `configMap` or `emptyDir`.
    pub allow: Vec<String>,
}

impl AdmissionHandler for VolumeKinds {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let others = request.pod().volumes().filter(|volume| !self.allow.contains(&volume.kind()));
        let objections = others.map(|volume| format!("{volume} is of the kind {}", volume.kind()));
        Ok(Verdict::reject_first("VolumeKind", objections))
    }
}
