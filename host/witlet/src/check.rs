//! `witlet check`: reads manifests and loads plugins as the daemon would, and says everything that is wrong.

use std::path::Path;
use std::sync::Arc;

use thiserror::Error;
use witlet_agent::EventLog;
use witlet_core::error::one_line;
use witlet_core::node::NodeFacts;
use witlet_egress::Egress;
use witlet_node::{ReportReason, SystemClock, check_path};
use witlet_oci::RegistryError;
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::host::{DataConfig, PluginHost, PluginHostConfig};
use witlet_wasm::plugin::PluginState;
use witlet_wasm::plugin::config::{API_VERSION, KIND};

use crate::cli::{CheckArgs, ComponentCacheArgs};
use crate::output::{OutputError, print};
use crate::plugin::fixed_node::FixedNode;
use crate::progress::Wait;
use crate::run::plugins;
use crate::settings::from_args::{ArgsError, node_labels};

/// Why nothing could be checked.
#[derive(Debug, Error)]
pub(crate) enum CheckError {
    /// Neither a manifest nor a plugin file was named.
    #[error("nothing to check: give manifests, folders of manifests, or a plugin file with --plugins")]
    Nothing,
    /// The findings couldn't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A label of the node isn't one.
    #[error(transparent)]
    Label(#[from] ArgsError),
    /// There is no space for compiled plugins.
    #[error("failed to create a temporary folder for compiled plugins")]
    Scratch(#[source] std::io::Error),
    /// There is no space for components from registries.
    #[error(transparent)]
    Registries(#[from] RegistryError),
}

/// Prints the findings and returns their number.
pub(crate) async fn run(args: &CheckArgs) -> Result<usize, CheckError> {
    if args.manifests.is_empty() && args.plugins.is_none() {
        return Err(CheckError::Nothing);
    }
    let mut findings = 0;
    for path in &args.manifests {
        findings += manifests(path, &args.node_name)?;
    }
    if let Some(path) = &args.plugins {
        findings += check_plugins(path, node(args)?, &args.cache).await?;
    }
    Ok(findings)
}

fn manifests(path: &Path, node_name: &str) -> Result<usize, OutputError> {
    let outcome = check_path(path, node_name);
    // What is passed over is worth a line, but nothing is wrong with it.
    let findings = outcome.reports.iter().filter(|report| report.reason != ReportReason::NotAFile).count();
    for report in &outcome.reports {
        let is_plugin_file = report.message.ends_with(&format!("found {KIND} of {API_VERSION}"));
        let hint = if is_plugin_file { "; name it with --plugins" } else { "" };
        print(&format!("{}: {}: {}{hint}\n", report.place, report.reason.as_str(), report.message))?;
    }
    if findings == 0 {
        let pods = outcome.pods.map_or(0, |pods| pods.len());
        print(&format!("{}: ok, {pods} {}\n", path.display(), if pods == 1 { "pod" } else { "pods" }))?;
    }
    Ok(findings)
}

/// The node that plugins are to run on, as far as the command line says.
fn node(args: &CheckArgs) -> Result<NodeFacts, CheckError> {
    let mut facts = NodeFacts { name: args.node_name.clone(), ..NodeFacts::default() };
    facts.node.metadata.name = Some(args.node_name.clone());
    facts.node.metadata.labels = Some(node_labels(&args.node_labels)?);
    Ok(facts)
}

async fn check_plugins(
    path: &Path,
    node: NodeFacts,
    cache: &ComponentCacheArgs,
) -> Result<usize, CheckError> {
    let scratch = tempfile::tempdir().map_err(CheckError::Scratch)?;
    let wait = Wait::start("Compiling and loading plugins");
    let clock = Arc::new(SystemClock);
    let registries = plugins::registries(scratch.path().join("components"), None, Egress::system())?;
    let started = PluginHost::start(PluginHostConfig {
        tracer: witlet_ports::Tracer::off(),
        compiler: CompilerConfig::foreground(cache.or(scratch.path().join("plugins"))),
        plugins_file: Some(path.to_owned()),
        builtins: plugins::builtins(&[]),
        shipped: plugins::shipped(),
        fetcher: Some(registries.clone()),
        containers: None,
        state_folder: Some(scratch.path().join("state")),
        last_good_folder: None,
        data: DataConfig { artifacts: Some(registries), ..DataConfig::default() },
        decision_log_folder: None,
        in_cluster: false,
        node: Some(Arc::new(FixedNode::new(node))),
        recorder: None,
        events: Arc::new(EventLog::new(clock.clone())),
        clock,
    })
    .await;
    let host = match started {
        Ok(host) => host,
        Err(error) => {
            drop(wait);
            print(&format!("{}\n", one_line(&error)))?;
            return Ok(1);
        }
    };
    host.ready().await;
    drop(wait);
    let (mut findings, mut ready) = (0, 0);
    for plugin in host.list().into_iter().filter(|plugin| !plugin.builtin) {
        // Nothing is wrong yet: it may do without.
        for warning in &plugin.warnings {
            print(&format!("{}: plugin {}: warning: {warning}\n", path.display(), plugin.name))?;
        }
        if plugin.state == PluginState::Ready {
            ready += 1;
            continue;
        }
        findings += 1;
        let detail = plugin.detail.unwrap_or_default();
        print(&format!("{}: plugin {}: {}: {detail}\n", path.display(), plugin.name, plugin.state.as_str()))?;
    }
    // Nothing is wrong with what other hosts of the fleet are to have.
    for entry in host.skipped() {
        print(&format!("{}: plugin {}: {entry}\n", path.display(), entry.name))?;
    }
    for error in host.secret_errors() {
        findings += 1;
        print(&format!("{}: {error}\n", path.display()))?;
    }
    if findings == 0 {
        print(&format!(
            "{}: ok, {ready} {}\n",
            path.display(),
            if ready == 1 { "plugin" } else { "plugins" }
        ))?;
    }
    Ok(findings)
}
