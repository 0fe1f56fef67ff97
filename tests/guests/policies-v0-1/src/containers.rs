//! Containers of all kinds with what policies check: 0.1 hands out name, kind and image, the rest is JSON.

use std::collections::BTreeMap;

use serde::Deserialize;
use witlet_plugin_sdk::{Error, Pod};

/// A container.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Container {
    name: String,
    #[serde(skip)]
    kind: &'static str,
    restart_policy: Option<String>,
    #[serde(default)]
    pub(crate) resources: Resources,
    #[serde(default)]
    pub(crate) security_context: SecurityContext,
}

/// `resources`
#[derive(Default, Deserialize)]
pub(crate) struct Resources {
    #[serde(default)]
    pub(crate) limits: BTreeMap<String, String>,
}

/// `securityContext` of a container, or of its pod.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SecurityContext {
    pub(crate) privileged: bool,
    pub(crate) capabilities: Capabilities,
    pub(crate) run_as_non_root: Option<bool>,
    pub(crate) seccomp_profile: Option<Profile>,
}

/// `capabilities`
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Capabilities {
    pub(crate) add: Vec<String>,
    pub(crate) drop: Vec<String>,
}

/// `seccompProfile`
#[derive(Clone, Deserialize)]
pub(crate) struct Profile {
    #[serde(rename = "type")]
    pub(crate) kind: String,
}

impl Container {
    /// As messages have it: `init container "setup"`.
    pub(crate) fn shown(&self) -> String {
        let is_sidecar = self.kind == "init container" && self.restart_policy.as_deref() == Some("Always");
        format!("{} {:?}", if is_sidecar { "sidecar" } else { self.kind }, self.name)
    }

    pub(crate) fn is_ephemeral(&self) -> bool {
        self.kind == "ephemeral container"
    }
}

/// All containers, each with what counts of its pod's security context where its own says nothing.
pub(crate) fn containers(pod: &Pod) -> Result<Vec<Container>, Error> {
    let of_pod: SecurityContext = pod.at("/spec/securityContext")?.unwrap_or_default();
    let mut all = Vec::new();
    for (path, kind) in [
        ("/spec/initContainers", "init container"),
        ("/spec/containers", "container"),
        ("/spec/ephemeralContainers", "ephemeral container"),
    ] {
        for container in pod.at::<Vec<Container>>(path)?.unwrap_or_default() {
            let own = container.security_context;
            let security_context = SecurityContext {
                run_as_non_root: own.run_as_non_root.or(of_pod.run_as_non_root),
                seccomp_profile: own.seccomp_profile.or_else(|| of_pod.seccomp_profile.clone()),
                ..own
            };
            all.push(Container { kind, security_context, ..container });
        }
    }
    Ok(all)
}
