//! containerd's and its network's configuration.

use std::path::Path;

use serde_json::json;

use crate::image::PAUSE_IMAGE;

/// Where Debian keeps network plugins.
pub(crate) const CNI_PLUGIN_FOLDER: &str = "/usr/lib/cni";

/// The link that all pods' links lead to. It is made with the first pod, and stays.
pub(crate) const BRIDGE: &str = "witlet0";

/// Pods' addresses; the network is the test's own, so every test has the same.
const SUBNET: &str = "10.231.0.0/16";

/// `config.toml` of a containerd that keeps everything below `folder`.
pub(crate) fn containerd(folder: &Path, snapshotter: &str) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    format!(
        r#"version = 2
root = "{root}"
state = "{state}"
disabled_plugins = ["io.containerd.internal.v1.restart"]

[grpc]
address = "{socket}"

[plugins."io.containerd.internal.v1.opt"]
path = "{opt}"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{CNI_PLUGIN_FOLDER}"
conf_dir = "{cni}"

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "{registries}"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "{snapshotter}"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
Root = "{runc}"
SystemdCgroup = false
"#,
        root = at("root"),
        state = at("state"),
        socket = at("containerd.sock"),
        opt = at("opt"),
        cni = at("cni"),
        registries = at("registries"),
        runc = at("runc"),
    )
}

/// A bridge with addresses that are handed out below `folder`, and host ports.
pub(crate) fn network(folder: &Path) -> String {
    json!({
        "cniVersion": "0.4.0",
        "name": "witlet-test",
        "plugins": [
            {
                "type": "bridge",
                "bridge": BRIDGE,
                "isGateway": true,
                "ipMasq": false,
                "ipam": {
                    "type": "host-local",
                    "dataDir": folder.join("addresses"),
                    "ranges": [[{ "subnet": SUBNET }]],
                    "routes": [{ "dst": "0.0.0.0/0" }],
                },
            },
            { "type": "portmap", "capabilities": { "portMappings": true } },
        ],
    })
    .to_string()
}
