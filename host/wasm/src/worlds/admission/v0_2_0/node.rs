//! The node, its taints and its conditions.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, NodeCondition};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use wasmtime::component::Resource;
use witlet_core::pod::resources::amount_in;

use super::super::handles::{ConditionPart, HostPortPart, NodeHandle, TaintPart};
use super::super::values::pairs;
use super::bindings::witlet::admission::admission_types as wit;
use super::convert;
use crate::guest::GuestState;

type Quantities = BTreeMap<String, Quantity>;

fn capacity(node: &Node) -> Option<&Quantities> {
    node.status.as_ref()?.capacity.as_ref()
}

fn allocatable(node: &Node) -> Option<&Quantities> {
    node.status.as_ref()?.allocatable.as_ref()
}

impl wit::HostNode for GuestState {
    fn name(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<String> {
        Ok(self.node(&node)?.node.facts.name.clone())
    }

    fn label(&mut self, node: Resource<NodeHandle>, key: String) -> wasmtime::Result<Option<String>> {
        Ok(convert::value(self.node(&node)?.node.facts.node.metadata.labels.as_ref(), &key))
    }

    fn labels(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(pairs(self.node(&node)?.node.facts.node.metadata.labels.as_ref()))
    }

    fn taints(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<Resource<TaintPart>>> {
        let taints = self.node(&node)?.node.taints().to_vec();
        self.hand_out_all(0, &taints)
    }

    fn condition(
        &mut self,
        node: Resource<NodeHandle>,
        kind: String,
    ) -> wasmtime::Result<Option<Resource<ConditionPart>>> {
        let conditions = self.node(&node)?.node.conditions();
        let is_it = |condition: &&Arc<NodeCondition>| condition.type_ == kind;
        let found = conditions.iter().find(is_it).cloned();
        found.map(|condition| self.hand_out(0, &condition)).transpose()
    }

    fn conditions(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<Resource<ConditionPart>>> {
        let conditions = self.node(&node)?.node.conditions().to_vec();
        self.hand_out_all(0, &conditions)
    }

    fn resources(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<String>> {
        let request = self.node(&node)?;
        let node = &request.node.facts.node;
        let known = [capacity(node), allocatable(node)].into_iter().flatten().flat_map(Quantities::keys);
        Ok(convert::names(known.chain(request.requested().keys())))
    }

    fn capacity(&mut self, node: Resource<NodeHandle>, resource: String) -> wasmtime::Result<Option<i64>> {
        Ok(amount_in(capacity(&self.node(&node)?.node.facts.node), &resource))
    }

    fn allocatable(&mut self, node: Resource<NodeHandle>, resource: String) -> wasmtime::Result<Option<i64>> {
        Ok(amount_in(allocatable(&self.node(&node)?.node.facts.node), &resource))
    }

    fn requested(&mut self, node: Resource<NodeHandle>, resource: String) -> wasmtime::Result<i64> {
        Ok(self.node(&node)?.requested().get(&resource).copied().unwrap_or(0))
    }

    fn available(&mut self, node: Resource<NodeHandle>, resource: String) -> wasmtime::Result<Option<i64>> {
        let request = self.node(&node)?;
        let requested = request.requested().get(&resource).copied().unwrap_or(0);
        let allocatable = amount_in(allocatable(&request.node.facts.node), &resource);
        Ok(allocatable.map(|allocatable| allocatable.saturating_sub(requested)))
    }

    fn used(&mut self, node: Resource<NodeHandle>, resource: String) -> wasmtime::Result<Option<i64>> {
        Ok(self.node(&node)?.node.facts.observed.used.get(&resource).copied())
    }

    fn used_host_ports(
        &mut self,
        node: Resource<NodeHandle>,
    ) -> wasmtime::Result<Vec<Resource<HostPortPart>>> {
        let ports = self.node(&node)?.used_host_ports().to_vec();
        self.hand_out_all(0, &ports)
    }

    fn fact(&mut self, node: Resource<NodeHandle>, key: String) -> wasmtime::Result<Option<String>> {
        Ok(convert::value(Some(&self.node(&node)?.node.facts.facts), &key))
    }

    fn facts(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(pairs(Some(&self.node(&node)?.node.facts.facts)))
    }

    fn devices(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<String> {
        let devices = &self.node(&node)?.node.facts.devices;
        Ok(if devices.is_empty() { "[]".to_owned() } else { devices.clone() })
    }

    fn json(&mut self, node: Resource<NodeHandle>) -> wasmtime::Result<String> {
        Ok(self.node(&node)?.node.json().to_owned())
    }

    fn pointer(&mut self, node: Resource<NodeHandle>, path: String) -> wasmtime::Result<Option<String>> {
        Ok(self.node(&node)?.node.pointer(&path))
    }

    fn drop(&mut self, _node: Resource<NodeHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostTaint for GuestState {
    fn key(&mut self, taint: Resource<TaintPart>) -> wasmtime::Result<String> {
        Ok(self.part(&taint)?.key.clone())
    }

    fn value(&mut self, taint: Resource<TaintPart>) -> wasmtime::Result<String> {
        Ok(self.part(&taint)?.value.clone().unwrap_or_default())
    }

    fn effect(&mut self, taint: Resource<TaintPart>) -> wasmtime::Result<String> {
        Ok(self.part(&taint)?.effect.clone())
    }

    fn drop(&mut self, taint: Resource<TaintPart>) -> wasmtime::Result<()> {
        self.drop_part(taint)
    }
}

impl wit::HostCondition for GuestState {
    fn kind(&mut self, condition: Resource<ConditionPart>) -> wasmtime::Result<String> {
        Ok(self.part(&condition)?.type_.clone())
    }

    fn status(&mut self, condition: Resource<ConditionPart>) -> wasmtime::Result<String> {
        Ok(self.part(&condition)?.status.clone())
    }

    fn reason(&mut self, condition: Resource<ConditionPart>) -> wasmtime::Result<String> {
        Ok(self.part(&condition)?.reason.clone().unwrap_or_default())
    }

    fn message(&mut self, condition: Resource<ConditionPart>) -> wasmtime::Result<String> {
        Ok(self.part(&condition)?.message.clone().unwrap_or_default())
    }

    fn drop(&mut self, condition: Resource<ConditionPart>) -> wasmtime::Result<()> {
        self.drop_part(condition)
    }
}
