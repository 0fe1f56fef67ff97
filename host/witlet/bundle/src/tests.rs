//! Tests that the bundle is whole.

use super::{ADMISSION, Builtin, PROBES, SHIPPED, components};

/// A component's first eight bytes: magic number, version 13, layer 1 (component model, binary format).
const PREAMBLE: [u8; 8] = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];

/// A plugin that is always on stays this small: all are in memory whenever the daemon runs.
const ALWAYS_ON_BYTES_MAX: usize = 192 * 1024;

/// A probe type of a pod's spec.
const PROBE_BYTES_MAX: usize = 256 * 1024;

/// Any other is in the binary only until someone turns it on; a reader of YAML takes the most.
const SHIPPED_BYTES_MAX: usize = 1280 * 1024;

fn all() -> impl Iterator<Item = &'static Builtin> {
    ADMISSION.iter().chain(PROBES).chain(SHIPPED)
}

#[test]
fn every_plugin_that_was_built_ships_once() {
    let mut shipped: Vec<&[u8]> = all().map(|builtin| builtin.component).collect();
    let mut built: Vec<&[u8]> = components::COMPONENTS.iter().map(|(_, component)| *component).collect();
    shipped.sort_unstable();
    built.sort_unstable();
    assert!(shipped == built, "shipped and built plugins differ");
    let mut names: Vec<&str> = all().map(|builtin| builtin.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), built.len(), "each has a name of its own");
}

#[test]
fn admission_is_in_upstreams_order() {
    let names: Vec<&str> = ADMISSION.iter().map(|builtin| builtin.name).collect();
    let expected = [
        "node-pressure",
        "sysctls",
        "node-os",
        "supplemental-groups",
        "node-resources",
        "node-affinity",
        "node-name",
        "host-ports",
        "node-taints",
        "apparmor",
        "pod-level-resources",
        "declared-features",
    ];
    assert_eq!(names, expected);
    for builtin in ADMISSION {
        let built = components::COMPONENTS.iter().find(|(name, _)| *name == builtin.name.replace('-', "_"));
        assert!(built.is_some_and(|(_, component)| *component == builtin.component), "{}", builtin.name);
    }
}

#[test]
fn every_plugin_is_a_small_component() {
    for (list, most) in
        [(ADMISSION, ALWAYS_ON_BYTES_MAX), (PROBES, PROBE_BYTES_MAX), (SHIPPED, SHIPPED_BYTES_MAX)]
    {
        for builtin in list {
            assert!(builtin.component.starts_with(&PREAMBLE), "{} is no component", builtin.name);
            let size = builtin.component.len();
            // Debug builds embed components without link-time optimisation; `make bench` asks this of a release.
            let most = if cfg!(debug_assertions) { most * 8 } else { most };
            assert!(size <= most, "{} has {size} bytes", builtin.name);
            println!("{:<20} {size:>7} bytes", builtin.name);
        }
    }
}
