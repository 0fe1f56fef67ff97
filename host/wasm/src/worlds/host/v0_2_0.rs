//! `witlet:host@0.2.0`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tracing::Level;
use wasmtime::component::{HasData, Linker, Resource};
use witlet_core::node::NodeFacts;
use witlet_core::pod::resources;

use super::HostView;
use super::error::GuestError;
use crate::guest::data::OpenSnapshot;
use crate::guest::log::Line;
use crate::guest::secrets::NoSecret;
use crate::plugin::config::has_feature;
use bindings::witlet::host::{config, data, errors, features, log, metrics, node, secret};

pub(crate) mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the WIT documents it")]
    wasmtime::component::bindgen!({
        path: "../../wit/host-0.2.0",
        inline: "package witlet:adapter;
            world host {
                import witlet:host/errors@0.2.0;
                import witlet:host/log@0.2.0;
                import witlet:host/config@0.2.0;
                import witlet:host/data@0.2.0;
                import witlet:host/metrics@0.2.0;
                import witlet:host/secret@0.2.0;
                import witlet:host/node@0.2.0;
                import witlet:host/features@0.2.0;
            }",
        world: "witlet:adapter/host",
        imports: { default: trappable },
        with: {
            "witlet:host/errors.error": crate::worlds::host::error::GuestError,
            "witlet:host/data.snapshot": crate::guest::data::OpenSnapshot,
        },
    });
}

/// The label that says in which zone a node is.
const ZONE: &str = "topology.kubernetes.io/zone";

struct HostData;

impl HasData for HostData {
    type Data<'a> = HostView<'a>;
}

/// Adds all interfaces. That a component may have what it imports is found out before.
pub(crate) fn add_to_linker<T: 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> HostView<'_>,
) -> wasmtime::Result<()> {
    errors::add_to_linker::<T, HostData>(linker, view)?;
    log::add_to_linker::<T, HostData>(linker, view)?;
    config::add_to_linker::<T, HostData>(linker, view)?;
    data::add_to_linker::<T, HostData>(linker, view)?;
    metrics::add_to_linker::<T, HostData>(linker, view)?;
    secret::add_to_linker::<T, HostData>(linker, view)?;
    node::add_to_linker::<T, HostData>(linker, view)?;
    features::add_to_linker::<T, HostData>(linker, view)
}

impl errors::Host for HostView<'_> {}

impl errors::HostError for HostView<'_> {
    fn new(&mut self, code: String, message: String) -> wasmtime::Result<Resource<GuestError>> {
        Ok(self.table.push(GuestError::new(&code, &message))?)
    }

    fn code(&mut self, error: Resource<GuestError>) -> wasmtime::Result<String> {
        Ok(self.table.get(&error)?.code.clone())
    }

    fn message(&mut self, error: Resource<GuestError>) -> wasmtime::Result<String> {
        Ok(self.table.get(&error)?.message.clone())
    }

    fn retry_after_milliseconds(&mut self, error: Resource<GuestError>) -> wasmtime::Result<Option<u64>> {
        let retry_after = self.table.get(&error)?.retry_after;
        Ok(retry_after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)))
    }

    fn set_retry_after_milliseconds(
        &mut self,
        error: Resource<GuestError>,
        milliseconds: u64,
    ) -> wasmtime::Result<()> {
        self.table.get_mut(&error)?.retry_after = Some(Duration::from_millis(milliseconds));
        Ok(())
    }

    fn detail(&mut self, error: Resource<GuestError>, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.table.get(&error)?.detail(&key).cloned())
    }

    fn set_detail(
        &mut self,
        error: Resource<GuestError>,
        key: String,
        value: String,
    ) -> wasmtime::Result<()> {
        self.table.get_mut(&error)?.set_detail(&key, &value);
        Ok(())
    }

    fn drop(&mut self, error: Resource<GuestError>) -> wasmtime::Result<()> {
        self.table.delete(error)?;
        Ok(())
    }
}

fn level(level: log::Level) -> Level {
    match level {
        log::Level::Trace => Level::TRACE,
        log::Level::Debug => Level::DEBUG,
        log::Level::Info => Level::INFO,
        log::Level::Warn => Level::WARN,
        log::Level::Error => Level::ERROR,
    }
}

impl log::Host for HostView<'_> {
    fn enabled(&mut self, level: log::Level) -> wasmtime::Result<bool> {
        Ok(self.log.is_enabled(self::level(level)))
    }

    fn write(
        &mut self,
        level: log::Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        self.log.write(Line { level: self::level(level), message, fields });
        Ok(())
    }
}

