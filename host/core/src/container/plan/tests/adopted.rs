//! Containers that a kubelet made before this agent took its place.

use super::*;

#[test]
fn a_container_that_a_kubelet_made_goes_on_until_its_image_is_another() {
    let pod = pod("Always", &["a"]);
    let named = spec(&mut pod.clone()).containers[0].image.clone().unwrap_or_default();
    for (hash, image, expected) in [
        ("7d2b5c1f", &*named, &[][..]),
        ("9c", "sha256:0123", &[]),
        ("7d2b5c1f", "older", &["kill a-0 SpecChanged 30s", "start a #1"]),
        // One of this agent's.
        ("7d2b5c1f00000000", &*named, &["kill a-0 SpecChanged 30s", "start a #1"]),
    ] {
        let (spec_hash, image) = (Some(hash.to_owned()), image.to_owned());
        let seen = ObservedContainer { spec_hash, image, ..running(&pod, "a") };
        check(&pod, &in_sandbox(vec![seen]), expected);
    }
}
