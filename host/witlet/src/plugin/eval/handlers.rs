//! The handlers that are asked: those of a plugin file, those that ship, or one alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use thiserror::Error;
use witlet_agent::EventLog;
use witlet_core::admission::Operation;
use witlet_core::error::one_line;
use witlet_core::node::NodeFacts;
use witlet_egress::Egress;
use witlet_node::SystemClock;
use witlet_oci::RegistryError;
use witlet_ports::NodeWatch;
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::host::{DataConfig, PluginHost, PluginHostConfig, StartError};
use witlet_wasm::plugin::config::{API_VERSION, KIND};
use witlet_wasm::plugin::{Builtin, BuiltinRole};

use crate::cli::{EvalArgs, HandlerArgs, OperationArg, RegistryArgs};
use crate::plugin::component::{self, ComponentError};
use crate::plugin::entry::{self, EntryError};
use crate::plugin::eval::files::{Files, ReadError};
use crate::plugin::fixed_node::FixedNode;
use crate::progress::Wait;
use crate::run::plugins;

/// The shipped handler that evaluates expressions.
const CEL: &str = "cel";
/// What the component of a handler alone is called in the temporary folder.
const COMPONENT: &str = "component.wasm";
/// A handler alone whose component has no name that an entry could have.
const NAME_DEFAULT: &str = "component";
/// Longest name of an entry.
const NAME_BYTES_MAX: usize = 63;

/// Why no handler can be asked.
#[derive(Debug, Error)]
pub(crate) enum HandlersError {
    /// This build has no handler for expressions.
    #[error(
        "--expression needs the shipped handler `{CEL}`, which this build does not have: ask another one with --component or --plugins"
    )]
    NoExpressions,
    /// The component can't be had.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// A flag's file can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A flag's value isn't one.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The temporary folder can't be written.
    #[error("failed to write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// There is no space for components from registries.
    #[error(transparent)]
    Registries(#[from] RegistryError),
    /// The plugin file isn't taken, or nothing works.
    #[error(transparent)]
    Start(#[from] StartError),
}

impl HandlersError {
    /// Whether what the command was given is wrong, rather than the machine.
    pub(in crate::plugin) fn is_invalid_input(&self) -> bool {
        match self {
            Self::Start(StartError::Configuration(_))
            | Self::Component(_)
            | Self::Read(_)
            | Self::Entry(_) => true,
            Self::NoExpressions | Self::Write { .. } | Self::Registries(_) | Self::Start(_) => false,
        }
    }
}

/// The only handler that is asked.
#[derive(Clone, Debug)]
pub(in crate::plugin) struct SingleHandler {
    name: String,
    wasm: Arc<[u8]>,
    config: Value,
    limits: Value,
    /// Whether it is asked about pods that run.
    rechecks: bool,
}

impl SingleHandler {
    /// The one that the command line names, if it names one.
    pub(in crate::plugin) async fn of(
        args: &EvalArgs,
        files: &mut Files,
    ) -> Result<Option<Self>, HandlersError> {
        let (source, config) = match (&args.expression, &args.component) {
            (Some(expression), _) => {
                if !component::shipped().any(|shipped| shipped.name == CEL) {
                    return Err(HandlersError::NoExpressions);
                }
                let config = expression_config(expression, args.message.as_deref(), args.operation.into());
                (format!("builtin:{CEL}"), config)
            }
            (None, Some(source)) => (source.clone(), config(args.config.as_deref(), files)?),
            (None, None) => return Ok(None),
        };
        let registry = RegistryArgs {
            registry_credentials: args.handlers.registry_credentials.clone(),
            ..RegistryArgs::default()
        };
        let component = component::read(&source, &registry).await?;
        let limits = args.limits.as_deref().map(|text| entry::value("--limits", text)).transpose()?;
        Ok(Some(Self {
            name: entry_name(&component.name),
            wasm: component.wasm,
            config,
            limits: limits.unwrap_or_else(|| json!({})),
            rechecks: args.operation == OperationArg::Recheck,
        }))
    }

    fn role(&self) -> Value {
        let mut role = json!({"match": {"systemPods": true}});
        if self.rechecks {
            // No one waits for it, but without an interval it is never asked.
            role["recheck"] = json!("1h");
        }
        role
    }

    /// A plugin file with it alone. It is asked about every pod: a handler that is named is to answer.
    fn file(&self, reserved: &[Builtin]) -> Value {
        let is_reserved = reserved.iter().any(|builtin| builtin.name == self.name);
        let name = if is_reserved { NAME_DEFAULT } else { &self.name };
        json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "plugins": [{
                "name": name,
                "component": format!("./{COMPONENT}"),
                "admission": self.role(),
                "limits": self.limits,
                "config": self.config,
            }],
        })
    }
}