impl config::Host for HostView<'_> {
    fn get(&mut self) -> wasmtime::Result<String> {
        Ok(self.config.to_owned())
    }
}

impl data::Host for HostView<'_> {
    fn names(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(self.data.iter().map(|data| data.name.to_string()).collect())
    }

    fn open(
        &mut self,
        name: String,
    ) -> wasmtime::Result<Result<Resource<OpenSnapshot>, Resource<GuestError>>> {
        if let Some(data) = self.data.iter().find(|data| *data.name == *name) {
            return Ok(Ok(self.table.push(OpenSnapshot(data.snapshot.clone()))?));
        }
        let error = GuestError::new("NotFound", &format!("the plugin's entry has no data {name:?}"));
        Ok(Err(self.table.push(error)?))
    }
}

impl data::HostSnapshot for HostView<'_> {
    fn digest(&mut self, snapshot: Resource<OpenSnapshot>) -> wasmtime::Result<String> {
        Ok(format!("sha256:{}", self.table.get(&snapshot)?.0.digest()))
    }

    fn size(&mut self, snapshot: Resource<OpenSnapshot>) -> wasmtime::Result<u64> {
        Ok(self.table.get(&snapshot)?.0.bytes().len() as u64)
    }

    fn read(
        &mut self,
        snapshot: Resource<OpenSnapshot>,
        offset: u64,
        length: u64,
    ) -> wasmtime::Result<Vec<u8>> {
        Ok(self.table.get(&snapshot)?.0.read(offset, length).to_vec())
    }

    fn drop(&mut self, snapshot: Resource<OpenSnapshot>) -> wasmtime::Result<()> {
        self.table.delete(snapshot)?;
        Ok(())
    }
}

impl metrics::Host for HostView<'_> {
    fn add(&mut self, name: String, labels: Vec<(String, String)>, amount: u64) -> wasmtime::Result<()> {
        self.metrics.add(name, labels, amount);
        Ok(())
    }

    fn observe(&mut self, name: String, labels: Vec<(String, String)>, value: f64) -> wasmtime::Result<()> {
        self.metrics.observe(name, labels, value);
        Ok(())
    }
}

impl secret::Host for HostView<'_> {
    fn get(&mut self, name: String) -> wasmtime::Result<Result<Vec<u8>, Resource<GuestError>>> {
        let error = match self.secrets.get(&name) {
            Ok(value) => return Ok(Ok(value.to_vec())),
            Err(NoSecret::NotGranted) => {
                let message = format!("the plugin isn't granted the secret {name:?} (grants.secrets)");
                GuestError::new("NotGranted", &message)
            }
            Err(NoSecret::NotFound) => {
                GuestError::new("NotFound", &format!("the node doesn't have the secret {name:?}"))
            }
        };
        Ok(Err(self.table.push(error)?))
    }
}

fn labels(facts: &NodeFacts) -> Option<&BTreeMap<String, String>> {
    facts.node.metadata.labels.as_ref()
}

impl HostView<'_> {
    fn node_label(&self, key: &str) -> Option<String> {
        let facts = self.node.facts()?;
        labels(&facts)?.get(key).cloned()
    }
}

impl node::Host for HostView<'_> {
    fn name(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(self.node.facts().map(|facts| facts.name.clone()))
    }

    fn label(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.node_label(&key))
    }

    fn labels(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        let facts: Option<Arc<NodeFacts>> = self.node.facts();
        let pairs = facts.iter().filter_map(|facts| labels(facts)).flatten();
        Ok(pairs.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    fn zone(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(self.node_label(ZONE))
    }

    fn addresses(&mut self) -> wasmtime::Result<Vec<String>> {
        let addresses = self.node.facts().map(|facts| facts.addresses.clone());
        Ok(addresses.into_iter().flatten().map(|address| address.to_string()).collect())
    }

    fn allocatable(&mut self, resource: String) -> wasmtime::Result<Option<i64>> {
        let amount = |facts: Arc<NodeFacts>| {
            resources::amount_in(facts.node.status.as_ref()?.allocatable.as_ref(), &resource)
        };
        Ok(self.node.facts().and_then(amount))
    }
}

impl features::Host for HostView<'_> {
    fn has(&mut self, name: String) -> wasmtime::Result<bool> {
        Ok(has_feature(&name))
    }
}
