//! Containers that a kubelet made before this agent took its place.

use super::*;

const RESTARTED: &[&str] = &["kill a-0 SpecChanged 30s", "start a #1"];

#[test]
fn a_container_that_a_kubelet_made_goes_on_until_its_image_is_another() {
    let digest = |digit: &str| format!("sha256:{}", digit.repeat(64));
    let (mine, other) = (digest("0"), digest("1"));
    let by_digest = format!("busybox@{mine}");
    for (desired, hash, reported, expected) in [
        ("busybox", "7d2b5c1f", "busybox", &[][..]),
        ("busybox", "9c", "docker.io/library/busybox:latest", &[]),
        ("busybox:1.36", "9c", "docker.io/library/busybox:1.36", &[]),
        // It lost its name, or is reported by its digest.
        ("busybox:1.36", "9c", &mine, &[]),
        ("busybox:1.36", "9c", &by_digest, &[]),
        (&by_digest, "9c", "docker.io/library/busybox:1.36", &[]),
        (&by_digest, "9c", &by_digest, &[]),
        (&by_digest, "9c", &format!("busybox@{other}"), RESTARTED),
        ("busybox:1.36", "9c", "docker.io/library/busybox:1.37", RESTARTED),
        ("busybox:1.36", "9c", "registry.example.com/busybox:1.36", RESTARTED),
        // One of this agent's.
        ("busybox", "7d2b5c1f00000000", "busybox", RESTARTED),
    ] {
        let mut pod = pod("Always", &["a"]);
        spec(&mut pod).containers[0].image = Some(desired.to_owned());
        let (spec_hash, image) = (Some(hash.to_owned()), reported.to_owned());
        let seen = ObservedContainer { spec_hash, image, ..running(&pod, "a") };
        check(&pod, &in_sandbox(vec![seen]), expected);
    }
}

#[test]
fn the_kubelets_own_hash_goes_before_what_the_runtime_tells_of_the_image() {
    const NAME: &str = "test_container";
    const KILLED: &[&str] = &["kill test_container-0 SpecChanged 30s", "start test_container #1"];
    for (desired, hash, reported, expected) in [
        ("foo/image:v1", "8e45cbd0", "foo/image:v1", &[][..]),
        // Other names of the same image.
        ("foo/image:v1", "8e45cbd0", "foo/image:latest", &[]),
        ("foo/image:v1", "8e45cbd0", "mirror.example/x:1", &[]),
        // The image was edited.
        ("foo/image:v2", "8e45cbd0", "foo/image:v1", KILLED),
        ("foo/image:v2", "8e45cbd0", "foo/image:v2", &[]),
        // Of a kubelet before 1.31.
        ("foo/image:v1", "8e45cbd1", "foo/image:v1", &[]),
        ("foo/image:v1", "8e45cbd1", "foo/image:latest", KILLED),
    ] {
        for policy in ["Always", "Never"] {
            let mut pod = pod(policy, &[NAME]);
            spec(&mut pod).containers[0].image = Some(desired.to_owned());
            let (spec_hash, image) = (Some(hash.to_owned()), reported.to_owned());
            let seen = ObservedContainer { spec_hash, image, ..running(&pod, NAME) };
            check(&pod, &in_sandbox(vec![seen]), expected);
        }
    }
}
