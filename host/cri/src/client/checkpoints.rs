//! Checkpoints of containers.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use witlet_core::runtime::ContainerId;
use witlet_ports::{Checkpoints, RuntimeError};
use witlet_proto::cri;

use super::CriClient;
use crate::connection::request;
use crate::convert;

#[async_trait]
impl Checkpoints for CriClient {
    async fn checkpoint(
        &self,
        id: &ContainerId,
        archive: &Path,
        timeout: Option<Duration>,
    ) -> Result<(), RuntimeError> {
        // Upstream's rule: less than the deadline of a call is that deadline.
        let limit = timeout.unwrap_or_default().max(self.deadlines.request);
        let checkpoint = cri::CheckpointContainerRequest {
            container_id: id.to_string(),
            location: archive.display().to_string(),
            timeout: convert::whole_seconds(limit),
        };
        let mut client = self.runtime.runtime_service();
        let answer = client.checkpoint_container(request(checkpoint, limit));
        self.runtime.answer("CheckpointContainer", limit, answer).await.map(|_| ())
    }
}
