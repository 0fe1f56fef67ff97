//! Compiles the shipped plugins to components, each with its manifest.

use std::process::ExitCode;

/// One package for each, in the order of `src/lib.rs`.
const PACKAGES: &[&str] = &[
    "witlet-plugin-node-pressure",
    "witlet-plugin-sysctls",
    "witlet-plugin-node-os",
    "witlet-plugin-supplemental-groups",
    "witlet-plugin-node-resources",
    "witlet-plugin-node-affinity",
    "witlet-plugin-node-name",
    "witlet-plugin-host-ports",
    "witlet-plugin-node-taints",
    "witlet-plugin-apparmor",
    "witlet-plugin-pod-level-resources",
    "witlet-plugin-declared-features",
    "witlet-plugin-exec",
    "witlet-plugin-http-get",
    "witlet-plugin-tcp-socket",
    "witlet-plugin-grpc",
    "witlet-plugin-image-policy",
    "witlet-plugin-cel",
    "witlet-plugin-redis",
    "witlet-plugin-http-json",
    "witlet-plugin-compose",
    "witlet-plugin-http-bundle",
];

fn main() -> ExitCode {
    witlet_build::Guests::new(PACKAGES).manifests().embed()
}
