//! The image service: every image is there already.

use tonic::{Request, Response, Status};
use witlet_proto::cri::image_service_server::ImageService;
use witlet_proto::cri::*;

use crate::FakeCri;

#[tonic::async_trait]
impl ImageService for FakeCri {
    async fn list_images(
        &self,
        _: Request<ListImagesRequest>,
    ) -> Result<Response<ListImagesResponse>, Status> {
        Ok(Response::new(ListImagesResponse::default()))
    }

    type StreamImagesStream = tokio_stream::Empty<Result<StreamImagesResponse, Status>>;

    async fn stream_images(
        &self,
        _: Request<StreamImagesRequest>,
    ) -> Result<Response<Self::StreamImagesStream>, Status> {
        Err(Status::unimplemented("StreamImages"))
    }

    async fn image_status(
        &self,
        request: Request<ImageStatusRequest>,
    ) -> Result<Response<ImageStatusResponse>, Status> {
        let name = request.into_inner().image.unwrap_or_default().image;
        let image = Image { id: name.clone(), repo_tags: vec![name], size: 1, ..Image::default() };
        Ok(Response::new(ImageStatusResponse { image: Some(image), ..ImageStatusResponse::default() }))
    }

    async fn pull_image(
        &self,
        request: Request<PullImageRequest>,
    ) -> Result<Response<PullImageResponse>, Status> {
        let image_ref = request.into_inner().image.unwrap_or_default().image;
        Ok(Response::new(PullImageResponse { image_ref }))
    }

    async fn remove_image(
        &self,
        _: Request<RemoveImageRequest>,
    ) -> Result<Response<RemoveImageResponse>, Status> {
        Ok(Response::new(RemoveImageResponse {}))
    }

    async fn image_fs_info(
        &self,
        _: Request<ImageFsInfoRequest>,
    ) -> Result<Response<ImageFsInfoResponse>, Status> {
        Ok(Response::new(ImageFsInfoResponse::default()))
    }
}
