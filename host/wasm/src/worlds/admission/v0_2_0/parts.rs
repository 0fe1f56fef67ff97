//! Images, ports, mounts, volumes and owners of a pod; host ports; the image that a container starts from.

use wasmtime::component::Resource;

use super::super::handles::{
    ContainerPart, ContainerPortPart, HostPortPart, ImagePart, MountPart, OwnerPart, ResolvedImagePart,
    VolumePart,
};
use super::bindings::witlet::admission::admission_types as wit;
use crate::guest::GuestState;

impl wit::HostImage for GuestState {
    fn reference(&mut self, image: Resource<ImagePart>) -> wasmtime::Result<String> {
        Ok(self.part(&image)?.written.clone())
    }

    fn place(&mut self, image: Resource<ImagePart>) -> wasmtime::Result<String> {
        Ok(self.part(&image)?.place.clone())
    }

    fn name(&mut self, image: Resource<ImagePart>) -> wasmtime::Result<String> {
        Ok(self.part(&image)?.full_name())
    }

    fn registry(&mut self, image: Resource<ImagePart>) -> wasmtime::Result<Option<String>> {
        Ok(self.part(&image)?.reference.as_ref().map(|reference| reference.registry.clone()))
    }

    fn repository(&mut self, image: Resource<ImagePart>) -> wasmtime::Result<Option<String>> {
        Ok(self.part(&image)?.reference.as_ref().map(|reference| reference.path.clone()))
    }

    fn tag(&mut self, image: Resource<ImagePart>) -> wasmtime::Result<Option<String>> {
        let image = self.part(&image)?;
        let tag = image.reference.as_ref().and_then(|reference| reference.effective_tag());
        Ok(tag.map(str::to_owned))
    }

    fn digest(&mut self, image: Resource<ImagePart>) -> wasmtime::Result<Option<String>> {
        Ok(self.part(&image)?.reference.as_ref().and_then(|reference| reference.digest.clone()))
    }

    fn drop(&mut self, image: Resource<ImagePart>) -> wasmtime::Result<()> {
        self.drop_part(image)
    }
}

impl wit::HostResolvedImage for GuestState {
    fn container(&mut self, image: Resource<ResolvedImagePart>) -> wasmtime::Result<Resource<ContainerPart>> {
        let resolved = self.part(&image)?;
        let (index, pod) = self.pod_of(&image)?;
        let found = pod.containers().iter().find(|container| container.name == resolved.container).cloned();
        match found {
            Some(container) => self.hand_out(index, &container),
            None => wasmtime::bail!("the pod has no container {:?}", resolved.container),
        }
    }

    fn id(&mut self, image: Resource<ResolvedImagePart>) -> wasmtime::Result<String> {
        Ok(self.part(&image)?.id.clone())
    }

    fn digest(&mut self, image: Resource<ResolvedImagePart>) -> wasmtime::Result<Option<String>> {
        Ok(self.part(&image)?.digest.clone())
    }

    fn size(&mut self, image: Resource<ResolvedImagePart>) -> wasmtime::Result<Option<u64>> {
        Ok(self.part(&image)?.size_bytes)
    }

    fn credentials(&mut self, image: Resource<ResolvedImagePart>) -> wasmtime::Result<Option<String>> {
        Ok(self.part(&image)?.credentials.map(|origin| origin.as_str().to_owned()))
    }

    fn drop(&mut self, image: Resource<ResolvedImagePart>) -> wasmtime::Result<()> {
        self.drop_part(image)
    }
}

impl wit::HostContainerPort for GuestState {
    fn name(&mut self, port: Resource<ContainerPortPart>) -> wasmtime::Result<String> {
        Ok(self.part(&port)?.name.clone())
    }

    fn number(&mut self, port: Resource<ContainerPortPart>) -> wasmtime::Result<u16> {
        Ok(self.part(&port)?.number)
    }

    fn protocol(&mut self, port: Resource<ContainerPortPart>) -> wasmtime::Result<String> {
        Ok(self.part(&port)?.protocol.as_str().to_owned())
    }

    fn host_port(&mut self, port: Resource<ContainerPortPart>) -> wasmtime::Result<Option<u16>> {
        Ok(self.part(&port)?.host_port)
    }

