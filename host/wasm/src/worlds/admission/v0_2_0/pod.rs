//! Pods and their containers.

use k8s_openapi::api::core::v1::PodSpec;
use wasmtime::component::Resource;
use witlet_core::admission::facts::{has_service_account_token, service_account};
use witlet_core::pod::resources;

use super::super::facts::PodFacts;
use super::super::handles::{
    ContainerPart, ContainerPortPart, HostPortPart, ImagePart, MountPart, OwnerPart, PodHandle, VolumePart,
    index,
};
use super::super::values::pairs;
use super::bindings::witlet::admission::admission_types as wit;
use super::convert;
use crate::guest::GuestState;

fn spec(pod: &PodFacts) -> Option<&PodSpec> {
    pod.pod.spec.as_ref()
}

/// A flag of the spec; false where there is none.
fn is(pod: &PodFacts, flag: fn(&PodSpec) -> Option<bool>) -> bool {
    spec(pod).and_then(flag).unwrap_or_default()
}

impl wit::HostPod for GuestState {
    fn namespace(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(self.pod(&pod)?.pod.metadata.namespace.clone().unwrap_or_default())
    }

    fn name(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(self.pod(&pod)?.pod.metadata.name.clone().unwrap_or_default())
    }

    fn uid(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(self.pod(&pod)?.uid().to_owned())
    }

    fn source(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(self.pod(&pod)?.source.to_string())
    }

    fn label(&mut self, pod: Resource<PodHandle>, key: String) -> wasmtime::Result<Option<String>> {
        Ok(convert::value(self.pod(&pod)?.pod.metadata.labels.as_ref(), &key))
    }

    fn labels(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(pairs(self.pod(&pod)?.pod.metadata.labels.as_ref()))
    }

    fn annotation(&mut self, pod: Resource<PodHandle>, key: String) -> wasmtime::Result<Option<String>> {
        Ok(convert::value(self.pod(&pod)?.pod.metadata.annotations.as_ref(), &key))
    }

    fn annotations(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(pairs(self.pod(&pod)?.pod.metadata.annotations.as_ref()))
    }

