//! Images made on the spot: one layer with Debian's static busybox, as a workload and as the pause image.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::shell::{HarnessError, io, run};

/// A shell and its usual tools.
pub const BUSYBOX_IMAGE: &str = "witlet.test/busybox:1";
/// What sandboxes run.
pub const PAUSE_IMAGE: &str = "witlet.test/pause:1";
/// Doesn't exist: `.invalid` resolves nowhere (RFC 6761).
pub const ABSENT_IMAGE: &str = "witlet.invalid/nothing:1";

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// The root file system in the folder that images are made in.
const LAYER: &str = "layer.tar";

/// Tools that workloads call by name.
const APPLETS: [&str; 18] = [
    "sh", "sleep", "echo", "cat", "true", "false", "test", "kill", "id", "wget", "httpd", "nc", "ip", "env",
    "ls", "hostname", "printf", "trap",
];

/// The static busybox, if it is installed.
pub(crate) fn busybox() -> Option<PathBuf> {
    ["/bin/busybox", "/usr/bin/busybox"].map(PathBuf::from).into_iter().find(|path| path.exists())
}

/// Content by its digest.
#[derive(Debug)]
pub(crate) struct Blob {
    pub(crate) digest: String,
    size: u64,
    path: PathBuf,
}

impl Blob {
    /// Its content.
    pub(crate) fn read(&self) -> Result<Vec<u8>, HarnessError> {
        fs::read(&self.path).map_err(io("read a blob"))
    }

    fn descriptor(&self, media_type: &str) -> serde_json::Value {
        json!({ "mediaType": media_type, "digest": self.digest, "size": self.size })
    }
}

fn add_blob(blobs: &Path, content: &[u8]) -> Result<Blob, HarnessError> {
    let hash = hex::encode(Sha256::digest(content));
    let path = blobs.join(&hash);
    fs::write(&path, content).map_err(io("write a blob"))?;
    Ok(Blob { digest: format!("sha256:{hash}"), size: content.len() as u64, path })
}

/// An image's parts.
#[derive(Debug)]
pub(crate) struct ImageBlobs {
    pub(crate) layers: Vec<Blob>,
    pub(crate) config: Blob,
    pub(crate) manifest: Blob,
    /// Of the manifest.
    pub(crate) media_type: String,
}

impl ImageBlobs {
    /// The busybox image again, distinguished from it by a label. `work` is the folder that the harness made its images in.
    pub(crate) fn make(work: &Path, label: &str) -> Result<Self, HarnessError> {
        let blobs = work.join("layout/blobs/sha256");
        let layer = fs::read(work.join(LAYER)).map_err(io("read the layer"))?;
        Self::of_layers(&blobs, vec![add_blob(&blobs, &layer)?], &json!(["/bin/sh"]), label)
    }

    /// The same with a second layer of this many bytes, which no other image has.
    pub(crate) fn make_large(work: &Path, label: &str, bytes: usize) -> Result<Self, HarnessError> {
        let blobs = work.join("layout/blobs/sha256");
        let layer = fs::read(work.join(LAYER)).map_err(io("read the layer"))?;
        let file = work.join("large");
        fs::write(&file, label.bytes().cycle().take(bytes).collect::<Vec<u8>>())
            .map_err(io("write a large file"))?;
        let tar = work.join("large.tar");
        let (tar_path, folder) = (tar.to_string_lossy(), work.to_string_lossy());
        run("tar", &["-c", "--numeric-owner", "-f", &*tar_path, "-C", &*folder, "large"])?;
        let large = fs::read(&tar).map_err(io("read the large layer"))?;
        let layers = vec![add_blob(&blobs, &layer)?, add_blob(&blobs, &large)?];
        Self::of_layers(&blobs, layers, &json!(["/bin/sh"]), label)
    }

    fn of_layers(
        blobs: &Path,
        layers: Vec<Blob>,
        command: &serde_json::Value,
        label: &str,
    ) -> Result<Self, HarnessError> {
        let config = json!({
            "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
            "os": "linux",
            "config": {
                "Cmd": command,
                "Env": ["PATH=/bin"],
                "WorkingDir": "/",
                "Labels": { "witlet.test/image": label },
            },
            "rootfs": { "type": "layers", "diff_ids": layers.iter().map(|layer| &layer.digest).collect::<Vec<_>>() },
        });
        let config = add_blob(blobs, config.to_string().as_bytes())?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": config.descriptor("application/vnd.oci.image.config.v1+json"),
            "layers": layers
                .iter()
                .map(|layer| layer.descriptor("application/vnd.oci.image.layer.v1.tar"))
                .collect::<Vec<_>>(),
        });
        let manifest = add_blob(blobs, manifest.to_string().as_bytes())?;
        Ok(Self { layers, config, manifest, media_type: MANIFEST_TYPE.to_owned() })
    }
}

/// The root file system as a tar.
fn layer(work: &Path) -> Result<Vec<u8>, HarnessError> {
    let root = work.join("rootfs");
    for folder in ["bin", "etc", "tmp", "proc", "sys", "dev"] {
        fs::create_dir_all(root.join(folder)).map_err(io("make the root file system"))?;
    }
    let binary = busybox().ok_or_else(|| HarnessError::Answer("busybox went away".to_owned()))?;
    fs::copy(binary, root.join("bin/busybox")).map_err(io("copy busybox"))?;
    for applet in APPLETS {
        symlink("busybox", root.join("bin").join(applet)).map_err(io("link an applet"))?;
    }
    fs::write(root.join("etc/passwd"), "root:x:0:0:root:/:/bin/sh\n").map_err(io("write passwd"))?;
    let tar = work.join(LAYER);
    let (tar_path, root_path) = (tar.to_string_lossy(), root.to_string_lossy());
    run("tar", &["-c", "--numeric-owner", "-f", &*tar_path, "-C", &*root_path, "."])?;
    fs::read(&tar).map_err(io("read the layer"))
}

/// Writes an OCI image layout with both images as one tar, for `ctr images import`.
pub(crate) fn write_archive(work: &Path) -> Result<PathBuf, HarnessError> {
    let layout = work.join("layout");
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs).map_err(io("make the image layout"))?;
    let content = layer(work)?;
    let mut manifests = Vec::new();
    for (name, command) in
        [(BUSYBOX_IMAGE, json!(["/bin/sh"])), (PAUSE_IMAGE, json!(["/bin/sleep", "31536000"]))]
    {
        let image = ImageBlobs::of_layers(&blobs, vec![add_blob(&blobs, &content)?], &command, name)?;
        let mut entry = image.manifest.descriptor(&image.media_type);
        entry["annotations"] = json!({ "io.containerd.image.name": name });
        manifests.push(entry);
    }
    let index = json!({ "schemaVersion": 2, "manifests": manifests }).to_string();
    fs::write(layout.join("index.json"), index).map_err(io("write the index"))?;
    let version = json!({ "imageLayoutVersion": "1.0.0" }).to_string();
    fs::write(layout.join("oci-layout"), version).map_err(io("write the layout's version"))?;
    let archive = work.join("images.tar");
    run("tar", &["-c", "-f", &*archive.to_string_lossy(), "-C", &*layout.to_string_lossy(), "."])?;
    Ok(archive)
}
