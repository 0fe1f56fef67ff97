//! Keeps the logs of running containers small: upstream's `container_log_manager`.

use std::path::Path;
use std::sync::Arc;

use futures::FutureExt;
use futures::stream::{self, StreamExt};
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;
use witlet_core::logs::{LogStep, log_step};
use witlet_core::runtime::{ContainerId, ContainerRunState, ObservedContainer};
use witlet_ports::{Clock, ContainerLogs, Containers, RotateError};

use crate::cache::PodCache;
use crate::settings::LogLimits;
use crate::tasks::ticker;

/// How many logs are managed at the same time: a runtime that hangs over one must not keep the others growing.
const LOGS_AT_ONCE_MAX: usize = 4;

/// Checks all logs again and again.
pub(crate) struct LogKeeper {
    pub(crate) logs: Arc<dyn ContainerLogs>,
    pub(crate) containers: Arc<dyn Containers>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cache: Arc<PodCache>,
    pub(crate) limits: LogLimits,
}

impl LogKeeper {
    /// Works until it is stopped.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut ticks = ticker(self.limits.check_interval);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.rotate_all() => {}
            }
        }
    }

    async fn rotate_all(&self) {
        let pods = self.cache.all();
        let containers =
            pods.iter().flat_map(|pod| pod.containers.iter().map(move |container| (pod, container)));
        let with_log = containers.filter(|(_, container)| {
            container.state == ContainerRunState::Running && !container.log_path.is_empty()
        });
        let cared_for = with_log.map(|(pod, container)| async move {
            if let Err(error) = self.care_for(container).await {
                tracing::warn!(
                    pod = %pod.full_name(),
                    pod_uid = %pod.uid,
                    container_name = container.name,
                    container_id = %container.id,
                    log = container.log_path,
                    error = one_line(&error),
                    "Failed to rotate log for container"
                );
            }
        });
        let cared_for: Vec<_> = cared_for.collect();
        stream::iter(cared_for).buffer_unordered(LOGS_AT_ONCE_MAX).collect::<()>().await;
    }

    async fn care_for(&self, container: &ObservedContainer) -> Result<(), RotateError> {
        let log = Path::new(&container.log_path);
        let size = self.logs.size(log).await?;
        match log_step(container.state, size, self.limits.bytes_max) {
            LogStep::Leave => Ok(()),
            LogStep::Reopen => self.reopen(&container.id).await,
            LogStep::Rotate => {
                let reopen = self.containers.reopen_log(&container.id).boxed();
                self.logs.rotate(log, self.limits.files_max, self.clock.now(), reopen).await
            }
        }
    }

    async fn reopen(&self, id: &ContainerId) -> Result<(), RotateError> {
        self.containers.reopen_log(id).await.map_err(RotateError::Reopen)
    }
}
