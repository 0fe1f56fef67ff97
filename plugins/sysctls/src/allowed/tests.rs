//! Upstream's cases (`allowlist_test.go`, `safe_sysctls_test.go`).

use super::*;

const NEW: Option<Kernel> = Some((6, 1));

#[test]
fn an_operator_may_allow_what_has_a_namespace() {
    for (text, expected) in [
        ("kernel.msg*", true),
        ("kernel.sem", true),
        ("kernel/msg*", true),
        ("kernel/sem", true),
        (" kernel.msg*", false),
        ("kernel.msg* ", false),
        ("net.-", false),
        ("net.*.foo", false),
        ("net.*/foo", false),
        ("foo", false),
        ("foo*", false),
        ("*", false),
    ] {
        assert_eq!(Pattern::parse(text).is_ok(), expected, "{text:?}");
    }
    assert_eq!(Pattern::parse("foo").expect_err("no namespace"), "\"foo\" isn't known to be namespaced");
}

#[test]
fn safe_and_allowed_sysctls_pass_unless_the_pod_shares_their_namespace() {
    let allowed: Vec<Pattern> = ["kernel.msg*", "kernel.sem", "net.b.*"]
        .iter()
        .map(|text| Pattern::parse(text).expect("a pattern"))
        .collect();
    let (own, net, ipc) =
        (Shared::default(), Shared { net: true, ipc: false }, Shared { net: false, ipc: true });
    for (name, shared, expected) in [
        ("kernel.shm_rmid_forced", own, ""),
        ("kernel/shm_rmid_forced", own, ""),
        ("net.ipv4.ip_local_port_range", own, ""),
        ("kernel.msgmax", own, ""),
        ("kernel.sem", own, ""),
        ("kernel/sem", own, ""),
        ("net.b.c", own, ""),
        ("kernel.msgmax", net, ""),
        ("net.b.c", ipc, ""),
        ("kernel.shm_rmid_forced", ipc, "\"kernel.shm_rmid_forced\" not allowed with host ipc enabled"),
        (
            "net.ipv4.ip_local_port_range",
            net,
            "\"net.ipv4.ip_local_port_range\" not allowed with host net enabled",
        ),
        ("foo", own, "\"foo\" not allowlisted"),
        ("net.a.b.c", own, "\"net.a.b.c\" not allowlisted"),
        ("net.ipv4.ip_local_port_range.a.b.c", own, "\"net.ipv4.ip_local_port_range.a.b.c\" not allowlisted"),
        ("kernel.msgmax", ipc, "\"kernel.msgmax\" not allowed with host ipc enabled"),
        ("kernel.sem", ipc, "\"kernel.sem\" not allowed with host ipc enabled"),
        ("net.b.c", net, "\"net.b.c\" not allowed with host net enabled"),
        ("net/b/c", net, "\"net.b.c\" not allowed with host net enabled"),
    ] {
        let found = check(name, NEW, &allowed, shared).err().unwrap_or_default();
        assert_eq!(found, expected, "{name} {shared:?}");
    }
}

#[test]
fn an_older_kernel_has_fewer_safe_sysctls() {
    for (release, expected) in [
        ("", 5),
        ("unknown", 5),
        ("3.10.0", 5),
        ("3.18.0-957.27.2.el7.x86_64", 6),
        ("4.5", 9),
        ("4.6.1", 10),
        ("5.15.0-75-generic", 12),
    ] {
        let kernel = kernel(release);
        let safe = SAFE.iter().filter(|(name, _)| check(name, kernel, &[], Shared::default()).is_ok());
        assert_eq!(safe.count(), expected, "{release:?}");
    }
}

#[test]
fn every_safe_sysctl_has_a_namespace() {
    for (name, _) in SAFE {
        assert!(Namespace::of(name).is_some(), "{name}");
    }
}

#[test]
fn a_kernels_version_is_its_first_two_numbers() {
    for (release, expected) in [
        ("5.15.0-75-generic", Some((5, 15))),
        ("6.1", Some((6, 1))),
        ("6.12-rc1", Some((6, 12))),
        ("6", None),
        ("x.1", None),
        ("6.x", None),
        ("99999999999.1", None),
    ] {
        assert_eq!(kernel(release), expected, "{release}");
    }
}
