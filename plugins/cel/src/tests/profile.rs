//! The profile `restricted` of the Pod Security Standards, written by hand.

use serde_json::{Value, json};

/// Kinds of volumes that the profile allows.
const VOLUMES: &[&str] = &[
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
    "image",
];

/// Sysctls of the tests' pods that aren't safe.
const UNSAFE: &[&str] = &["kernel.msgmax", "net.core.somaxconn"];

/// Where a container's handlers stand.
const HANDLERS: &[&str] =
    &["/livenessProbe", "/readinessProbe", "/startupProbe", "/lifecycle/postStart", "/lifecycle/preStop"];

/// A pod with its parts that the profile asks about.
struct Parts<'a> {
    pod: &'a Value,
    spec: &'a Value,
    of_pod: &'a Value,
    containers: Vec<&'a Value>,
    /// Security contexts of the containers, and the pod's.
    contexts: Vec<&'a Value>,
}

/// The rule that a pod breaks first; none if it keeps all.
pub(super) fn broken(pod: &Value) -> Option<&'static str> {
    let spec = &pod["spec"];
    let of_pod = &spec["securityContext"];
    let lists = ["containers", "initContainers", "ephemeralContainers"];
    let containers: Vec<&Value> =
        lists.iter().flat_map(|list| spec[*list].as_array().into_iter().flatten()).collect();
    let contexts = containers.iter().map(|container| &container["securityContext"]).chain([of_pod]).collect();
    let parts = Parts { pod, spec, of_pod, containers, contexts };
    let checks = parts.baseline().into_iter().chain(parts.restricted());
    checks.into_iter().find(|(_, is_broken)| *is_broken).map(|(name, _)| name)
}

fn is_true(value: &Value) -> bool {
    value == true
}

fn is_empty(value: &Value) -> bool {
    value.as_str().unwrap_or_default().is_empty()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

impl Parts<'_> {
    fn baseline(&self) -> [(&'static str, bool); 10] {
        let Self { spec, of_pod, containers, contexts, .. } = self;
        let volumes = list(&spec["volumes"]);
        let takes_port = |container: &&Value| {
            list(&container["ports"]).iter().any(|port| port["hostPort"].as_i64().unwrap_or(0) != 0)
        };
        let host = ["hostNetwork", "hostPID", "hostIPC"];
        [
            ("HostProcess", contexts.iter().any(|it| is_true(&it["windowsOptions"]["hostProcess"]))),
            ("HostNamespaces", host.iter().any(|field| is_true(&spec[*field]))),
            ("Privileged", contexts.iter().any(|it| is_true(&it["privileged"]))),
            ("VolumeTypes", volumes.iter().any(|it| VOLUMES.iter().all(|kind| it[*kind].is_null()))),
            ("HostPorts", containers.iter().any(takes_port)),
            ("ProbeHost", containers.iter().any(|it| names_a_host(it))),
            ("AppArmorProfile", self.has_app_armor_of_its_own()),
            ("SELinuxOptions", contexts.iter().any(|it| is_foreign(&it["seLinuxOptions"]))),
            (
                "ProcMount",
                contexts.iter().any(|it| !it["procMount"].is_null() && it["procMount"] != "Default"),
            ),
            (
                "Sysctls",
                list(&of_pod["sysctls"]).iter().any(|it| UNSAFE.iter().any(|name| it["name"] == *name)),
            ),
        ]
    }

    fn restricted(&self) -> [(&'static str, bool); 5] {
        let Self { spec, containers, contexts, .. } = self;
        let on_linux = spec["os"]["name"] != "windows";
        // Root of a user namespace is none on the host: upstream allows it there, whatever its gates, since 1.35.
        let on_host_users = spec["hostUsers"] != false;
        let may_escalate = |it: &&Value| it["securityContext"]["allowPrivilegeEscalation"] != false;
        let has_no_seccomp = |it: &&Value| {
            let of = self.own_or_pods(it, "/seccompProfile/type");
            of != "RuntimeDefault" && of != "Localhost"
        };
        let is_bad = |of: &Value| !of.is_null() && of != "RuntimeDefault" && of != "Localhost";
        let keeps_capabilities = |it: &&Value| {
            let capabilities = &it["securityContext"]["capabilities"];
            !list(&capabilities["drop"]).contains(&json!("ALL"))
                || list(&capabilities["add"]).iter().any(|added| added != "NET_BIND_SERVICE")
        };
        [
            ("PrivilegeEscalation", on_linux && containers.iter().any(may_escalate)),
            (
                "RunAsNonRoot",
                // The pod's own word counts also where all containers have another.
                on_host_users
                    && (self.of_pod["runAsNonRoot"] == false
                        || containers.iter().any(|it| self.own_or_pods(it, "/runAsNonRoot") != true)),
            ),
            ("RunAsUser", on_host_users && contexts.iter().any(|it| it["runAsUser"] == 0)),
            (
                "SeccompProfile",
                on_linux
                    && (is_bad(&self.of_pod["seccompProfile"]["type"])
                        || containers.iter().any(has_no_seccomp)),
            ),
            ("Capabilities", on_linux && containers.iter().any(keeps_capabilities)),
        ]
    }

    fn own_or_pods(&self, container: &Value, path: &str) -> Value {
        let own = container["securityContext"].pointer(path);
        own.or_else(|| self.of_pod.pointer(path)).cloned().unwrap_or_default()
    }

    fn has_app_armor_of_its_own(&self) -> bool {
        let mut types = self.contexts.iter().map(|it| &it["appArmorProfile"]["type"]);
        let annotations = self.pod["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        types.any(|it| !it.is_null() && it != "RuntimeDefault" && it != "Localhost")
            || annotations.iter().any(|(key, value)| {
                let profile = value.as_str().unwrap_or_default();
                key.starts_with("container.apparmor.security.beta.kubernetes.io/")
                    && !profile.is_empty()
                    && profile != "runtime/default"
                    && !profile.starts_with("localhost/")
            })
    }
}

fn names_a_host(container: &Value) -> bool {
    HANDLERS.iter().any(|path| {
        let handler = container.pointer(path).cloned().unwrap_or_default();
        !is_empty(&handler["httpGet"]["host"]) || !is_empty(&handler["tcpSocket"]["host"])
    })
}

fn is_foreign(options: &Value) -> bool {
    let of = options["type"].as_str().unwrap_or_default();
    !["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"].contains(&of)
        || !is_empty(&options["user"])
        || !is_empty(&options["role"])
}
