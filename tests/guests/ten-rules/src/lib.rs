//! The ten rules that `TEN_RULES` of `tests/guests/src/lib.rs` has in CEL, as an author of contract 0.2 would write them. A refusal has the
//! number of the rule as its message.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use std::collections::BTreeSet;

use serde::Deserialize;
use witlet_plugin_sdk_0_2::{
    AdmissionHandler, ContainerKind, Error, Pod, Request, Verdict, export_admission,
};

const REGISTRY: &str = "registry.example.com/";
const CONTAINERS_MAX: usize = 10;

/// It takes no configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenRules {}

impl AdmissionHandler for TenRules {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        Ok(match broken(&request.pod()) {
            Some(number) => Verdict::reject("Invalid", format!("rule {number}")),
            None => Verdict::admit(),
        })
    }
}

/// The first rule that the pod breaks.
fn broken(pod: &Pod) -> Option<usize> {
    let containers: Vec<_> =
        pod.containers().filter(|container| container.kind() == ContainerKind::App).collect();
    let images: Vec<String> = containers.iter().map(|container| container.image().reference()).collect();
    let names: BTreeSet<String> = containers.iter().map(|container| container.name()).collect();
    let rules: [&dyn Fn() -> bool; 10] = [
        &|| pod.namespace() != "kube-system",
        &|| containers.len() <= CONTAINERS_MAX,
        &|| images.iter().all(|image| image.starts_with(REGISTRY)),
        &|| images.iter().all(|image| !image.ends_with(":latest")),
        &|| images.iter().all(|image| is_fixed(image)),
        &|| !pod.host_network(),
        &|| containers.iter().all(|container| !container.privileged()),
        &|| pod.volumes().all(|volume| volume.host_path().is_none()),
        &|| names.len() == containers.len(),
        &|| {
            let mut variables = containers.iter().flat_map(|container| container.env_names());
            variables.all(|name| !name.contains("PASSWORD"))
        },
    ];
    rules.iter().position(|is_kept| !is_kept())
}

/// `^[a-z0-9./-]+:[0-9.]+$`
fn is_fixed(image: &str) -> bool {
    let is_of_name =
        |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || b"./-".contains(&letter);
    let is_of_version = |letter: u8| letter.is_ascii_digit() || letter == b'.';
    image.split_once(':').is_some_and(|(name, version)| {
        !name.is_empty()
            && name.bytes().all(is_of_name)
            && !version.is_empty()
            && version.bytes().all(is_of_version)
    })
}

export_admission!(TenRules);