/// `config:` of the handler `cel`, which is to be asked about this operation.
fn expression_config(expression: &str, message: Option<&str>, operation: Operation) -> Value {
    let mut validation = json!({ "expression": expression });
    if let Some(message) = message {
        validation["message"] = json!(message);
    }
    json!({"validations": [validation], "operations": [operation.as_str()]})
}

fn config(text: Option<&str>, files: &mut Files) -> Result<Value, HandlersError> {
    let Some(text) = text else { return Ok(Value::Null) };
    Ok(match config_file(text) {
        Some(path) => entry::value("--config", &files.read_text(path)?)?,
        None => entry::config_value(text)?,
    })
}

/// The file that `--config` names: as `witlet plugin test` has it, or after an `@` whether it is there or not.
pub(super) fn config_file(text: &str) -> Option<&Path> {
    let as_is = Path::new(text);
    text.strip_prefix('@').map(Path::new).or_else(|| as_is.is_file().then_some(as_is))
}

/// A component's name as an entry's: lower-case letters, digits and dashes.
fn entry_name(component: &str) -> String {
    let stem = component.strip_suffix(".wasm").unwrap_or(component).to_lowercase();
    let letters = stem.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    let name: String = letters.take(NAME_BYTES_MAX).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { NAME_DEFAULT.to_owned() } else { name.to_owned() }
}

/// Loads the handlers as a daemon of this node does, with all that it needs in the folder `scratch`. Returns when each was tried.
pub(in crate::plugin) async fn start(
    args: &HandlerArgs,
    single: Option<&SingleHandler>,
    in_cluster: bool,
    node: Option<Arc<NodeFacts>>,
    scratch: &Path,
) -> Result<Arc<PluginHost>, HandlersError> {
    let with_shipped = args.shipped.unwrap_or(single.is_none());
    let mut builtins =
        if with_shipped { plugins::builtins(&args.allowed_unsafe_sysctls) } else { Vec::new() };
    if args.plugins.is_none() {
        // No entry can take their names.
        builtins.retain(|builtin| matches!(builtin.role, BuiltinRole::Admission { .. }));
    }
    let plugins_file = match single {
        None => args.plugins.clone(),
        Some(single) => {
            write(&scratch.join(COMPONENT), &single.wasm)?;
            let path = scratch.join("plugins.yaml");
            write(&path, single.file(&builtins).to_string().as_bytes())?;
            Some(path)
        }
    };
    let _wait = Wait::start("Compiling and loading plugins");
    let clock = Arc::new(SystemClock);
    let credentials = args.registry_credentials.as_deref();
    let registries = plugins::registries(scratch.join("components"), credentials, Egress::system())?;
    let host = PluginHost::start_trial(PluginHostConfig {
        tracer: witlet_ports::Tracer::off(),
        compiler: CompilerConfig::foreground(args.cache.or(scratch.join("code"))),
        plugins_file,
        builtins,
        shipped: plugins::shipped(),
        fetcher: Some(registries.clone()),
        containers: None,
        state_folder: Some(scratch.join("state")),
        last_good_folder: None,
        data: DataConfig {
            folder: args.kept_data.clone(),
            artifacts: Some(registries),
            jitter: None,
            offline: args.kept_data.is_some(),
        },
        decision_log_folder: None,
        in_cluster,
        node: node.map(|node| Arc::new(FixedNode::new(node)) as Arc<dyn NodeWatch>),
        recorder: None,
        events: Arc::new(EventLog::new(clock.clone())),
        clock,
    })
    .await?;
    host.ready().await;
    Ok(host)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), HandlersError> {
    std::fs::write(path, bytes).map_err(|cause| HandlersError::Write { path: path.to_owned(), cause })
}

/// What isn't wrong with them, and worth a line.
pub(in crate::plugin) fn skipped(host: &PluginHost) -> Vec<String> {
    host.skipped().iter().map(|entry| format!("plugin {}: {entry}", entry.name)).collect()
}

/// What they warned of when they were loaded.
pub(in crate::plugin) fn warnings(host: &PluginHost) -> Vec<String> {
    let configured = host.list().into_iter().filter(|plugin| !plugin.builtin);
    let sentence = |name: &str, warning: &str| format!("warning: plugin {name}: {warning}");
    let of_plugin = |plugin: witlet_wasm::plugin::PluginStatus| {
        let sentences = plugin.warnings.iter().map(|warning| sentence(&plugin.name, warning));
        sentences.collect::<Vec<_>>()
    };
    configured.flat_map(of_plugin).collect()
}

/// An error that is the input's fault, as a problem of the report.
pub(in crate::plugin) fn as_problem(error: HandlersError) -> Result<String, HandlersError> {
    if error.is_invalid_input() { Ok(one_line(&error)) } else { Err(error) }
}

#[cfg(test)]
mod tests;
