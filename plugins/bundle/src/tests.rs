//! Tests that the bundle is whole.

use super::{ADMISSION, components};

/// A component's first eight bytes: magic number, version 13, layer 1 (component model, binary format).
const PREAMBLE: [u8; 8] = [0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00];

/// A shipped handler stays this small: all are in memory whenever the daemon runs.
const COMPONENT_BYTES_MAX: usize = 192 * 1024;

#[test]
fn every_plugin_that_was_built_ships_under_its_own_name() {
    let mut shipped: Vec<(String, &[u8])> =
        ADMISSION.iter().map(|builtin| (builtin.name.replace('-', "_"), builtin.component)).collect();
    shipped.sort();
    let built: Vec<(String, &[u8])> =
        components::COMPONENTS.iter().map(|(name, component)| ((*name).to_owned(), *component)).collect();
    assert!(shipped == built, "shipped and built plugins differ");
}

#[test]
fn every_plugin_is_a_small_component() {
    for builtin in ADMISSION {
        assert!(builtin.component.starts_with(&PREAMBLE), "{} is no component", builtin.name);
        let size = builtin.component.len();
        assert!(size <= COMPONENT_BYTES_MAX, "{} has {size} bytes", builtin.name);
    }
}
