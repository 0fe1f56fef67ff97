//! Whether a container was made from another spec than the pod has now.

use k8s_openapi::api::core::v1::Container;

use crate::container::hash::{container_hash, is_of_kubelet, kubelet_hash};
use crate::image::reference::ImageReference;
use crate::runtime::ObservedContainer;

/// A container without the annotation was made by something else than this agent, which can't know better.
///
/// Of one that a kubelet made name and image can be compared: nothing else can change in the API. The hash that kubelets since
/// 1.31 give this name and image says that both are the same, whatever the runtime says: containerd says the first of all
/// names that the image has now. Another hash is of another image or of an earlier kubelet; then the image's name decides.
pub(super) fn spec_changed(container: &Container, running: &ObservedContainer) -> bool {
    match running.spec_hash.as_deref() {
        None => false,
        Some(hash) if is_of_kubelet(hash) => {
            hash != kubelet_hash(container)
                && are_other_images(container.image.as_deref().unwrap_or_default(), &running.image)
        }
        Some(hash) => hash != container_hash(container),
    }
}

/// Whether two references name other images for sure. Runtimes tell the full name of what a spec names shortly, a tag of what it
/// names by its digest, and an id of what lost its name.
fn are_other_images(desired: &str, reported: &str) -> bool {
    // An id looks like a name with a tag.
    if reported.starts_with("sha256:") {
        return false;
    }
    let (Ok(desired), Ok(reported)) = (ImageReference::parse(desired), ImageReference::parse(reported))
    else {
        return false;
    };
    if desired.repository() != reported.repository() {
        return true;
    }
    match (&desired.digest, &reported.digest) {
        (Some(desired), Some(reported)) => desired != reported,
        (None, None) => tag(&desired) != tag(&reported),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn tag(reference: &ImageReference) -> &str {
    reference.tag.as_deref().unwrap_or("latest")
}
