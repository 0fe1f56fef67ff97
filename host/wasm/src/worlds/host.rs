//! What every plugin may import (`witlet:host`), for the guests of both engines.

pub(crate) mod error;
pub(crate) mod v0_1_0;
pub(crate) mod v0_2_0;

use std::sync::Arc;

use wasmtime::component::{Linker, ResourceTable};
use witlet_core::node::NodeFacts;

use crate::guest::data::Data;
use crate::guest::known_node::KnownNode;
use crate::guest::log::GuestLog;
use crate::guest::secrets::GrantedSecrets;
use crate::metrics::custom::CustomMetrics;

/// What a guest's store has for it.
pub(crate) struct HostView<'a> {
    pub(crate) log: &'a GuestLog,
    /// As JSON text.
    pub(crate) config: &'a str,
    pub(crate) secrets: &'a GrantedSecrets,
    pub(crate) data: &'a [Data],
    pub(crate) metrics: &'a CustomMetrics,
    pub(crate) node: NodeOfCall<'a>,
    pub(crate) table: &'a mut ResourceTable,
}

/// The node as a call sees it.
pub(crate) enum NodeOfCall<'a> {
    /// A question about a pod brings it.
    Asked(&'a Arc<NodeFacts>),
    /// It is as new as the host has it.
    Known(&'a KnownNode),
}

impl NodeOfCall<'_> {
    pub(crate) fn facts(&self) -> Option<Arc<NodeFacts>> {
        match self {
            Self::Asked(facts) => Some((*facts).clone()),
            Self::Known(node) => node.newest(),
        }
    }
}

/// Adds all interfaces in all versions. That a component may have what it imports is found out before.
pub(crate) fn add_to_linker<T: 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> HostView<'_>,
) -> wasmtime::Result<()> {
    v0_1_0::add_to_linker(linker, view)?;
    v0_2_0::add_to_linker(linker, view)
}
