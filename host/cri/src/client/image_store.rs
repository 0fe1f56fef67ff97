//! What the runtime keeps of images, and where.

use std::path::PathBuf;

use async_trait::async_trait;
use witlet_ports::{ImageFilesystem, ImageStore, NodeImage, RuntimeError};
use witlet_proto::cri;

use super::CriClient;
use crate::connection::request;

#[async_trait]
impl ImageStore for CriClient {
    async fn list(&self) -> Result<Vec<NodeImage>, RuntimeError> {
        let limit = self.deadlines.request;
        let mut client = self.images.image_service();
        let list = client.list_images(request(cri::ListImagesRequest { filter: None }, limit));
        let answer = self.images.answer("ListImages", limit, list).await?;
        let node_image = |image: cri::Image| NodeImage {
            names: image.repo_digests.into_iter().chain(image.repo_tags).collect(),
            size: image.size,
        };
        Ok(answer.images.into_iter().map(node_image).collect())
    }

    async fn filesystems(&self) -> Result<Vec<ImageFilesystem>, RuntimeError> {
        let limit = self.deadlines.request;
        let mut client = self.images.image_service();
        let look = client.image_fs_info(request(cri::ImageFsInfoRequest {}, limit));
        let answer = self.images.answer("ImageFsInfo", limit, look).await?;
        Ok(answer.image_filesystems.into_iter().filter_map(filesystem).collect())
    }
}

/// None of what names no place: there is nothing to be measured.
fn filesystem(usage: cri::FilesystemUsage) -> Option<ImageFilesystem> {
    let mountpoint = usage.fs_id.map(|id| id.mountpoint).filter(|path| !path.is_empty())?;
    Some(ImageFilesystem {
        mountpoint: PathBuf::from(mountpoint),
        used_bytes: usage.used_bytes.map(|used| used.value),
        inodes_used: usage.inodes_used.map(|used| used.value),
    })
}
