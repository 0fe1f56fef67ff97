//! The admission handlers as the work on pods asks them, and what it asks them with.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use tokio::sync::{Semaphore, watch};
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Decision};
use witlet_core::pod::{PodUid, SourceName};
use witlet_ports::{Admission, Tracer};

use crate::admission_call;
use crate::pod_status_store::PodStatusStore;
use crate::settings::ADMISSIONS_MAX;

/// What handlers are asked with about images of a pod's containers, as far as it is the same for all of them.
#[derive(Clone, Debug)]
pub(crate) struct ImageAdmission {
    /// The source that brought the pod.
    pub(crate) source: SourceName,
    /// The admitted pods, the pod itself among them.
    pub(crate) pods: Arc<[AdmittedPod]>,
    /// The node as the agent publishes it.
    pub(crate) node: Arc<Node>,
}

/// The handlers. As many questions are put to them at a time as the event loop may put, which doesn't wait for these.
pub(crate) struct ImageHandlers {
    port: Arc<dyn Admission>,
    generation: watch::Receiver<u64>,
    turns: Semaphore,
}

impl ImageHandlers {
    pub(crate) fn new(port: Arc<dyn Admission>) -> Self {
        Self { generation: port.generation(), port, turns: Semaphore::new(ADMISSIONS_MAX) }
    }

    /// Changes with the handlers.
    pub(crate) fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    pub(crate) async fn ask(
        &self,
        tracer: &Tracer,
        statuses: &PodStatusStore,
        uid: &PodUid,
        request: AdmissionRequest,
    ) -> Decision {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        admission_call::ask(&*self.port, tracer, statuses, uid, request, None).await
    }
}
