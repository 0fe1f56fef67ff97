//! The plugin host of this binary: which components are on, what each of them is granted, and what it gets of the node.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use witlet_egress::{Egress, NetworkGrant, TlsPolicy};
use witlet_node::{SystemClock, ThreadJitter};
use witlet_oci::{Progress, Registries, RegistriesConfig, RegistryError};
use witlet_ports::{CommandRunner, EventSink, NodeWatch, Tracer};
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::host::{DataConfig, PluginFile, PluginHostConfig};
use witlet_wasm::plugin::Builtin;
use witlet_wasm::plugin::config::{Grants, Shipped};
use witlet_wasm::record::RecorderConfig;

use crate::run::own_files::OwnFiles;
use crate::settings::Settings;

/// What the plugin host needs of the rest of the node.
pub(crate) struct Node {
    pub(crate) info: Arc<dyn NodeWatch>,
    pub(crate) containers: Arc<dyn CommandRunner>,
    pub(crate) clock: Arc<SystemClock>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) registries: Arc<Registries>,
    pub(crate) tracer: Tracer,
    /// The plugin file that serves first.
    pub(crate) plugin_file: PluginFile,
}

/// The compiler of a node's components.
pub(crate) fn compiler(settings: &Settings) -> CompilerConfig {
    let own = || OwnFiles::below(&settings.folders.root).code();
    CompilerConfig::new(settings.folders.component_cache.clone().unwrap_or_else(own))
}

/// The host's configuration for a running node.
pub(crate) fn host_config(settings: &Settings, node: Node) -> PluginHostConfig {
    let own = OwnFiles::below(&settings.folders.root);
    let Node { info, containers, clock, events, registries, tracer, plugin_file } = node;
    let data = DataConfig {
        folder: Some(own.plugin_data()),
        artifacts: Some(registries.clone()),
        jitter: Some(Arc::new(ThreadJitter)),
        offline: false,
    };
    PluginHostConfig {
        compiler: compiler(settings),
        plugins_file: plugin_file.path,
        builtins: builtins(&settings.pods.allowed_unsafe_sysctls),
        shipped: shipped(),
        fetcher: Some(registries),
        containers: Some(containers),
        state_folder: Some(own.plugin_state()),
        last_good_folder: plugin_file.last_good_folder,
        data,
        decision_log_folder: Some(own.decisions()),
        in_cluster: settings.cluster.is_some(),
        node: Some(info),
        recorder: Some(RecorderConfig { folder: own.recorded(), clock: clock.clone() }),
        clock,
        events,
        tracer,
    }
}

/// A node's registries, with its own credentials.
pub(crate) fn registries_of(settings: &Settings, egress: Egress) -> Result<Arc<Registries>, RegistryError> {
    let folder = OwnFiles::below(&settings.folders.root).components();
    registries(folder, settings.pods.registry_credentials.as_deref(), egress)
}

/// Brings components and artifacts from registries, and keeps the components in `folder`.
pub(crate) fn registries(
    folder: PathBuf,
    credentials: Option<&Path>,
    egress: Egress,
) -> Result<Arc<Registries>, RegistryError> {
    let config = RegistriesConfig {
        folder,
        egress,
        credentials: credentials.map(Path::to_path_buf),
        progress: Arc::new(|progress: Progress<'_>| {
            tracing::info!(
                component = %progress.reference,
                bytes = progress.bytes,
                total = progress.total,
                "Pulling component"
            );
        }),
    };
    Ok(Arc::new(Registries::open(config)?))
}

/// The components that are always on: handlers in the order in which they are asked, then probe types.
pub(crate) fn builtins(unsafe_sysctls: &[String]) -> Vec<Builtin> {
    let handlers = witlet_plugins::ADMISSION.iter().map(|shipped| {
        let mut builtin = Builtin::admission(shipped.name, shipped.component);
        if shipped.name == "sysctls" {
            builtin.config = json!({ "allowedUnsafeSysctls": unsafe_sysctls });
        }
        builtin
    });
    let types = witlet_plugins::PROBES
        .iter()
        .map(|shipped| Builtin::probe(shipped.name, shipped.name, shipped.component, grants(shipped.name)));
    handlers.chain(types).collect()
}

/// What of the program a plugin file may name or mustn't: hands it to `parse`.
pub(crate) fn with_names<T>(builtins: &[Builtin], parse: impl FnOnce(Shipped<'_>) -> T) -> T {
    let reserved: Vec<&str> = builtins.iter().map(|builtin| builtin.name).collect();
    let probe_types: Vec<&str> = witlet_plugins::PROBES.iter().map(|shipped| shipped.name).collect();
    let components: Vec<&str> = witlet_plugins::SHIPPED.iter().map(|shipped| shipped.name).collect();
    parse(Shipped { reserved: &reserved, probe_types: &probe_types, components: &components })
}

/// Returns what a probe type is granted: what any probe type can be granted.
fn grants(probe_type: &str) -> Grants {
    let network = |grants: &[NetworkGrant]| Grants { network: grants.into(), ..Grants::default() };
    match probe_type {
        "exec" => Grants { exec: true, ..Grants::default() },
        // Upstream verifies no certificates of probed servers.
        "httpGet" => {
            let network = network(&[NetworkGrant::Pod, NetworkGrant::ProbeHost]);
            Grants { tls: TlsPolicy::Insecure, ..network }
        }
        "tcpSocket" => network(&[NetworkGrant::Pod, NetworkGrant::ProbeHost]),
        "grpc" => network(&[NetworkGrant::Pod]),
        _ => Grants::default(),
    }
}

/// The components that are off until a configuration names them.
pub(crate) fn shipped() -> Vec<(&'static str, &'static [u8])> {
    witlet_plugins::SHIPPED.iter().map(|shipped| (shipped.name, shipped.component)).collect()
}

#[cfg(test)]
mod tests {
    //! Every shipped component has a place.

    use super::*;

    #[test]
    fn every_shipped_component_is_on_or_off() {
        let on = builtins(&[]);
        assert_eq!(on.len(), witlet_plugins::ADMISSION.len() + witlet_plugins::PROBES.len());
        for (name, _) in shipped() {
            assert!(on.iter().all(|builtin| builtin.name != name), "{name} is on and off");
        }
    }

    #[test]
    fn every_probe_type_may_do_what_it_is_for() {
        for shipped in witlet_plugins::PROBES {
            assert_ne!(grants(shipped.name), Grants::default(), "{} can do nothing", shipped.name);
        }
    }
}
