//! A kubelet's root folder stays the kubelet's.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use witlet_wasm::compile::{Compiler, CompilerConfig};

use super::*;

/// The root folder of a kubelet 1.36.2 that kubeadm set up, after a day's work: names and modes, `/` at the end of folders. All of
/// it belongs to root.
pub(crate) const OF_KUBELET: &[(&str, u32)] = &[
    ("actuated_pods_state", 0o600),
    ("allocated_pods_state", 0o600),
    ("checkpoints/", 0o700),
    ("config.yaml", 0o644),
    ("cpu_manager_state", 0o600),
    ("device-plugins/", 0o750),
    ("device-plugins/kubelet.sock", 0o755),
    ("device-plugins/kubelet_internal_checkpoint", 0o600),
    ("dra_manager_state", 0o600),
    ("image_manager/", 0o700),
    ("image_manager/pulled/", 0o700),
    ("image_manager/pulled/sha256-2af1d93b", 0o600),
    ("image_manager/pulling/", 0o700),
    ("instance-config.yaml", 0o644),
    ("kubeadm-flags.env", 0o644),
    ("memory_manager_state", 0o600),
    ("pki/", 0o755),
    ("pki/kubelet-client-2026-11-22-08-00-00.pem", 0o600),
    ("pki/kubelet.crt", 0o644),
    ("pki/kubelet.key", 0o600),
    ("plugins/", 0o750),
    ("plugins/csi.example.com/", 0o755),
    ("plugins/csi.example.com/csi.sock", 0o755),
    ("plugins/kubernetes.io/", 0o750),
    ("plugins_registry/", 0o750),
    ("plugins_registry/csi.example.com-reg.sock", 0o755),
    ("pod-resources/", 0o750),
    ("pod-resources/kubelet.sock", 0o755),
    ("pods/", 0o750),
    ("pods/8a7d3c1e-25a4-4c0d-9df6-3a9a2f6d11c1/", 0o750),
    ("pods/8a7d3c1e-25a4-4c0d-9df6-3a9a2f6d11c1/etc-hosts", 0o644),
    ("pods/8a7d3c1e-25a4-4c0d-9df6-3a9a2f6d11c1/plugins/", 0o750),
    ("pods/8a7d3c1e-25a4-4c0d-9df6-3a9a2f6d11c1/volumes/", 0o750),
    ("seccomp/", 0o755),
    ("seccomp/audit.json", 0o644),
];

/// Names that upstream may use besides: by feature gates that are off, and by earlier releases.
const ALSO_OF_KUBELET: &[&str] = &[
    "plugin-containers",
    "pods-api",
    "podcertificates",
    "pod_status_manager_state",
    "usernsd",
    "volume-subpaths",
    "volumeDevices",
    "volumeplugins",
];

fn fill(root: &Path) {
    fs::set_permissions(root, Permissions::from_mode(0o750)).expect("set");
    for (name, _) in OF_KUBELET {
        let path = root.join(name);
        if name.ends_with('/') {
            fs::create_dir_all(&path).expect("made");
        } else {
            fs::create_dir_all(path.parent().expect("it has one")).expect("made");
            fs::write(&path, format!("of the kubelet: {name}")).expect("written");
        }
    }
    for (name, mode) in OF_KUBELET {
        fs::set_permissions(root.join(name), Permissions::from_mode(*mode)).expect("set");
    }
}

