//! The plugins that ship in the binary, as components. They are loaded as any other.
//!
//! The lists are statics: a constant's bytes would be in the program once for each crate that reads it.

#![forbid(unsafe_code)]

#[allow(unreachable_pub, dead_code, reason = "generated: pub for its includers, with a list for the tests")]
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

/// Admission handlers that are always on, in the order in which the kubelet 1.36 checks the same. `sysctls` takes upstream's
/// `allowedUnsafeSysctls` as configuration; the others take none.
pub static ADMISSION: &[Builtin] = &[
    Builtin { name: "node-pressure", component: components::NODE_PRESSURE },
    Builtin { name: "sysctls", component: components::SYSCTLS },
    Builtin { name: "node-os", component: components::NODE_OS },
    Builtin { name: "supplemental-groups", component: components::SUPPLEMENTAL_GROUPS },
    Builtin { name: "node-resources", component: components::NODE_RESOURCES },
    Builtin { name: "node-affinity", component: components::NODE_AFFINITY },
    Builtin { name: "node-name", component: components::NODE_NAME },
    Builtin { name: "host-ports", component: components::HOST_PORTS },
    Builtin { name: "node-taints", component: components::NODE_TAINTS },
    Builtin { name: "apparmor", component: components::APPARMOR },
    Builtin { name: "pod-level-resources", component: components::POD_LEVEL_RESOURCES },
    Builtin { name: "declared-features", component: components::DECLARED_FEATURES },
];

/// The types of probes that a pod's spec can name. The name is the type's.
pub static PROBES: &[Builtin] = &[
    Builtin { name: "exec", component: components::EXEC },
    Builtin { name: "httpGet", component: components::HTTP_GET },
    Builtin { name: "tcpSocket", component: components::TCP_SOCKET },
    Builtin { name: "grpc", component: components::GRPC },
];

/// Plugins that are off until a configuration names them (`component: builtin:NAME`).
pub static SHIPPED: &[Builtin] = &[
    Builtin { name: "image-policy", component: components::IMAGE_POLICY },
    Builtin { name: "cel", component: components::CEL },
    Builtin { name: "redis", component: components::REDIS },
    Builtin { name: "http-json", component: components::HTTP_JSON },
    Builtin { name: "compose", component: components::COMPOSE },
    Builtin { name: "http-bundle", component: components::HTTP_BUNDLE },
];

#[cfg(test)]
mod tests;
