//! The hash that says whether a running container is still what its pod's spec asks for.
//!
//! It is stored in an annotation of each container, next to the kubelet's own hash, and compared by later releases of the agent, so it must never
//! change for the same spec: the tests hold known values.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvFromSource, EnvVar, SecurityContext, VolumeDevice, VolumeMount,
};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::go::{escape_json, fnv1a};

/// Bytes of SHA-256 that are kept: enough that two specs of one container never meet by chance.
const DIGEST_BYTES: usize = 8;

/// The fields that a container's process is made from. Those that the agent can change under a running process
/// (CPU, memory, resize policy), that it alone acts on (probes, hooks, pull policy, restart rules) or that say where to
/// read after the end (termination message) aren't among them: changing them restarts nothing. A new field may join
/// at the end, since fields that aren't set aren't hashed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Hashed<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    command: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    args: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    working_dir: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    env: &'a [EnvVar],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    env_from: &'a [EnvFromSource],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ports: &'a [ContainerPort],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    volume_mounts: &'a [VolumeMount],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    volume_devices: &'a [VolumeDevice],
    #[serde(skip_serializing_if = "Option::is_none")]
    security_context: Option<&'a SecurityContext>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stdin: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stdin_once: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tty: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_signal: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    huge_pages: BTreeMap<&'a str, &'a str>,
}

/// The hash of a container's spec: 16 lower-case hexadecimal digits, the same in every release and whatever the
/// order of fields in the manifest. Two specs with different hashes need different processes.
///
/// Upstream 1.36 hashes name and image alone, since nothing else can change in the API. A manifest with a fixed
/// `metadata.uid` can change anything, so here everything counts that the process is made from.
pub fn container_hash(container: &Container) -> String {
    digest_json(&Hashed {
        name: &container.name,
        image: container.image.as_deref(),
        command: container.command.as_deref().unwrap_or_default(),
        args: container.args.as_deref().unwrap_or_default(),
        working_dir: container.working_dir.as_deref(),
        env: container.env.as_deref().unwrap_or_default(),
        env_from: container.env_from.as_deref().unwrap_or_default(),
        ports: container.ports.as_deref().unwrap_or_default(),
        volume_mounts: container.volume_mounts.as_deref().unwrap_or_default(),
        volume_devices: container.volume_devices.as_deref().unwrap_or_default(),
        security_context: container.security_context.as_ref(),
        stdin: container.stdin.unwrap_or_default(),
        stdin_once: container.stdin_once.unwrap_or_default(),
        tty: container.tty.unwrap_or_default(),
        stop_signal: container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.stop_signal.as_deref()),
        huge_pages: huge_pages(container),
    })
}

/// Whether a hash is one of the kubelet's, which has 32 bits, written without leading zeros. Such a one is compared with
/// [`kubelet_hash`], not with [`container_hash`], and what a kubelet started goes on where this agent takes its place.
pub fn is_of_kubelet(hash: &str) -> bool {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    (1..=8).contains(&hash.len()) && hash.bytes().all(is_digit)
}

/// Returns what kubelets of Kubernetes 1.31 and later write as the hash of a container with this name and image. Earlier ones hashed
/// the whole definition as their release knew it, so that another hash of theirs proves nothing.
///
/// Upstream's `HashContainer` (`pkg/kubelet/container/helpers.go`): FNV-1a of 32 bits over what its dump helper prints of the
/// bytes of a JSON object.
pub fn kubelet_hash(container: &Container) -> String {
    // In the order of a Go map's keys.
    let fields = serde_json::json!({ "image": container.image.as_deref().unwrap_or_default(), "name": container.name });
    let dump: Vec<String> = escape_json(&fields.to_string()).bytes().map(|byte| byte.to_string()).collect();
    format!("{:x}", fnv1a(&format!("([]uint8)[{}]", dump.join(" "))))
}

/// Limits that no running process can be given, unlike those of CPU and memory.
fn huge_pages(container: &Container) -> BTreeMap<&str, &str> {
    let limits = container.resources.iter().flat_map(|resources| &resources.limits).flatten();
    let huge = limits.filter(|(name, _)| name.starts_with("hugepages-"));
    huge.map(|(name, quantity)| (name.as_str(), quantity.0.as_str())).collect()
}

/// SHA-256 of a value's JSON, cut to 16 lower-case hexadecimal digits.
pub(crate) fn digest_json(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).expect("plain data with text keys always has a JSON form");
    hex::encode(&Sha256::digest(&json)[..DIGEST_BYTES])
}

#[cfg(test)]
mod tests;
