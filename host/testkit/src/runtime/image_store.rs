//! What the fake keeps of images, on a disk of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use witlet_core::runtime::{ContainerId, labels};
use witlet_ports::{
    ContainerImage, FileSystems, FilesError, ImageFilesystem, ImageFilesystems, ImageStore, Left, NodeImage,
    RuntimeError,
};

use super::FakeRuntime;

/// Where its images are.
const IMAGE_FOLDER: &str = "/var/lib/fake/images";

impl FakeRuntime {
    /// The size of the disk that images are on, and how many bytes of it are taken by something else than images. At first it
    /// is 1 TiB large, and nothing else is on it.
    pub fn set_image_disk(&self, capacity: u64, other_bytes: u64) {
        let disk = &mut self.lock().image_disk;
        (disk.capacity, disk.other_bytes) = (capacity, other_bytes);
    }

    /// Each removal of an image takes this long from now on.
    pub fn set_image_removals_take(&self, removals_take: Duration) {
        self.lock().image_disk.removals_take = removals_take;
    }

    /// Containers of this name in this pod have the image mounted as a volume.
    pub fn mount_image(&self, pod: &str, container: &str, image: &str) {
        let mounted = &mut self.lock().mounted_images;
        mounted.entry((pod.to_owned(), container.to_owned())).or_default().push(image.to_owned());
    }

    /// The images that it has, by name.
    pub fn present_images(&self) -> Vec<String> {
        let inner = self.lock();
        inner.images.iter().filter(|(_, image)| image.present).map(|(name, _)| name.clone()).collect()
    }
}

#[async_trait]
impl ImageStore for FakeRuntime {
    async fn list(&self) -> Result<Vec<NodeImage>, RuntimeError> {
        let inner = self.answer("ListImages")?;
        let present = inner.images.iter().filter(|(_, image)| image.present);
        let listed = present.map(|(name, image)| NodeImage {
            id: name.clone(),
            names: vec![name.clone()],
            size: image.size,
            pinned: image.pinned,
        });
        Ok(listed.collect())
    }

    async fn filesystems(&self) -> Result<ImageFilesystems, RuntimeError> {
        let inner = self.answer("ImageFsInfo")?;
        let present = inner.images.values().filter(|image| image.present);
        let at = ImageFilesystem {
            mountpoint: PathBuf::from(IMAGE_FOLDER),
            used_bytes: Some(present.map(|image| image.size).sum()),
            inodes_used: None,
        };
        Ok(ImageFilesystems { images: vec![at.clone()], containers: vec![at] })
    }

    async fn containers(&self) -> Result<Vec<ContainerImage>, RuntimeError> {
        let inner = self.answer("ListContainers")?;
        let of = |container: &super::FakeContainer| ContainerImage {
            container: container.id.clone(),
            image: container.config.image.clone(),
        };
        Ok(inner.containers.values().map(of).collect())
    }

    async fn mounted_images(&self, container: &ContainerId) -> Result<Vec<String>, RuntimeError> {
        let mut inner = self.answer("ContainerStatus")?;
        let Some(found) = inner.container_mut(container) else { return Ok(Vec::new()) };
        let pod = found.config.labels.get(labels::POD_NAME).cloned().unwrap_or_default();
        let key = (pod, found.config.name.clone());
        Ok(inner.mounted_images.get(&key).cloned().unwrap_or_default())
    }

    async fn remove(&self, id: &str) -> Result<(), RuntimeError> {
        let takes = self.answer("RemoveImage")?.image_disk.removals_take;
        if !takes.is_zero() {
            tokio::time::sleep(takes).await;
        }
        let mut inner = self.lock();
        if let Some(image) = inner.images.get_mut(id).filter(|image| image.present) {
            image.present = false;
            let size = image.size;
            inner.image_disk.removed_bytes += size;
            self.record(&mut inner, "remove image", id);
        }
        Ok(())
    }
}

#[async_trait]
impl FileSystems for FakeRuntime {
    async fn bytes(&self, path: &Path) -> Result<Left, FilesError> {
        let inner = self.lock();
        if path != Path::new(IMAGE_FOLDER) {
            let cause = std::io::ErrorKind::NotFound.into();
            return Err(FilesError { action: "read the file system of", path: path.to_owned(), cause });
        }
        let images: u64 = inner.images.values().filter(|image| image.present).map(|image| image.size).sum();
        let capacity = inner.image_disk.capacity;
        let available = capacity.saturating_sub(images).saturating_sub(inner.image_disk.other_bytes);
        Ok(Left { capacity, available })
    }
}

impl FakeRuntime {
    /// Bytes of all images that were removed.
    pub(crate) fn removed_image_bytes(&self) -> u64 {
        self.lock().image_disk.removed_bytes
    }
}
