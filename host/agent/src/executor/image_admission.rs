//! Puts the image of a container that is to start to the admission handlers. What becomes of the container is decided by
//! `witlet_core::admission::image`.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Container;
use witlet_core::admission::image::{HeldContainer, ImageQuestion};
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Operation};
use witlet_core::pod::PodUid;

use super::cut::until_cut;
use super::images::ReadyImage;
use super::{Executor, Job};

/// What came of asking.
pub(super) enum ImageEnd {
    /// The container may start.
    Admitted,
    Held(HeldContainer),
    /// More urgent work waits.
    Cut,
}

impl Executor {
    /// How the container of this hash waits because its image wasn't admitted; none if it is to be tried.
    pub(super) fn image_hold(
        &self,
        job: &Job,
        container: &str,
        hash: &str,
        now: Timestamp,
    ) -> Option<HeldContainer> {
        job.image_admission.as_ref()?;
        let handlers = self.image_handlers.generation();
        job.memory.image_holds.held(ImageQuestion { container, definition: hash, handlers }, now)
    }

    /// Asks about the image that a container is to be made from, if any handler answers that.
    pub(super) async fn admit_image(
        &self,
        job: &mut Job,
        container: &Container,
        hash: &str,
        image: &ReadyImage,
    ) -> ImageEnd {
        let (Some(asks), Some(pod)) = (job.image_admission.clone(), job.work.pod.clone()) else {
            return ImageEnd::Admitted;
        };
        let handlers = self.image_handlers.generation();
        let asking = async {
            let resolved = self.images.resolved(container, image).await;
            let is_other = |other: &&AdmittedPod| PodUid::of(&other.pod) != job.uid;
            let request = AdmissionRequest {
                operation: Operation::ImageResolved,
                now: self.clock.now(),
                pod,
                old_pod: None,
                image: Some(Arc::new(resolved)),
                source: asks.source,
                node: self.handlers_node.now(&asks.node),
                other_pods: asks.pods.iter().filter(is_other).cloned().collect(),
            };
            self.image_handlers.ask(&self.tracer, &self.statuses, &job.uid, request).await
        };
        let Some(decision) = until_cut(job, asking).await else { return ImageEnd::Cut };
        let question = ImageQuestion { container: &container.name, definition: hash, handlers };
        match job.memory.image_holds.decided(question, &decision, self.clock.now()) {
            None => ImageEnd::Admitted,
            Some(held) => ImageEnd::Held(held),
        }
    }
}