/// All that is in a folder: mode, and content of files.
fn contents(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("readable") {
            let path = entry.expect("readable").path();
            let metadata = path.symlink_metadata().expect("there");
            let content = if metadata.is_dir() { Vec::new() } else { fs::read(&path).expect("readable") };
            found.insert(path.clone(), (metadata.mode() & 0o7777, content));
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

#[test]
fn in_a_kubelets_root_folder_nothing_of_the_kubelets_is_touched_and_code_can_be_kept() {
    let root = tempfile::tempdir().expect("a folder");
    fill(root.path());
    let before = contents(root.path());
    let own = OwnFiles::below(root.path());
    for _ in 0..2 {
        own.prepare().expect("a kubelet's folder is as good as any");
    }
    Compiler::new(CompilerConfig::new(own.code())).expect("no one else's folder");
    let mut after = contents(root.path());
    after.retain(|path, _| !path.starts_with(&own.folder));
    assert_eq!(before, after);
    let mode = own.folder.metadata().expect("there").mode() & 0o7777;
    assert_eq!(mode, 0o700);
}

#[test]
fn no_name_of_the_agents_own_is_a_kubelets() {
    let of_kubelet = OF_KUBELET.iter().map(|(name, _)| name.split('/').next().unwrap_or(name));
    let of_kubelet: Vec<&str> = of_kubelet.chain(ALSO_OF_KUBELET.iter().copied()).collect();
    for own in [FOLDER, "lock", "runtime", "images"] {
        assert!(!of_kubelet.contains(&own), "{own} is a kubelet's");
    }
}

/// What an earlier release left, in a folder that may be a kubelet's too.
fn leave_old(root: &Path) -> [String; 2] {
    let key = "0123456789abcdef".repeat(4);
    let code = CODE_ENDS.map(|end| format!("{key}{end}"));
    for name in ["state/admitted-pods.json", "plugins/state/judge/seen", "plugins/components/sha256-1"]
        .into_iter()
        .map(str::to_owned)
        .chain(code.iter().map(|name| format!("plugins/{name}")))
    {
        let path = root.join(&name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(path, name).expect("written");
    }
    fs::set_permissions(root.join("state"), Permissions::from_mode(0o700)).expect("set");
    code
}

fn read(path: PathBuf) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[test]
fn files_of_an_earlier_release_are_moved_once() {
    let root = tempfile::tempdir().expect("a folder");
    let code = leave_old(root.path());
    let own = OwnFiles::below(root.path());
    own.prepare().expect("moved");
    assert_eq!(read(own.state().join("admitted-pods.json")).as_deref(), Some("state/admitted-pods.json"));
    assert_eq!(read(own.plugin_state().join("judge/seen")).as_deref(), Some("plugins/state/judge/seen"));
    assert_eq!(read(own.components().join("sha256-1")).as_deref(), Some("plugins/components/sha256-1"));
    for name in &code {
        assert_eq!(read(own.code().join(name)), Some(format!("plugins/{name}")));
    }
    assert!(!root.path().join("plugins").exists() && !root.path().join("state").exists());
    // What is there by now is newer.
    fs::write(own.state().join("admitted-pods.json"), "newer").expect("written");
    leave_old(root.path());
    own.prepare().expect("nothing to move");
    assert_eq!(read(own.state().join("admitted-pods.json")).as_deref(), Some("newer"));
}

#[test]
fn of_a_folder_that_a_kubelet_used_since_only_what_is_witlets_is_moved() {
    let root = tempfile::tempdir().expect("a folder");
    leave_old(root.path());
    fs::create_dir_all(root.path().join("plugins/csi.example.com")).expect("made");
    fs::set_permissions(root.path().join("plugins"), Permissions::from_mode(0o750)).expect("set");
    OwnFiles::below(root.path()).prepare().expect("moved");
    let left: Vec<_> = contents(&root.path().join("plugins")).into_keys().collect();
    assert_eq!(left, [root.path().join("plugins/csi.example.com")]);
}

#[test]
fn a_folder_that_is_not_clearly_of_an_earlier_release_stays() {
    let root = tempfile::tempdir().expect("a folder");
    for name in ["plugins/state/x", "plugins/components/x", "plugins/0123.cwasm", "state/x"] {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(path, name).expect("written");
    }
    fs::set_permissions(root.path().join("state"), Permissions::from_mode(0o755)).expect("set");
    let before = contents(root.path());
    let own = OwnFiles::below(root.path());
    own.prepare().expect("nothing to move");
    let mut after = contents(root.path());
    after.retain(|path, _| !path.starts_with(&own.folder));
    assert_eq!(before, after);
}
