//! Which crate may import which.

use std::collections::{BTreeMap, BTreeSet};

use crate::{check, files, read, relative, root};

/// Folder of a crate → the crates of this workspace that it may import. A crate that isn't listed is refused.
const ARROWS: &[(&str, &[&str])] = &[
    ("proto", &[]),
    ("host/core", &["witlet-http-target"]),
    ("host/ports", &["witlet-core"]),
    ("host/agent", &["witlet-core", "witlet-ports"]),
    ("host/cri", &["witlet-core", "witlet-ports", "witlet-proto"]),
    ("host/cluster", &["witlet-core", "witlet-ports"]),
    ("host/wasm", &["witlet-core", "witlet-egress", "witlet-ports"]),
    ("host/conformance", &["witlet-core", "witlet-ports", "witlet-wasm"]),
    ("host/node", &["witlet-core", "witlet-egress", "witlet-ports"]),
    ("host/egress", &["witlet-core", "witlet-ports"]),
    ("host/oci", &["witlet-core", "witlet-egress", "witlet-ports"]),
    ("host/otlp", &["witlet-core", "witlet-ports", "witlet-proto"]),
    ("host/runtime", &["witlet-ports", "witlet-proto", "witlet-wasm"]),
    ("host/server", &["witlet-core", "witlet-ports"]),
    (
        "host/witlet",
        &[
            "witlet-agent",
            "witlet-cluster",
            "witlet-conformance",
            "witlet-core",
            "witlet-cri",
            "witlet-egress",
            "witlet-node",
            "witlet-oci",
            "witlet-otlp",
            "witlet-plugins",
            "witlet-ports",
            "witlet-runtime",
            "witlet-server",
            "witlet-templates",
            "witlet-wasm",
        ],
    ),
    ("host/testkit", &["witlet-agent", "witlet-core", "witlet-ports"]),
    ("plugins/sdk/base", &[]),
    ("plugins/sdk/guest", &["witlet-plugin-sdk-base"]),
    ("plugins/sdk/guest-0.2", &["witlet-plugin-sdk-base"]),
    ("plugins/sdk/build", &[]),
    ("plugins/sdk/cel", &[]),
    ("host/witlet/bundle", &[]),
    ("plugins/sdk/templates", &[]),
    ("host/http-target", &[]),
    ("plugins/sysctls", &["witlet-plugin-sdk"]),
    ("plugins/node-os", &["witlet-plugin-sdk"]),
    ("plugins/supplemental-groups", &["witlet-plugin-sdk"]),
    ("plugins/node-resources", &["witlet-plugin-sdk"]),
    ("plugins/node-affinity", &["witlet-plugin-sdk"]),
    ("plugins/node-name", &["witlet-plugin-sdk"]),
    ("plugins/host-ports", &["witlet-plugin-sdk"]),
    ("plugins/node-pressure", &["witlet-plugin-sdk"]),
    ("plugins/node-taints", &["witlet-plugin-sdk"]),
    ("plugins/apparmor", &["witlet-plugin-sdk"]),
    ("plugins/pod-level-resources", &["witlet-plugin-sdk"]),
    ("plugins/declared-features", &["witlet-plugin-sdk"]),
    ("plugins/image-policy", &["witlet-plugin-sdk"]),
    ("plugins/cel", &["witlet-cel", "witlet-plugin-sdk-0-2"]),
    ("plugins/exec", &["witlet-plugin-sdk"]),
    ("plugins/http-get", &["witlet-http-target", "witlet-plugin-sdk"]),
    ("plugins/tcp-socket", &["witlet-plugin-sdk"]),
    ("plugins/grpc", &["witlet-http-target", "witlet-plugin-sdk"]),
    ("plugins/redis", &["witlet-plugin-sdk"]),
    ("plugins/http-json", &["witlet-cel", "witlet-http-target", "witlet-plugin-sdk"]),
    ("plugins/compose", &["witlet-plugin-sdk"]),
    ("plugins/http-bundle", &["witlet-plugin-sdk"]),
    ("examples/plugins/rust/no-latest-tag", &["witlet-plugin-sdk"]),
    ("examples/plugins/rust/not-before", &["witlet-plugin-sdk"]),
    ("examples/plugins/rust/pod-folder", &["witlet-plugin-sdk-0-2"]),
    ("examples/plugins/rust/folder-source", &["witlet-plugin-sdk"]),
    ("examples/plugins/rust/image-policy", &["witlet-plugin-sdk"]),
    ("examples/plugins/rust/redis-probe", &["witlet-plugin-sdk"]),
    ("examples/plugins/rust/policies", &["witlet-plugin-sdk-0-2"]),
    ("examples/plugins/rust/redis-ping", &["witlet-plugin-sdk-0-2"]),
    ("examples/plugins/rust/postgres-ready", &["witlet-plugin-sdk"]),
    ("examples/plugins/rust/time-window", &["witlet-plugin-sdk"]),
    ("examples/plugins/rust/udp", &["witlet-plugin-sdk"]),
    ("examples/workloads", &[]),
    ("tests/guests", &[]),
    ("tests/guests/hostile", &[]),
    ("tests/guests/intruder", &[]),
    ("tests/guests/loop-at-start", &[]),
    ("tests/guests/next-version", &[]),
    ("tests/guests/runtime", &[]),
    ("tests/guests/prober", &["witlet-plugin-sdk"]),
    ("tests/guests/sourcer", &["witlet-plugin-sdk"]),
    ("tests/guests/witness", &["witlet-plugin-sdk"]),
    ("tests/guests/faults", &["witlet-plugin-sdk"]),
    ("tests/guests/tattler", &["witlet-plugin-sdk"]),
    ("tests/guests/ten-rules", &["witlet-plugin-sdk-0-2"]),
    ("tests/guests/admission-v0-2", &[]),
    ("tests/guests/policies-v0-1", &["witlet-plugin-sdk"]),
    ("tests/guests/probe-v0-2", &[]),
    ("tests/guests/source-v0-2", &[]),
    ("tests/guests/shipped-v0-2", &["witlet-plugin-sdk"]),
    ("tests/guests/shipped-v0-2/sdk", &[]),
    ("tests/guests/all-functions/rust", &["witlet-plugin-sdk"]),
    ("tests/guests/all-functions-0.2/rust", &[]),
    ("tests/api-server", &["witlet-server"]),
    ("tests/cluster-scenarios", &[]),
    ("tests/containerd", &[]),
    ("tests/contracts", &["witlet-core", "witlet-ports"]),
    ("tests/fuzz", &["witlet-fuzz"]),
    (
        "tests/fuzz/targets",
        &[
            "witlet",
            "witlet-cel",
            "witlet-cluster",
            "witlet-core",
            "witlet-cri",
            "witlet-node",
            "witlet-oci",
            "witlet-plugin-cel",
            "witlet-plugin-sdk-0-2",
            "witlet-ports",
            "witlet-proto",
            "witlet-rule-cases",
            "witlet-server",
            "witlet-wasm",
        ],
    ),
    ("tests/daemon", &[]),
    ("tests/embedded-runtime", &["witlet-runtime", "witlet-wasm"]),
    ("tests/fake-cri", &["witlet-proto"]),
    (
        "tests/harness",
        &[
            "witlet-api-server",
            "witlet-contracts",
            "witlet-core",
            "witlet-cri",
            "witlet-fake-cri",
            "witlet-ports",
            "witlet-server",
            "witlet-test-guests",
            "witlet-testkit",
        ],
    ),
    ("tests/languages", &["witlet-templates"]),
    ("tests/loss-checks", &["witlet-core", "witlet-harness", "witlet-testkit"]),
    ("tests/plugin-host", &["witlet-wasm"]),
    ("tests/pod-life", &[]),
    ("tests/rule-cases", &[]),
    ("tests/scenarios", &[]),
    ("tests/servers", &[]),
    ("tests/soak", &[]),
    ("tests/tidy", &[]),
];