    fn drop(&mut self, port: Resource<ContainerPortPart>) -> wasmtime::Result<()> {
        self.drop_part(port)
    }
}

impl wit::HostHostPort for GuestState {
    fn address(&mut self, port: Resource<HostPortPart>) -> wasmtime::Result<Option<String>> {
        Ok(self.part(&port)?.ip.map(|address| address.to_string()))
    }

    fn protocol(&mut self, port: Resource<HostPortPart>) -> wasmtime::Result<String> {
        Ok(self.part(&port)?.protocol.as_str().to_owned())
    }

    fn number(&mut self, port: Resource<HostPortPart>) -> wasmtime::Result<u16> {
        Ok(self.part(&port)?.port)
    }

    fn drop(&mut self, port: Resource<HostPortPart>) -> wasmtime::Result<()> {
        self.drop_part(port)
    }
}

impl wit::HostMount for GuestState {
    fn volume(&mut self, mount: Resource<MountPart>) -> wasmtime::Result<String> {
        Ok(self.part(&mount)?.volume.clone())
    }

    fn path(&mut self, mount: Resource<MountPart>) -> wasmtime::Result<String> {
        Ok(self.part(&mount)?.path.clone())
    }

    fn sub_path(&mut self, mount: Resource<MountPart>) -> wasmtime::Result<String> {
        Ok(self.part(&mount)?.sub_path.clone())
    }

    fn read_only(&mut self, mount: Resource<MountPart>) -> wasmtime::Result<bool> {
        Ok(self.part(&mount)?.read_only)
    }

    fn is_device(&mut self, mount: Resource<MountPart>) -> wasmtime::Result<bool> {
        Ok(self.part(&mount)?.is_device)
    }

    fn drop(&mut self, mount: Resource<MountPart>) -> wasmtime::Result<()> {
        self.drop_part(mount)
    }
}

impl wit::HostVolume for GuestState {
    fn name(&mut self, volume: Resource<VolumePart>) -> wasmtime::Result<String> {
        Ok(self.part(&volume)?.name.clone())
    }

    fn kind(&mut self, volume: Resource<VolumePart>) -> wasmtime::Result<String> {
        Ok(self.part(&volume)?.kind.clone())
    }

    fn host_path(&mut self, volume: Resource<VolumePart>) -> wasmtime::Result<Option<String>> {
        Ok(self.part(&volume)?.host_path.clone())
    }

    fn image(&mut self, volume: Resource<VolumePart>) -> wasmtime::Result<Option<Resource<ImagePart>>> {
        let (pod, _) = self.pod_of(&volume)?;
        let image = self.part(&volume)?.image.clone();
        image.map(|image| self.hand_out(pod, &image)).transpose()
    }

    fn pointer(&mut self, volume: Resource<VolumePart>, path: String) -> wasmtime::Result<Option<String>> {
        let index = self.part(&volume)?.index;
        let (_, pod) = self.pod_of(&volume)?;
        Ok(pod.pointer_below(&format!("/spec/volumes/{index}"), &path))
    }

    fn drop(&mut self, volume: Resource<VolumePart>) -> wasmtime::Result<()> {
        self.drop_part(volume)
    }
}

impl wit::HostOwner for GuestState {
    fn api_version(&mut self, owner: Resource<OwnerPart>) -> wasmtime::Result<String> {
        Ok(self.part(&owner)?.api_version.clone())
    }

    fn kind(&mut self, owner: Resource<OwnerPart>) -> wasmtime::Result<String> {
        Ok(self.part(&owner)?.kind.clone())
    }

    fn name(&mut self, owner: Resource<OwnerPart>) -> wasmtime::Result<String> {
        Ok(self.part(&owner)?.name.clone())
    }

    fn uid(&mut self, owner: Resource<OwnerPart>) -> wasmtime::Result<String> {
        Ok(self.part(&owner)?.uid.clone())
    }

    fn is_controller(&mut self, owner: Resource<OwnerPart>) -> wasmtime::Result<bool> {
        Ok(self.part(&owner)?.controller.unwrap_or_default())
    }

    fn drop(&mut self, owner: Resource<OwnerPart>) -> wasmtime::Result<()> {
        self.drop_part(owner)
    }
}
