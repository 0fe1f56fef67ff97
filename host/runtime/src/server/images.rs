//! The CRI's ImageService.

use std::collections::BTreeMap;
use std::sync::Arc;

use tonic::{Request, Response, Status};
use witlet_proto::cri::image_service_server::ImageService;
use witlet_proto::cri::{
    FilesystemIdentifier, FilesystemUsage, Image, ImageFilter, ImageFsInfoRequest, ImageFsInfoResponse,
    ImageSpec, ImageStatusRequest, ImageStatusResponse, ListImagesRequest, ListImagesResponse,
    PullImageRequest, PullImageResponse, RemoveImageRequest, RemoveImageResponse, StreamImagesRequest,
    StreamImagesResponse, UInt64Value,
};

use super::{Pages, convert, pages};
use crate::clock::Now;
use crate::image::{Image as Pulled, ImageStore};

/// Answers for the images.
pub(crate) struct ImageServer {
    pub(crate) images: Arc<ImageStore>,
    pub(crate) now: Now,
}

fn named(image: Option<ImageSpec>) -> Result<String, Status> {
    let named = image.map(|image| image.image).filter(|name| !name.is_empty());
    named.ok_or_else(|| Status::invalid_argument("image is missing"))
}

impl ImageServer {
    fn list(&self, filter: Option<ImageFilter>) -> Vec<Image> {
        let requested = filter.and_then(|filter| filter.image).map(|image| image.image).unwrap_or_default();
        let mut by_id: BTreeMap<String, Vec<Pulled>> = BTreeMap::new();
        for image in self.images.list() {
            by_id.entry(image.id.clone()).or_default().push(image);
        }
        by_id
            .iter()
            .filter(|(id, pulled)| {
                requested.is_empty()
                    || **id == requested
                    || pulled.iter().any(|image| image.reference == requested)
            })
            .map(|(id, pulled)| convert::image(id, pulled))
            .collect()
    }
}

#[tonic::async_trait]
impl ImageService for ImageServer {
    async fn list_images(
        &self,
        request: Request<ListImagesRequest>,
    ) -> Result<Response<ListImagesResponse>, Status> {
        Ok(Response::new(ListImagesResponse { images: self.list(request.into_inner().filter) }))
    }

    type StreamImagesStream = Pages<StreamImagesResponse>;

    async fn stream_images(
        &self,
        request: Request<StreamImagesRequest>,
    ) -> Result<Response<Self::StreamImagesStream>, Status> {
        let images = self.list(request.into_inner().filter);
        Ok(Response::new(pages(&images, |images| StreamImagesResponse { images })))
    }

    async fn image_status(
        &self,
        request: Request<ImageStatusRequest>,
    ) -> Result<Response<ImageStatusResponse>, Status> {
        let image = named(request.into_inner().image)?;
        let filter = ImageFilter { image: Some(ImageSpec { image, ..Default::default() }) };
        let image = self.list(Some(filter)).into_iter().next();
        Ok(Response::new(ImageStatusResponse { image, ..Default::default() }))
    }

    async fn pull_image(
        &self,
        request: Request<PullImageRequest>,
    ) -> Result<Response<PullImageResponse>, Status> {
        let reference = named(request.into_inner().image)?;
        let image = self.images.pull(&reference).await.map_err(|error| convert::image_status(&error))?;
        Ok(Response::new(PullImageResponse { image_ref: image.id }))
    }

    async fn remove_image(
        &self,
        request: Request<RemoveImageRequest>,
    ) -> Result<Response<RemoveImageResponse>, Status> {
        let reference = named(request.into_inner().image)?;
        self.images.remove(&reference).map_err(|error| convert::state_status(&error))?;
        Ok(Response::new(RemoveImageResponse {}))
    }

    async fn image_fs_info(
        &self,
        _request: Request<ImageFsInfoRequest>,
    ) -> Result<Response<ImageFsInfoResponse>, Status> {
        let (folder, used_bytes, inodes_used) = self.images.usage();
        let usage = FilesystemUsage {
            timestamp: convert::nanoseconds((self.now)()),
            fs_id: Some(FilesystemIdentifier { mountpoint: folder.to_string_lossy().into_owned() }),
            used_bytes: Some(UInt64Value { value: used_bytes }),
            inodes_used: Some(UInt64Value { value: inodes_used }),
        };
        Ok(Response::new(ImageFsInfoResponse {
            image_filesystems: vec![usage],
            container_filesystems: Vec::new(),
        }))
    }
}
