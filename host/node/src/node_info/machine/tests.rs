//! Parsing what kernels and distributions write.

use super::*;

#[test]
fn online_cpus_are_counted() {
    for (list, expected) in [
        ("0\n", Some(1)),
        ("0-1\n", Some(2)),
        ("0-3,8,10-11", Some(7)),
        ("", None),
        ("x", None),
        ("3-1", None),
        ("0-4294967295", None),
    ] {
        assert_eq!(online_cpus(list), expected, "{list:?}");
    }
}

#[test]
fn huge_pages_are_counted_by_their_size() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(huge_pages(&folder.path().join("none")).is_empty());
    for (name, count) in
        [("hugepages-2048kB", "3\n"), ("hugepages-1048576kB", "0\n"), ("hugepages-64kB", "x"), ("other", "1")]
    {
        let size = folder.path().join(name);
        std::fs::create_dir(&size).expect("made");
        std::fs::write(size.join("nr_hugepages"), count).expect("written");
    }
    assert_eq!(huge_pages(folder.path()), [(2048, 3 * 2048 * 1024), (1_048_576, 0)]);
}

#[test]
fn apparmor_is_on_where_the_kernel_says_yes() {
    let folder = tempfile::tempdir().expect("a folder");
    let enabled = folder.path().join("enabled");
    assert!(!has_apparmor(folder.path(), &enabled));
    std::fs::write(&enabled, "N\n").expect("written");
    assert!(!has_apparmor(folder.path(), &enabled));
    std::fs::write(&enabled, "Y\n").expect("written");
    assert!(has_apparmor(folder.path(), &enabled));
    assert!(!has_apparmor(&folder.path().join("none"), &enabled));
}

#[test]
fn the_distributions_name_is_read_in_any_quotes() {
    for (text, expected) in [
        ("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n", Some("Debian GNU/Linux 12 (bookworm)")),
        ("PRETTY_NAME='Alpine'\n", Some("Alpine")),
        ("PRETTY_NAME=Plain\n", Some("Plain")),
        ("PRETTY_NAME=\"\"\n", None),
        ("", None),
    ] {
        assert_eq!(pretty_name(text).as_deref(), expected, "{text:?}");
    }
}

#[test]
fn both_cgroup_versions_and_none_are_distinguished() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(cgroup_version(folder.path()), "none");
    std::fs::create_dir(folder.path().join("memory")).expect("made");
    assert_eq!(cgroup_version(folder.path()), "1");
    std::fs::write(folder.path().join("cgroup.controllers"), "cpu memory").expect("written");
    assert_eq!(cgroup_version(folder.path()), "2");
}

#[test]
fn swap_is_counted_where_the_own_cgroup_has_a_file_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("system.slice/witlet.service");
    std::fs::create_dir_all(&own).expect("made");
    std::fs::write(own.join("memory.swap.max"), "max").expect("written");
    let line = "0::/system.slice/witlet.service\n";
    assert!(!counts_swap(folder.path(), line), "this is no cgroup of version 2");
    std::fs::create_dir(folder.path().join("memory")).expect("made");
    assert!(!counts_swap(folder.path(), line), "version 1 doesn't count it");
    std::fs::write(folder.path().join("memory/memory.memsw.limit_in_bytes"), "1").expect("written");
    assert!(counts_swap(folder.path(), line), "version 1 does");
    std::fs::write(folder.path().join("cgroup.controllers"), "cpu memory").expect("written");
    assert!(counts_swap(folder.path(), line));
    assert!(!counts_swap(folder.path(), "0::/\n"));
    assert!(!counts_swap(folder.path(), "4:memory:/system.slice\n"));
}

#[test]
fn this_machine_can_be_read() {
    let machine = Machine::read(Path::new("/no/such/folder/yet")).expect("Linux");
    assert!(machine.cpus >= 1 && machine.memory_kib > 0);
    assert!(machine.storage.bytes > 0 && machine.storage.bytes_available <= machine.storage.bytes);
    assert!(machine.storage.inodes_free <= machine.storage.inodes);
    assert!(!machine.addresses.is_empty() && !machine.kernel.is_empty());
}
