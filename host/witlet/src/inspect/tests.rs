//! What can be inspected.

use super::*;
use crate::plugin::component::shipped;

#[tokio::test]
async fn every_component_that_ships_is_inspected_by_its_name_and_others_are_named() {
    let registry = RegistryArgs::default();
    for builtin in shipped() {
        let name = format!("builtin:{}", builtin.name);
        let wasm = component::read(&name, &registry).await.expect("it ships").wasm;
        let inspection = component::inspected(&name, &wasm).expect("it is a component");
        assert!(inspection.obstacles.is_empty(), "{name}: {:?}", inspection.obstacles);
        assert!(for_people(&name, &inspection, None).starts_with(&format!("{name}\n")));
    }
    let error = component::read("builtin:no-one", &registry).await.expect_err("no one ships that");
    let words = error.to_string();
    assert!(words.starts_with("no built-in plugin \"no-one\"; expected one of node-pressure, "), "{words}");
    assert!(words.ends_with(", http-bundle"), "{words}");
    let moved = component::read("builtin:udp", &registry).await.expect_err("it is an example").to_string();
    assert!(moved.contains("build it in examples/plugins/rust/udp and name its file, ./udp.wasm"), "{moved}");
}

#[test]
fn what_does_not_fit_is_reported_with_the_way_out() {
    let fit = |obstacle: Option<&str>| Fit {
        role: witlet_wasm::role::Role::Probe,
        memory_bytes_default: 16 << 20,
        obstacle: obstacle.map(str::to_owned),
    };
    assert_eq!(limit(&fit(None)), "probe: starts within 16Mi, the default");
    assert_eq!(limit(&fit(Some("needs more"))), "probe: needs more; set limits.memory");
}

#[test]
fn an_interface_is_reported_with_the_version_that_serves_it() {
    let contract = |served_by| Contract {
        interface: "witlet:host/log".to_owned(),
        built_against: "0.1.0".to_owned(),
        served_by,
    };
    assert_eq!(served(&contract(Some("0.1.0"))), "witlet:host/log 0.1.0");
    assert_eq!(served(&contract(Some("0.1.2"))), "witlet:host/log 0.1.0, served by 0.1.2");
    assert_eq!(served(&contract(None)), "witlet:host/log 0.1.0, not supported by this release");
}
