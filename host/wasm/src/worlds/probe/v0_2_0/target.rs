//! What is probed: the pod, the container and its ports.

use k8s_openapi::api::core::v1::ContainerPort;
use wasmtime::component::Resource;

use super::super::handles::{ContainerHandle, PodHandle, PortPart, TargetHandle};
use super::bindings::witlet::probe::probe_types as wit;
use super::convert;
use crate::guest::async_guest::AsyncState;
use crate::worlds::maps::{pairs, value};

impl wit::HostTarget for AsyncState {
    fn pod(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<Resource<PodHandle>> {
        self.target(&target)?;
        Ok(Resource::new_own(self.serial()))
    }

    fn container(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<Resource<ContainerHandle>> {
        self.target(&target)?;
        Ok(Resource::new_own(self.serial()))
    }

    fn kind(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<String> {
        Ok(convert::kind(self.target(&target)?.request.kind).to_owned())
    }

    fn timeout_milliseconds(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<u64> {
        Ok(self.target(&target)?.timeout_milliseconds())
    }

    fn remaining_milliseconds(&mut self, target: Resource<TargetHandle>) -> wasmtime::Result<u64> {
        Ok(self.target(&target)?.remaining_milliseconds())
    }

    fn drop(&mut self, _target: Resource<TargetHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostPod for AsyncState {
    fn namespace(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(self.target(&pod)?.request.pod.metadata.namespace.clone().unwrap_or_default())
    }

    fn name(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(self.target(&pod)?.request.pod.metadata.name.clone().unwrap_or_default())
    }

    fn uid(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(self.target(&pod)?.request.pod.metadata.uid.clone().unwrap_or_default())
    }

    fn label(&mut self, pod: Resource<PodHandle>, key: String) -> wasmtime::Result<Option<String>> {
        Ok(value(self.target(&pod)?.request.pod.metadata.labels.as_ref(), &key))
    }

    fn labels(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(pairs(self.target(&pod)?.request.pod.metadata.labels.as_ref()))
    }

    fn annotation(&mut self, pod: Resource<PodHandle>, key: String) -> wasmtime::Result<Option<String>> {
        Ok(value(self.target(&pod)?.request.pod.metadata.annotations.as_ref(), &key))
    }

    fn annotations(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(pairs(self.target(&pod)?.request.pod.metadata.annotations.as_ref()))
    }

    fn addresses(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<String>> {
        Ok(self.target(&pod)?.request.pod_ips.iter().map(ToString::to_string).collect())
    }

    fn host_addresses(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<String>> {
        Ok(self.target(&pod)?.request.host_ips.iter().map(ToString::to_string).collect())
    }

    fn host_network(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<bool> {
        let spec = self.target(&pod)?.request.pod.spec.as_ref();
        Ok(spec.and_then(|spec| spec.host_network).unwrap_or(false))
    }

    fn json(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(self.target(&pod)?.json().to_owned())
    }

    fn pointer(&mut self, pod: Resource<PodHandle>, path: String) -> wasmtime::Result<Option<String>> {
        Ok(self.target(&pod)?.pointer(&path))
    }

    fn drop(&mut self, _pod: Resource<PodHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostContainer for AsyncState {
    fn name(&mut self, container: Resource<ContainerHandle>) -> wasmtime::Result<String> {
        Ok(self.target(&container)?.request.container.clone())
    }

    fn id(&mut self, container: Resource<ContainerHandle>) -> wasmtime::Result<String> {
        Ok(self.target(&container)?.request.container_id.to_string())
    }

    fn restarts(&mut self, container: Resource<ContainerHandle>) -> wasmtime::Result<u32> {
        Ok(self.target(&container)?.request.restarts)
    }

    fn image(&mut self, container: Resource<ContainerHandle>) -> wasmtime::Result<String> {
        let container = self.target(&container)?.container();
        Ok(container.and_then(|container| container.image.clone()).unwrap_or_default())
    }

    fn ports(&mut self, container: Resource<ContainerHandle>) -> wasmtime::Result<Vec<Resource<PortPart>>> {
        let (serial, ports) = (self.serial(), self.target(&container)?.ports().len());
        (0..ports).map(|index| Ok(self.resources().push(PortPart { serial, index })?)).collect()
    }

    fn port(&mut self, container: Resource<ContainerHandle>, name: String) -> wasmtime::Result<Option<u16>> {
        let mut ports = self.target(&container)?.named_ports();
        Ok(ports.find(|(known, _)| *known == name).map(|(_, port)| convert::number(port)))
    }

    fn pointer(
        &mut self,
        container: Resource<ContainerHandle>,
        path: String,
    ) -> wasmtime::Result<Option<String>> {
        Ok(self.target(&container)?.container_pointer(&path))
    }

    fn drop(&mut self, _container: Resource<ContainerHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl AsyncState {
    /// A port of the store's probe.
    fn port_part(&mut self, port: &Resource<PortPart>) -> wasmtime::Result<&ContainerPort> {
        let PortPart { serial, index } = *self.resources().get(port)?;
        match self.probe_of(serial)?.ports().get(index) {
            Some(port) => Ok(port),
            None => wasmtime::bail!("the container has no such port"),
        }
    }
}

impl wit::HostContainerPort for AsyncState {
    fn name(&mut self, port: Resource<PortPart>) -> wasmtime::Result<String> {
        Ok(self.port_part(&port)?.name.clone().unwrap_or_default())
    }

    fn number(&mut self, port: Resource<PortPart>) -> wasmtime::Result<u16> {
        Ok(convert::number(self.port_part(&port)?))
    }

    /// TCP is what a port is that says nothing.
    fn protocol(&mut self, port: Resource<PortPart>) -> wasmtime::Result<String> {
        Ok(self.port_part(&port)?.protocol.clone().unwrap_or_else(|| "TCP".to_owned()))
    }

    fn drop(&mut self, port: Resource<PortPart>) -> wasmtime::Result<()> {
        self.resources().delete(port)?;
        Ok(())
    }
}
