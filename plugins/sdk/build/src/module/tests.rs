//! Tests of the generated module.

use expect_test::expect;

use super::render;

#[test]
fn each_component_is_a_constant_and_stands_in_the_list() {
    expect![[r#"
        /// The component `host_ports`.
        pub const HOST_PORTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/host_ports.wasm"));
        /// The component `node_affinity`.
        pub const NODE_AFFINITY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/node_affinity.wasm"));
        /// All components with their names, sorted.
        pub const COMPONENTS: &[(&str, &[u8])] = &[("host_ports", HOST_PORTS), ("node_affinity", NODE_AFFINITY)];
    "#]]
    .assert_eq(&render(&["host_ports", "node_affinity"]));
}

#[test]
fn without_components_the_list_is_empty() {
    expect![[r#"
        /// All components with their names, sorted.
        pub const COMPONENTS: &[(&str, &[u8])] = &[];
    "#]]
    .assert_eq(&render(&[]));
}
