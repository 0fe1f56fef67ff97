//! The plugins that ship in the binary, as components. They come through the same door as anybody's.

#![forbid(unsafe_code)]

#[allow(
    unreachable_pub,
    dead_code,
    reason = "generated: pub for whoever includes it, with a list for the tests"
)]
mod components {
    //! What the build script has compiled.
    include!(concat!(env!("OUT_DIR"), "/components.rs"));
}

/// A shipped plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name, as in logs and metrics.
    pub name: &'static str,
    /// The component's bytes, not precompiled.
    pub component: &'static [u8],
}

/// The shipped admission handlers, in the order in which the kubelet 1.36 checks the same: resources, node affinity,
/// host ports. None takes a configuration.
pub const ADMISSION: &[Builtin] = &[
    Builtin { name: "node-resources", component: components::NODE_RESOURCES },
    Builtin { name: "node-affinity", component: components::NODE_AFFINITY },
    Builtin { name: "host-ports", component: components::HOST_PORTS },
];

#[cfg(test)]
mod tests;