/// Crates from outside that only these folders may import: the edges where foreign vocabularies stay.
const FOREIGN: &[(&str, &[&str])] = &[
    ("wasmtime", &["host/wasm", "host/runtime"]),
    ("wasmtime-wasi", &["host/wasm", "host/runtime"]),
    ("tonic", &["proto", "host/cri", "host/otlp", "host/runtime", "tests/fake-cri"]),
    (
        "wit-bindgen",
        &[
            "plugins/sdk/guest-0.2",
            "plugins/sdk/guest",
            "tests/guests/admission-v0-2",
            "tests/guests/all-functions-0.2/rust",
            "tests/guests/probe-v0-2",
            "tests/guests/source-v0-2",
            "tests/guests/shipped-v0-2/sdk",
            "tests/guests/hostile",
            "tests/guests/intruder",
            "tests/guests/loop-at-start",
            "tests/guests/next-version",
        ],
    ),
    ("kube", &["host/cluster", "tests/api-server", "tests/harness"]),
    ("zbus", &["host/node"]),
    ("anyhow", &[]),
];

/// Names under `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let table: toml::Table = manifest.parse().expect("a manifest is TOML");
    let names = table.get("dependencies").and_then(|d| d.as_table()).map(|d| d.keys().cloned().collect());
    names.unwrap_or_default()
}

fn manifests() -> BTreeMap<String, BTreeSet<String>> {
    let manifests = files(&root(), "Cargo.toml").into_iter().filter(|path| path.parent() != Some(&*root()));
    manifests
        .map(|path| {
            let folder = relative(path.parent().expect("a manifest lies in a folder"));
            (folder, dependencies(&read(&path)))
        })
        .collect()
}

#[test]
fn crates_import_only_what_the_design_allows() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let mut findings = Vec::new();
    for (folder, dependencies) in manifests() {
        let Some(may) = allowed.get(folder.as_str()) else {
            findings.push(format!("{folder} isn't in the table of arrows"));
            continue;
        };
        for name in dependencies.iter().filter(|name| name.starts_with("witlet")) {
            if !may.contains(&name.as_str()) {
                findings.push(format!("{folder} imports {name}"));
            }
        }
    }
    check("a crate imports only the crates that its row in the table of arrows names", &findings);
}

#[test]
fn foreign_vocabularies_stay_at_their_edges() {
    let mut findings = Vec::new();
    for (folder, dependencies) in manifests() {
        for (name, may) in FOREIGN {
            if dependencies.contains(*name) && !may.contains(&folder.as_str()) {
                findings.push(format!("{folder} imports {name}"));
            }
        }
    }
    check("these crates belong to one edge each", &findings);
}

#[test]
fn every_crate_inherits_the_lints() {
    let mut findings = Vec::new();
    for path in files(&root(), "Cargo.toml").iter().filter(|path| path.parent() != Some(&*root())) {
        let table: toml::Table = read(path).parse().expect("a manifest is TOML");
        let inherits = table.get("lints").and_then(|l| l.get("workspace")).and_then(toml::Value::as_bool);
        if inherits != Some(true) {
            findings.push(relative(path));
        }
    }
    check("`[lints] workspace = true` stands in every manifest", &findings);
}
