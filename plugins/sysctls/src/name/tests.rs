//! Spellings, forms and namespaces.

use super::*;

#[test]
fn the_first_separator_tells_the_spelling() {
    for (name, expected) in [
        ("", ""),
        ("foo", "foo"),
        ("kernel.shm_rmid_forced", "kernel.shm_rmid_forced"),
        ("kernel/shm_rmid_forced", "kernel.shm_rmid_forced"),
        ("net.ipv4.conf.eno2/100.rp_filter", "net.ipv4.conf.eno2/100.rp_filter"),
        ("net/ipv4/conf/eno2.100/rp_filter", "net.ipv4.conf.eno2/100.rp_filter"),
        ("net/ipv4/*", "net.ipv4.*"),
    ] {
        assert_eq!(with_dots(name), expected, "{name}");
    }
}

#[test]
fn a_pattern_is_a_name_or_a_beginning_of_names() {
    for (text, expected) in [
        ("kernel.sem", true),
        ("kernel/sem", true),
        ("kernel.msg*", true),
        ("kernel.msg_*", true),
        ("net.*", true),
        ("net/*", true),
        ("*", true),
        ("a", true),
        ("net.ipv4.conf.eno2/100.rp_filter", true),
        ("", false),
        (" kernel.msg*", false),
        ("kernel.msg* ", false),
        ("net.-", false),
        ("net.-*", false),
        ("net.*.foo", false),
        ("net.*/foo", false),
        ("net..foo", false),
        ("Kernel.sem", false),
        ("kernel.sem-", false),
        ("kernel.**", false),
        (".kernel", false),
        ("net.é", false),
    ] {
        assert_eq!(is_pattern(text), expected, "{text:?}");
    }
    assert!(is_pattern(&"a".repeat(LENGTH_MAX)) && !is_pattern(&"a".repeat(LENGTH_MAX + 1)));
}

#[test]
fn only_some_are_known_to_have_a_namespace() {
    for (name, expected) in [
        ("kernel.sem", Some(Namespace::Ipc)),
        ("kernel.semaphore", None),
        ("kernel.shmmax", Some(Namespace::Ipc)),
        ("kernel.msg", Some(Namespace::Ipc)),
        ("fs.mqueue.msg_max", Some(Namespace::Ipc)),
        ("fs.mqueue", None),
        ("net.core.somaxconn", Some(Namespace::Net)),
        ("net", None),
        ("vm.swappiness", None),
        ("kernel.", None),
    ] {
        assert_eq!(Namespace::of(name), expected, "{name}");
    }
}
