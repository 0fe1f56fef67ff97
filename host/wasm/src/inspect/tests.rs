//! What is read out of a component.

use super::*;

#[test]
fn a_real_plugin_tells_its_role_and_tools() {
    let seen = inspect(witlet_test_guests::NO_LATEST_TAG).expect("a component");
    assert_eq!(seen.roles, [ServedRole { role: Role::Admission, version: "0.1.0" }]);
    assert_eq!((seen.needs_grants.len(), seen.may_use_grants.len()), (0, 0));
    assert_eq!((seen.obstacles.len(), seen.denied.len()), (0, 0));
    assert_eq!(seen.size_bytes, witlet_test_guests::NO_LATEST_TAG.len());
    assert_eq!(seen.digest.len(), 64);
    assert!(seen.exports.iter().any(|name| name == "witlet:admission/handler@0.1.0"), "{:?}", seen.exports);
    assert!(seen.imports.iter().any(|name| name == "witlet:admission/types@0.1.0"), "{:?}", seen.imports);
    assert_eq!(seen.needs.memories, 1);
    assert!(seen.needs.memory_bytes >= PAGE_BYTES);
}

#[test]
fn contracts_are_reported_with_the_version_that_serves_them() {
    let seen = inspect(witlet_test_guests::WITNESS).expect("a component");
    assert!(
        seen.contracts.iter().all(|contract| contract.served_by == Some("0.1.0")),
        "{:?}",
        seen.contracts
    );
    let reported = |interface: &str| seen.contracts.iter().any(|contract| contract.interface == interface);
    for interface in
        ["witlet:admission/handler", "witlet:probe/prober", "witlet:pod-source/source", "witlet:host/config"]
    {
        assert!(reported(interface), "{interface}: {:?}", seen.contracts);
    }
    for (name, served_by) in [
        ("witlet:host/log@0.1.0", Some("0.1.0")),
        ("witlet:host/log@0.1.7", Some("0.1.0")),
        ("witlet:probe/exec@0.1.0", Some("0.1.0")),
        ("witlet:probe/exec@0.2.0", Some("0.2.0")),
        ("witlet:probe/prober@0.2.0", Some("0.2.0")),
        ("witlet:probe/prober@0.3.0-draft.1", Some("0.3.0-draft.1")),
        ("witlet:probe/prober@0.3.0-draft.2", None),
        ("witlet:pod-source/feedback@0.1.0", Some("0.1.0")),
        ("witlet:host/moon@0.1.0", None),
        ("witlet:host/log@0.2.0", Some("0.2.0")),
        ("witlet:host/log@0.2.7", Some("0.2.0")),
        ("witlet:host/log@0.4.0", None),
        ("witlet:admission/handler@1.0.0", None),
    ] {
        assert_eq!(contract(name).expect("it is one of ours").served_by, served_by, "{name}");
    }
    assert_eq!(contract("wasi:io/poll@0.2.0"), None);
}

#[test]
fn a_component_fits_each_role_or_says_why_not() {
    let seen = inspect(witlet_test_guests::WITNESS).expect("a component");
    assert_eq!(
        seen.fits.iter().map(|fit| fit.role).collect::<Vec<_>>(),
        [Role::Admission, Role::Probe, Role::PodSource]
    );
    assert!(seen.fits.iter().all(|fit| fit.obstacle.is_none()), "{:?}", seen.fits);
    let needs = StaticNeeds { memories: 1, memory_bytes: 20 << 20, tables: 1, table_elements: 1 };
    let obstacle = fit(Role::Admission, &needs).obstacle.expect("16 MiB are less");
    assert!(obstacle.contains("20971520"), "{obstacle}");
    assert_eq!(fit(Role::PodSource, &needs).obstacle, None);
}

#[test]
fn refused_interfaces_and_obstacles_are_reported() {
    let hostile = inspect(witlet_test_guests::HOSTILE).expect("a component");
    assert_eq!(hostile.denied, ["wasi:http/test-handler@0.2.3"]);
    let strange = inspect(&witlet_test_guests::unknown_imports()).expect("a component");
    assert_eq!(strange.roles, []);
    assert_eq!(strange.obstacles.len(), 3, "{:?}", strange.obstacles);
    let wrong = inspect(&witlet_test_guests::wrong_world()).expect("a component");
    assert_eq!(wrong.exports, ["run"]);
}

#[test]
fn needs_are_counted_over_all_modules() {
    let memory = inspect(&witlet_test_guests::giant_memory()).expect("a component");
    assert_eq!((memory.needs.memories, memory.needs.memory_bytes), (1, 65535 * PAGE_BYTES));
    let table = inspect(&witlet_test_guests::giant_table()).expect("a component");
    assert_eq!((table.needs.tables, table.needs.table_elements), (1, 10_000_000));
}

#[test]
fn what_is_no_component_is_refused() {
    assert!(matches!(inspect(&witlet_test_guests::core_module()), Err(InspectError::NotAComponent(_))));
    assert!(matches!(inspect(&witlet_test_guests::truncated()), Err(InspectError::Damaged { .. })));
}

proptest::proptest! {
    #[test]
    fn damaged_components_are_reported_and_never_panic(at in 8_usize..2000, value: u8) {
        let mut bytes = witlet_test_guests::NO_LATEST_TAG.to_vec();
        bytes[at] = value;
        // Either it still reads, or it is reported; what counts is that it ends.
        drop(inspect(&bytes));
    }
}

#[test]
fn a_section_of_producers_that_cannot_be_read_says_nothing_and_harms_nothing() {
    let damaged: [&[u8]; 3] = [b"\x01\x01\xff\x00", b"\x05", b"\x01\x03sdk\x01\x01"];
    for fields in damaged {
        let section = [b"\x09producers".as_slice(), fields].concat();
        let length = u8::try_from(section.len()).expect("it is short");
        let component = [b"\0asm\x0d\0\x01\0".as_slice(), &[0, length], &section].concat();
        let seen = inspect(&component).unwrap_or_else(|error| panic!("{fields:?}: {error}"));
        assert_eq!(seen.producers, []);
    }
}
