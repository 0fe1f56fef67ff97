//! The plugin host of a running node, with the plugin file that it begins with: the local one, or that of a set.

use std::sync::Arc;

use thiserror::Error;
use witlet_agent::EventLog;
use witlet_oci::RegistryError;
use witlet_ports::NodeWatch;
use witlet_wasm::host::{PluginHost, StartError};

use crate::run::base::Base;
use crate::run::own_files::OwnFiles;
use crate::run::plugin_sets::{NodeObject, SetManager, SetsError};
use crate::run::plugins;
use crate::settings::Settings;

/// Why there are no plugins.
#[derive(Debug, Error)]
pub(crate) enum PluginsError {
    /// The folder of components from registries can't be used.
    #[error(transparent)]
    Registries(#[from] RegistryError),
    /// Sets of plugins can't be followed.
    #[error(transparent)]
    Sets(#[from] SetsError),
    /// The plugin host doesn't start.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// The host, and what follows the node's choice of a set where the operator allows sets.
pub(crate) struct NodePlugins {
    pub(crate) host: Arc<PluginHost>,
    pub(crate) sets: Option<SetManager>,
}

/// Starts the host. `object` is the node's object, in a cluster.
///
/// # Errors
/// When nothing can be loaded at all.
pub(crate) async fn start(
    settings: &Settings,
    base: &Base,
    object: Option<NodeObject>,
    (node, events): (&Arc<dyn NodeWatch>, &Arc<EventLog>),
) -> Result<NodePlugins, PluginsError> {
    let registries = plugins::registries_of(settings, base.egress.share())?;
    let sets = SetManager::of_node(settings, base, object, (&registries, node, events)).await?;
    let local = || OwnFiles::below(&settings.folders.root).local_plugin_file(settings.plugins.clone());
    let around = plugins::Node {
        info: node.clone(),
        containers: base.runtime.containers.clone(),
        clock: base.clock.clone(),
        events: events.clone(),
        registries,
        tracer: base.spans.tracer.clone(),
        plugin_file: sets.as_ref().map_or_else(local, SetManager::plugin_file),
    };
    let host = PluginHost::start(plugins::host_config(settings, around)).await?;
    Ok(NodePlugins { host, sets })
}
