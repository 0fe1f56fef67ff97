//! One question to the admission handlers, of the event loop or of the work on a pod: it is a span, and what each handler made of the pod is kept for people.

use std::collections::BTreeSet;
use std::sync::Arc;

use witlet_core::admission::{AdmissionRequest, Decision};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::trace;
use witlet_ports::{Admission, AdmissionResult, Tracer};

use crate::pod_status_store::PodStatusStore;

/// Puts the question to the handlers, or to these alone.
pub(crate) async fn ask(
    admission: &dyn Admission,
    tracer: &Tracer,
    statuses: &PodStatusStore,
    uid: &PodUid,
    request: AdmissionRequest,
    only_for: Option<BTreeSet<Arc<str>>>,
) -> Decision {
    let mut span = tracer.span(|| trace::pod::admission(&PodFullName::of(&request.pod), uid));
    let asking = async {
        match only_for {
            Some(handlers) => admission.recheck(request, handlers).await,
            None => admission.admit_with_verdicts(request).await,
        }
    };
    let AdmissionResult { decision, verdicts } = span.scope(asking).await;
    span.add(|| trace::pod::decision(&decision));
    statuses.put_verdicts(uid, verdicts);
    decision
}
