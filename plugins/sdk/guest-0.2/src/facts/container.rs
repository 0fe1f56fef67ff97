//! A container of a manifest.

use std::rc::Rc;

use serde_json::Value;

use super::amounts::{Amounts, amounts, is_sidecar, names};
use super::image::Image;
use super::json::{items, pointer, text, texts, word};

/// Annotation that named a container's AppArmor profile before the field did.
const APPARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

/// The lists of a spec that have containers, in the contract's order.
const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// A container by where it stands in its pod.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pod: Rc<Value>,
    list: &'static str,
    index: usize,
}

/// All containers of a pod.
pub(super) fn containers(pod: &Rc<Value>) -> Vec<Container> {
    let of = |list: &'static str| {
        let count = items(&pod["spec"][list]).len();
        (0..count).map(move |index| Container { pod: pod.clone(), list, index })
    };
    LISTS.into_iter().flat_map(of).collect()
}

impl Container {
    fn spec(&self) -> &Value {
        &self.pod["spec"][self.list][self.index]
    }

    /// A field of its security context, or else of its pod's.
    fn security(&self, field: &str) -> &Value {
        let own = &self.spec()["securityContext"][field];
        if own.is_null() { &self.pod["spec"]["securityContext"][field] } else { own }
    }

    fn own_flag(&self, field: &str) -> Option<bool> {
        self.spec()["securityContext"][field].as_bool()
    }

    fn amounts(&self, part: &str) -> Amounts {
        amounts(&self.spec()["resources"][part])
    }

    pub(crate) fn name(&self) -> String {
        text(&self.spec()["name"])
    }

    pub(crate) fn kind(&self) -> String {
        let kind = match self.list {
            "initContainers" if is_sidecar(self.spec()) => "sidecar",
            "initContainers" => "init",
            "containers" => "app",
            _ => "ephemeral",
        };
        kind.to_owned()
    }

    pub(crate) fn place(&self) -> String {
        format!("spec.{}[{}]", self.list, self.index)
    }

    pub(crate) fn image(&self) -> Image {
        Image::new(text(&self.spec()["image"]), format!("{}.image", self.place()))
    }

    pub(crate) fn pull_policy(&self) -> String {
        text(&self.spec()["imagePullPolicy"])
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

    pub(crate) fn privileged(&self) -> bool {
        self.own_flag("privileged").unwrap_or_default()
    }

    pub(crate) fn run_as_non_root(&self) -> bool {
        self.security("runAsNonRoot").as_bool().unwrap_or_default()
    }

    pub(crate) fn run_as_user(&self) -> Option<i64> {
        self.security("runAsUser").as_i64()
    }

    pub(crate) fn run_as_group(&self) -> Option<i64> {
        self.security("runAsGroup").as_i64()
    }

    pub(crate) fn allow_privilege_escalation(&self) -> bool {
        self.own_flag("allowPrivilegeEscalation") != Some(false)
    }

    pub(crate) fn read_only_root_filesystem(&self) -> bool {
        self.own_flag("readOnlyRootFilesystem").unwrap_or_default()
    }

    pub(crate) fn seccomp_profile(&self) -> Option<String> {
        let profile = self.security("seccompProfile");
        let kind = profile["type"].as_str()?;
        match profile["localhostProfile"].as_str() {
            Some(path) if kind == "Localhost" => Some(format!("{kind}/{path}")),
            Some(_) | None => Some(kind.to_owned()),
        }
    }

    pub(crate) fn apparmor_profile(&self) -> Option<String> {
        let own = &self.spec()["securityContext"]["appArmorProfile"];
        if !own.is_null() {
            return apparmor(own);
        }
        let annotation =
            &self.pod["metadata"]["annotations"][format!("{APPARMOR_ANNOTATION}{}", self.name())];
        match annotation.as_str() {
            Some("runtime/default") => return Some("RuntimeDefault".to_owned()),
            Some("unconfined") => return Some("Unconfined".to_owned()),
            Some(profile) => {
                if let Some(name) = profile.strip_prefix("localhost/").filter(|name| !name.is_empty()) {
                    return Some(format!("Localhost/{name}"));
                }
            }
            None => {}
        }
        apparmor(&self.pod["spec"]["securityContext"]["appArmorProfile"])
    }

    pub(crate) fn added_capabilities(&self) -> Vec<String> {
        texts(&self.spec()["securityContext"]["capabilities"]["add"])
    }

    pub(crate) fn dropped_capabilities(&self) -> Vec<String> {
        texts(&self.spec()["securityContext"]["capabilities"]["drop"])
    }

    pub(crate) fn env_names(&self) -> Vec<String> {
        items(&self.spec()["env"]).iter().map(|variable| text(&variable["name"])).collect()
    }

    pub(crate) fn ports(&self) -> Vec<ContainerPort> {
        items(&self.spec()["ports"]).iter().cloned().map(ContainerPort).collect()
    }

    pub(crate) fn mounts(&self) -> Vec<Mount> {
        let of = |list: &str, is_device| {
            let mounts = items(&self.spec()[list]).iter();
            mounts.map(move |spec| Mount { spec: spec.clone(), is_device }).collect::<Vec<_>>()
        };
        [of("volumeMounts", false), of("volumeDevices", true)].concat()
    }

    pub(crate) fn pointer(&self, path: &str) -> Option<String> {
        pointer(self.spec(), path)
    }
}

/// A field that can't be meant is none.
fn apparmor(profile: &Value) -> Option<String> {
    match (profile["type"].as_str()?, word(&profile["localhostProfile"])) {
        (kind @ ("RuntimeDefault" | "Unconfined"), _) => Some(kind.to_owned()),
        (kind @ "Localhost", Some(name)) => Some(format!("{kind}/{name}")),
        _ => None,
    }
}

/// A port number that is one.
fn port(value: &Value) -> Option<u16> {
    value.as_i64().and_then(|number| u16::try_from(number).ok()).filter(|number| *number != 0)
}

/// The API's word for a protocol.
pub(super) fn protocol(value: &Value) -> String {
    match value.as_str() {
        Some(word @ ("UDP" | "SCTP")) => word.to_owned(),
        Some(_) | None => "TCP".to_owned(),
    }
}

/// A port of a container.
#[derive(Clone, Debug)]
pub(crate) struct ContainerPort(Value);

impl ContainerPort {
    pub(crate) fn name(&self) -> String {
        text(&self.0["name"])
    }

    pub(crate) fn number(&self) -> u16 {
        port(&self.0["containerPort"]).unwrap_or_default()
    }

    pub(crate) fn protocol(&self) -> String {
        protocol(&self.0["protocol"])
    }

    pub(crate) fn host_port(&self) -> Option<u16> {
        port(&self.0["hostPort"])
    }
}

/// Where a container has a volume.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    spec: Value,
    is_device: bool,
}

impl Mount {
    pub(crate) fn volume(&self) -> String {
        text(&self.spec["name"])
    }

    pub(crate) fn path(&self) -> String {
        text(&self.spec[if self.is_device { "devicePath" } else { "mountPath" }])
    }

    pub(crate) fn sub_path(&self) -> String {
        let paths = [&self.spec["subPath"], &self.spec["subPathExpr"]];
        paths.into_iter().find_map(word).unwrap_or_default()
    }

    pub(crate) fn read_only(&self) -> bool {
        self.spec["readOnly"].as_bool().unwrap_or_default()
    }

    pub(crate) fn is_device(&self) -> bool {
        self.is_device
    }
}
