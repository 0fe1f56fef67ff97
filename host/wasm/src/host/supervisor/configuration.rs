//! Where plugins come from: the built-ins, what ships, and what the configuration names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use witlet_core::node::NodeFacts;

use super::super::data::DataStore;
use super::super::last_good::LastGood;
use super::super::{FileError, files};
use crate::guest::known_node::KnownNode;
use crate::plugin::config::{
    self, ConfigError, DataSource, PluginConfiguration, SecretEntry, Shipped, Values,
};
use crate::plugin::{Builtin, BuiltinRole, EntryInputs, Required, Spec};

/// How long the first configuration stays as it is before it is taken for bad.
pub(super) const WRITE_WAIT: Duration = Duration::from_millis(250);

/// How often it may change meanwhile.
pub(super) const WRITES_MAX: usize = 20;

/// Where plugins come from.
pub(in crate::host) struct Sources {
    pub(in crate::host) plugins_file: Option<PathBuf>,
    pub(in crate::host) builtins: Vec<Builtin>,
    pub(in crate::host) shipped: Vec<(&'static str, &'static [u8])>,
    /// Where the last good set is kept; without it a bad configuration fails the start.
    pub(in crate::host) last_good: Option<LastGood>,
    /// Whose values configurations may name.
    pub(in crate::host) node: KnownNode,
    /// Data that configurations name.
    pub(in crate::host) data: DataStore,
}

/// A configuration with its text.
#[derive(Default)]
pub(super) struct ReadConfiguration {
    pub(super) text: String,
    pub(super) configuration: PluginConfiguration,
}

impl Sources {
    pub(super) fn builtin_specs(&self) -> Vec<Spec> {
        let orders = i32::MIN..;
        self.builtins.iter().zip(orders).map(|(builtin, order)| Spec::builtin(builtin, order)).collect()
    }

    /// Returns what the file says; nothing if there is none.
    pub(super) fn read(&self) -> Result<ReadConfiguration, FileError> {
        let Some(path) = &self.plugins_file else { return Ok(ReadConfiguration::default()) };
        let text = read_text(path)?;
        match self.parse(&text) {
            Ok(configuration) => Ok(ReadConfiguration { text, configuration }),
            Err(cause) => Err(FileError::Content { path: path.clone(), cause }),
        }
    }

    pub(super) fn parse(&self, text: &str) -> Result<PluginConfiguration, ConfigError> {
        let reserved: Vec<&str> = self.builtins.iter().map(|builtin| builtin.name).collect();
        let types = self.builtins.iter().filter_map(|builtin| match builtin.role {
            BuiltinRole::Admission { .. } => None,
            BuiltinRole::Probe { probe_type } => Some(probe_type),
        });
        let probe_types: Vec<&str> = types.collect();
        let components: Vec<&str> = self.shipped.iter().map(|(name, _)| *name).collect();
        let shipped = Shipped { reserved: &reserved, probe_types: &probe_types, components: &components };
        config::parse(text, shipped)
    }

    /// The same at the start. A file that is just being written is read again: without an older configuration to go on
    /// with, the host doesn't start, and that shouldn't depend on the moment.
    pub(super) async fn read_first(&self) -> Result<ReadConfiguration, FileError> {
        for _ in 0..WRITES_MAX {
            let before = files::fingerprints(self.plugins_file.clone());
            let error = match self.read() {
                Ok(taken) => return Ok(taken),
                Err(error) => error,
            };
            tokio::time::sleep(WRITE_WAIT).await;
            if files::fingerprints(self.plugins_file.clone()) == before {
                return Err(error);
            }
        }
        self.read()
    }

    /// Returns what relative paths in the configuration begin with.
    fn folder(&self) -> &Path {
        self.plugins_file.as_deref().and_then(Path::parent).unwrap_or(Path::new("."))
    }

    /// Manages the data that the configuration names, and forgets others. Returns where those are that are new.
    pub(super) fn want_data(&mut self, configuration: &PluginConfiguration) -> Vec<DataSource> {
        let folder = self.folder().to_path_buf();
        let entries = configuration.plugins.iter().flat_map(|entry| &entry.data);
        self.data.want(entries, &folder)
    }

    /// The built-ins, then the file's handlers by their order, then the rest, with what the node has for them. Secrets with
    /// paths that can be opened.
    pub(super) fn specs(
        &self,
        configuration: PluginConfiguration,
        node: Option<&NodeFacts>,
    ) -> (Vec<Spec>, Vec<SecretEntry>) {
        let folder = self.folder();
        let mut specs = self.builtin_specs();
        let required = Required {
            conformance: configuration.require_conformance.as_ref(),
            signature: configuration.require_signature.as_ref(),
        };
        let entries = configuration.plugins.into_iter();
        // The parser knows the names of what is shipped, so that none is left out.
        let mut configured: Vec<Spec> = entries
            .filter_map(|entry| {
                let inputs = EntryInputs { node, data: self.data.of_entry(&entry.data, folder) };
                Spec::configured(entry, folder, required, &self.shipped, inputs)
            })
            .collect();
        sort(&mut configured);
        specs.extend(configured);
        let secrets = configuration.secrets.into_iter();
        let secrets = secrets.map(|secret| SecretEntry { file: folder.join(secret.file), ..secret });
        (specs, secrets.collect())
    }
}

/// The handlers by their order, each that takes another's place right behind that one; then what is no handler.
fn sort(specs: &mut [Spec]) {
    let places: BTreeMap<Arc<str>, usize> =
        specs.iter().enumerate().map(|(place, spec)| (spec.name.clone(), place)).collect();
    specs.sort_by_cached_key(|spec| {
        let order = spec.admission.as_ref().map_or(i64::MAX, |role| role.order.into());
        let of = spec.rollout().map(|rollout| &rollout.of);
        let place = places.get(of.unwrap_or(&spec.name)).copied();
        (order, place, of.is_some())
    });
}

/// The values of this node that the configuration names.
pub(super) fn values(configuration: &PluginConfiguration, node: Option<&NodeFacts>) -> Values {
    let configs = configuration.plugins.iter().map(|entry| &entry.config);
    configs.flat_map(|config| config::variable_values(config, node)).collect()
}

/// Reads at most one byte more than the parser takes.
fn read_text(path: &Path) -> Result<String, FileError> {
    use std::io::Read as _;
    let read = || {
        let mut text = String::new();
        let limit = config::FILE_BYTES_MAX as u64 + 1;
        crate::compile::open_file(path)?.take(limit).read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|cause| FileError::Read { path: path.to_path_buf(), cause })
}
