//! What the runtime keeps of images, and where.

use std::path::PathBuf;

use async_trait::async_trait;
use witlet_core::runtime::ContainerId;
use witlet_ports::{ContainerImage, ImageFilesystem, ImageFilesystems, ImageStore, NodeImage, RuntimeError};
use witlet_proto::cri;

use super::{CriClient, gone, present};
use crate::connection::request;
use crate::convert;

#[async_trait]
impl ImageStore for CriClient {
    async fn list(&self) -> Result<Vec<NodeImage>, RuntimeError> {
        let limit = self.deadlines.request;
        let mut client = self.images.image_service();
        let list = client.list_images(request(cri::ListImagesRequest { filter: None }, limit));
        let answer = self.images.answer("ListImages", limit, list).await?;
        let node_image = |image: cri::Image| NodeImage {
            id: image.id,
            names: image.repo_digests.into_iter().chain(image.repo_tags).collect(),
            size: image.size,
            pinned: image.pinned,
        };
        Ok(answer.images.into_iter().map(node_image).collect())
    }

    async fn filesystems(&self) -> Result<ImageFilesystems, RuntimeError> {
        let limit = self.deadlines.request;
        let mut client = self.images.image_service();
        let inspection = client.image_fs_info(request(cri::ImageFsInfoRequest {}, limit));
        let answer = self.images.answer("ImageFsInfo", limit, inspection).await?;
        let all = |found: Vec<cri::FilesystemUsage>| found.into_iter().filter_map(filesystem).collect();
        Ok(ImageFilesystems {
            images: all(answer.image_filesystems),
            containers: all(answer.container_filesystems),
        })
    }

    async fn containers(&self) -> Result<Vec<ContainerImage>, RuntimeError> {
        const CALL: &str = "ListContainers";
        let list = cri::ListContainersRequest { filter: None };
        let containers: Vec<cri::Container> = self.list(CALL, list).await?.read(CALL)?;
        Ok(containers.into_iter().filter_map(container_image).collect())
    }

    async fn mounted_images(&self, container: &ContainerId) -> Result<Vec<String>, RuntimeError> {
        let limit = self.deadlines.request;
        let inspection = cri::ContainerStatusRequest { container_id: container.to_string(), verbose: false };
        let mut client = self.runtime.runtime_service();
        let inspection = client.container_status(request(inspection, limit));
        let answer = present(self.runtime.answer("ContainerStatus", limit, inspection).await)?;
        let mounts = answer.and_then(|answer| answer.status).map(|status| status.mounts).unwrap_or_default();
        let images = mounts.into_iter().filter_map(|mount| mount.image).map(|image| image.image);
        Ok(images.filter(|image| !image.is_empty()).collect())
    }

    async fn remove(&self, id: &str) -> Result<(), RuntimeError> {
        let limit = self.deadlines.request;
        let remove = cri::RemoveImageRequest { image: Some(convert::image_spec(id)) };
        let mut client = self.images.image_service();
        gone(self.images.answer("RemoveImage", limit, client.remove_image(request(remove, limit))).await)
    }
}

/// Returns `None` for what names no place: there is nothing to be measured.
fn filesystem(usage: cri::FilesystemUsage) -> Option<ImageFilesystem> {
    let mountpoint = usage.fs_id.map(|id| id.mountpoint).filter(|path| !path.is_empty())?;
    Some(ImageFilesystem {
        mountpoint: PathBuf::from(mountpoint),
        used_bytes: usage.used_bytes.map(|used| used.value),
        inodes_used: usage.inodes_used.map(|used| used.value),
    })
}

/// Runtimes before `image_id` (CRI of 1.30) name the image by the reference. None of what has no id.
fn container_image(container: cri::Container) -> Option<ContainerImage> {
    let image = if container.image_id.is_empty() { container.image_ref } else { container.image_id };
    let container = convert::id("ListContainers", container.id).ok()?;
    Some(ContainerImage { container, image })
}
