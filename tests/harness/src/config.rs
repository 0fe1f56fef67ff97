//! containerd's and its network's configuration.

use std::path::Path;

use serde_json::json;

use crate::image::PAUSE_IMAGE;
use crate::release::Release;

/// Where Debian keeps network plugins.
pub(crate) const CNI_PLUGIN_FOLDER: &str = "/usr/lib/cni";

/// The link that all pods' links lead to. It is made with the first pod, and stays.
pub(crate) const BRIDGE: &str = "witlet0";

/// Pods' addresses; the network is the test's own, so every test has the same.
const SUBNET: &str = "10.231.0.0/16";

/// The first release with this configuration format.
const FIRST_WITH_FORMAT_3: Release = Release { major: 2, minor: 0 };

/// The first release with several folders of network plugins; later ones take no single one any more.
const FIRST_WITH_BIN_DIRS: Release = Release { major: 2, minor: 1 };

/// The first release that says who makes cgroups, what its handlers can, and keeps to `supplementalGroupsPolicy`.
pub(crate) const FIRST_WITH_FEATURES: Release = Release { major: 2, minor: 0 };

/// The first release that answers `GetContainerEvents`.
pub(crate) const FIRST_WITH_EVENTS: Release = Release { major: 1, minor: 7 };

/// Set to `1`, systemd makes the cgroups, which must be the init of where the tests are. Sandboxes then need a slice above
/// them: the daemon gives them one, other suites don't.
const SYSTEMD_VARIABLE: &str = "WITLET_CONTAINERD_SYSTEMD";

/// Whether [`SYSTEMD_VARIABLE`] asks for it.
pub fn asks_for_systemd() -> bool {
    std::env::var_os(SYSTEMD_VARIABLE).is_some_and(|value| value == "1")
}

/// `config.toml` of a containerd of this release that keeps everything below `folder`.
pub(crate) fn containerd(folder: &Path, snapshotter: &str, release: Release, systemd: bool) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    let (head, cri) = if release >= FIRST_WITH_FORMAT_3 { FORMAT_3 } else { FORMAT_2 };
    let common = format!(
        r#"root = "{root}"
state = "{state}"

[grpc]
address = "{socket}"

[plugins."io.containerd.internal.v1.opt"]
path = "{opt}"
"#,
        root = at("root"),
        state = at("state"),
        socket = at("containerd.sock"),
        opt = at("opt"),
    );
    let bins = if release >= FIRST_WITH_BIN_DIRS {
        format!("bin_dirs = [\"{CNI_PLUGIN_FOLDER}\"]")
    } else {
        format!("bin_dir = \"{CNI_PLUGIN_FOLDER}\"")
    };
    let cri = [
        ("{pause}", PAUSE_IMAGE),
        ("{cni bins}", &bins),
        ("{cni}", &at("cni")),
        ("{registries}", &at("registries")),
        ("{snapshotter}", snapshotter),
        ("{runc}", &at("runc")),
        ("{systemd}", if systemd { "true" } else { "false" }),
    ]
    .into_iter()
    .fold(cri.to_owned(), |text, (name, value)| text.replace(name, value));
    format!("{head}{common}{cri}")
}

/// What containerd 1.x reads: its head, which stands before all tables, and the CRI's tables.
const FORMAT_2: (&str, &str) = (
    r#"version = 2
disabled_plugins = ["io.containerd.internal.v1.restart"]
"#,
    r#"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{pause}"
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true

[plugins."io.containerd.grpc.v1.cri".cni]
{cni bins}
conf_dir = "{cni}"

[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "{registries}"

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "{snapshotter}"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
Root = "{runc}"
SystemdCgroup = {systemd}
"#,
);

/// What containerd 2.x reads. Its NRI plugin and its tracing would have places of the machine's own.
const FORMAT_3: (&str, &str) = (
    r#"version = 3
disabled_plugins = ["io.containerd.monitor.container.v1.restart", "io.containerd.nri.v1.nri"]
"#,
    r#"
[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true

[plugins."io.containerd.cri.v1.runtime".cni]
{cni bins}
conf_dir = "{cni}"

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
Root = "{runc}"
SystemdCgroup = {systemd}

[plugins."io.containerd.cri.v1.images"]
snapshotter = "{snapshotter}"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{pause}"

[plugins."io.containerd.cri.v1.images".registry]
config_path = "{registries}"
"#,
);

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

#[cfg(test)]
mod tests {
    //! Each release is configured in its own words.

    use super::*;

    #[test]
    fn a_release_gets_its_own_format_and_all_places() {
        let one = "bin_dir = \"/usr/lib/cni\"\n";
        for ((major, minor), first, folders) in [
            ((1, 6), "version = 2\n", one),
            ((1, 7), "version = 2\n", one),
            ((2, 0), "version = 3\n", one),
            ((2, 1), "version = 3\n", "bin_dirs = [\"/usr/lib/cni\"]\n"),
        ] {
            let text = containerd(Path::new("/tmp/x"), "native", Release { major, minor }, true);
            assert!(text.starts_with(first), "{major}.{minor}: {text}");
            assert!(!text.contains('{'), "{major}.{minor} has a place without its value: {text}");
            let places = ["/tmp/x/root", "/tmp/x/state", "/tmp/x/cni", "/tmp/x/registries", "/tmp/x/runc"];
            for value in places.iter().chain(&[PAUSE_IMAGE, "\"native\"", "SystemdCgroup = true", folders]) {
                assert!(text.contains(value), "{major}.{minor} lacks {value}: {text}");
            }
        }
    }
}