    fn owners(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<Resource<OwnerPart>>> {
        let owners = self.pod(&pod)?.owners().to_vec();
        self.hand_out_all(index(&pod), &owners)
    }

    fn service_account(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(service_account(&self.pod(&pod)?.pod).to_owned())
    }

    fn has_service_account_token(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<bool> {
        Ok(has_service_account_token(&self.pod(&pod)?.pod))
    }

    fn priority(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<i32> {
        Ok(spec(self.pod(&pod)?).and_then(|spec| spec.priority).unwrap_or(0))
    }

    fn priority_class(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(spec(self.pod(&pod)?).and_then(|spec| spec.priority_class_name.clone()).unwrap_or_default())
    }

    fn runtime_class(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(spec(self.pod(&pod)?).and_then(|spec| spec.runtime_class_name.clone()).unwrap_or_default())
    }

    fn runtime_handler(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Option<String>> {
        let handler = self.observed(&pod)?.runtime_handler(&self.pod(&pod)?.pod);
        Ok(handler.map(str::to_owned))
    }

    fn qos(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(resources::qos(&self.pod(&pod)?.pod).as_str().to_owned())
    }

    fn host_network(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<bool> {
        Ok(is(self.pod(&pod)?, |spec| spec.host_network))
    }

    fn host_pid(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<bool> {
        Ok(is(self.pod(&pod)?, |spec| spec.host_pid))
    }

    fn host_ipc(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<bool> {
        Ok(is(self.pod(&pod)?, |spec| spec.host_ipc))
    }

    fn host_users(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<bool> {
        Ok(spec(self.pod(&pod)?).and_then(|spec| spec.host_users).unwrap_or(true))
    }

    fn containers(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<Resource<ContainerPart>>> {
        let containers = self.pod(&pod)?.containers().to_vec();
        self.hand_out_all(index(&pod), &containers)
    }

    fn images(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<Resource<ImagePart>>> {
        let images: Vec<_> = self.pod(&pod)?.images().cloned().collect();
        self.hand_out_all(index(&pod), &images)
    }

    fn volumes(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<Resource<VolumePart>>> {
        let volumes = self.pod(&pod)?.volumes().to_vec();
        self.hand_out_all(index(&pod), &volumes)
    }

    fn resources(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<String>> {
        let pod = self.pod(&pod)?;
        Ok(convert::names(pod.requests().keys().chain(pod.limits().keys())))
    }

    fn request(&mut self, pod: Resource<PodHandle>, resource: String) -> wasmtime::Result<Option<i64>> {
        Ok(self.pod(&pod)?.requests().get(&resource).copied())
    }

    fn limit(&mut self, pod: Resource<PodHandle>, resource: String) -> wasmtime::Result<Option<i64>> {
        Ok(self.pod(&pod)?.limits().get(&resource).copied())
    }

    fn host_ports(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<Vec<Resource<HostPortPart>>> {
        let ports = self.pod(&pod)?.host_ports().to_vec();
        self.hand_out_all(index(&pod), &ports)
    }

    fn json(&mut self, pod: Resource<PodHandle>) -> wasmtime::Result<String> {
        Ok(self.pod(&pod)?.json().to_owned())
    }

    fn pointer(&mut self, pod: Resource<PodHandle>, path: String) -> wasmtime::Result<Option<String>> {
        Ok(self.pod(&pod)?.pointer(&path))
    }

    fn drop(&mut self, _pod: Resource<PodHandle>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl wit::HostContainer for GuestState {
    fn name(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<String> {
        Ok(self.part(&container)?.name.clone())
    }

    fn kind(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<String> {
        Ok(self.part(&container)?.kind.as_str().to_owned())
    }

    fn place(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<String> {
        Ok(self.part(&container)?.place())
    }

    fn image(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<Resource<ImagePart>> {
        let (pod, _) = self.pod_of(&container)?;
        let image = self.part(&container)?.image.clone();
        self.hand_out(pod, &image)
    }

    fn pull_policy(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<String> {
        Ok(self.part(&container)?.pull_policy.clone())
    }

    fn resources(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<Vec<String>> {
        let container = self.part(&container)?;
        Ok(convert::names(container.requests.keys().chain(container.limits.keys())))
    }

    fn request(
        &mut self,
        container: Resource<ContainerPart>,
        resource: String,
    ) -> wasmtime::Result<Option<i64>> {
        Ok(self.part(&container)?.requests.get(&resource).copied())
    }

    fn limit(
        &mut self,
        container: Resource<ContainerPart>,
        resource: String,
    ) -> wasmtime::Result<Option<i64>> {
        Ok(self.part(&container)?.limits.get(&resource).copied())
    }

    fn privileged(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<bool> {
        Ok(self.part(&container)?.security.privileged)
    }

    fn run_as_non_root(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<bool> {
        Ok(self.part(&container)?.security.run_as_non_root)
    }

    fn run_as_user(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<Option<i64>> {
        Ok(self.part(&container)?.security.run_as_user)
    }

    fn run_as_group(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<Option<i64>> {
        Ok(self.part(&container)?.security.run_as_group)
    }

    fn allow_privilege_escalation(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<bool> {
        Ok(self.part(&container)?.security.allow_privilege_escalation)
    }

    fn read_only_root_filesystem(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<bool> {
        Ok(self.part(&container)?.security.read_only_root)
    }

    fn seccomp_profile(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<Option<String>> {
        Ok(self.part(&container)?.security.seccomp.clone())
    }

    fn apparmor_profile(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<Option<String>> {
        Ok(self.part(&container)?.security.apparmor.clone())
    }

    fn added_capabilities(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<Vec<String>> {
        Ok(self.part(&container)?.security.capabilities_add.clone())
    }

    fn dropped_capabilities(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<Vec<String>> {
        Ok(self.part(&container)?.security.capabilities_drop.clone())
    }

    fn env_names(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<Vec<String>> {
        Ok(self.part(&container)?.env_names.clone())
    }

    fn ports(
        &mut self,
        container: Resource<ContainerPart>,
    ) -> wasmtime::Result<Vec<Resource<ContainerPortPart>>> {
        let (pod, _) = self.pod_of(&container)?;
        let container = self.part(&container)?;
        self.hand_out_all(pod, &container.ports)
    }

    fn mounts(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<Vec<Resource<MountPart>>> {
        let (pod, _) = self.pod_of(&container)?;
        let container = self.part(&container)?;
        self.hand_out_all(pod, &container.mounts)
    }

    fn pointer(
        &mut self,
        container: Resource<ContainerPart>,
        path: String,
    ) -> wasmtime::Result<Option<String>> {
        let found = self.part(&container)?;
        let (_, pod) = self.pod_of(&container)?;
        Ok(pod.pointer_below(&format!("/spec/{}/{}", found.kind.list(), found.index), &path))
    }

    fn drop(&mut self, container: Resource<ContainerPart>) -> wasmtime::Result<()> {
        self.drop_part(container)
    }
}
