//! What containers may do: what counts of a container's security context and its pod's, for all kinds of containers.

use serde::Deserialize;
use witlet_plugin_sdk_0_2::{AdmissionHandler, Container, ContainerKind, Error, Operation, Request, Verdict};

/// No container is privileged.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoPrivileged {}

impl AdmissionHandler for NoPrivileged {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let privileged = request.pod().containers().filter(Container::privileged);
        Ok(Verdict::reject_first(
            "Privileged",
            privileged.map(|container| format!("{container} is privileged")),
        ))
    }
}

/// Containers add no capabilities but these, and drop those.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// What may be added, such as `NET_BIND_SERVICE`.
    #[serde(default)]
    pub allow: Vec<String>,
    /// What must be dropped, such as `ALL`.
    #[serde(default)]
    pub drop: Vec<String>,
}

impl AdmissionHandler for Capabilities {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let objection = |container: Container| {
            let (added, dropped) = (container.added_capabilities(), container.dropped_capabilities());
            let excess = added.iter().find(|name| !self.allow.contains(name));
            let kept = self.drop.iter().find(|name| !dropped.contains(name));
            let excess = excess.map(|name| format!("{container} adds the capability {name}"));
            excess.or_else(|| kept.map(|name| format!("{container} doesn't drop the capability {name}")))
        };
        Ok(Verdict::reject_first("Capabilities", request.pod().containers().filter_map(objection)))
    }
}

/// No container may start as root.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunAsNonRoot {}

impl AdmissionHandler for RunAsNonRoot {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let root = request.pod().containers().filter(|container| !container.run_as_non_root());
        Ok(Verdict::reject_first("RunAsRoot", root.map(|container| format!("{container} may start as root"))))
    }
}

/// No process gets more rights than its parent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoPrivilegeEscalation {}

impl AdmissionHandler for NoPrivilegeEscalation {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let rising = request.pod().containers().filter(Container::allow_privilege_escalation);
        let objections = rising.map(|container| format!("{container} allows privilege escalation"));
        Ok(Verdict::reject_first("PrivilegeEscalation", objections))
    }
}

/// Containers can't write to their own file systems.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadOnlyRoot {}

impl AdmissionHandler for ReadOnlyRoot {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let writable = request.pod().containers().filter(|container| !container.read_only_root_filesystem());
        let objections = writable.map(|container| format!("{container} can write to its root file system"));
        Ok(Verdict::reject_first("WritableRoot", objections))
    }
}

/// Every container states a seccomp profile that filters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeccompRequired {}

impl AdmissionHandler for SeccompRequired {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let filtered = |container: &Container| {
            container.seccomp_profile().is_some_and(|profile| profile != "Unconfined")
        };
        let unfiltered = request.pod().containers().filter(|container| !filtered(container));
        Ok(Verdict::reject_first(
            "NoSeccomp",
            unfiltered.map(|container| format!("{container} has no seccomp profile")),
        ))
    }
}

/// Containers state no AppArmor profile but these.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppArmorProfiles {
    /// Such as `RuntimeDefault` or `Localhost/web`.
    pub allow: Vec<String>,
}

impl AdmissionHandler for AppArmorProfiles {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let objection = |container: Container| {
            let profile = container.apparmor_profile().filter(|profile| !self.allow.contains(profile))?;
            Some(format!("{container} has the AppArmor profile {profile}"))
        };
        Ok(Verdict::reject_first("AppArmorProfile", request.pod().containers().filter_map(objection)))
    }
}

/// Containers state a user from this number on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserIds {
    /// The first user that is allowed.
    pub min: i64,
}

impl AdmissionHandler for UserIds {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let fits = |container: &Container| container.run_as_user().is_some_and(|user| user >= self.min);
        let others = request.pod().containers().filter(|container| !fits(container));
        let objections =
            others.map(|container| format!("{container} doesn't run as a user from {} on", self.min));
        Ok(Verdict::reject_first("UserId", objections))
    }
}

/// Pods have a user namespace of their own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserNamespaces {}

impl AdmissionHandler for UserNamespaces {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Add]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let objection =
            request.pod().host_users().then_some("the pod's users are the host's: hostUsers isn't false");
        Ok(Verdict::reject_first("HostUsers", objection))
    }
}

/// Those who look for a fault in a pod of this label get no powers of the node.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebugContainers {
    /// The label's key.
    pub label: String,
    /// The label's value.
    pub value: String,
}

impl AdmissionHandler for DebugContainers {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let pod = request.pod();
        let is_meant = pod.label(&self.label).as_ref() == Some(&self.value);
        let debug = pod.containers().filter(|it| is_meant && it.kind() == ContainerKind::Ephemeral);
        let mighty = debug.filter(|it| it.privileged() || !it.added_capabilities().is_empty());
        Ok(Verdict::reject_first("MightyDebugger", mighty.map(|it| format!("{it} has powers of the node"))))
    }
}
