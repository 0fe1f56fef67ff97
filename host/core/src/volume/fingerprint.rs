//! Reports whether a volume is to be other than it was, without keeping what is in it.

use std::os::unix::ffi::OsStrExt;

use sha2::{Digest, Sha256};

use super::{VolumeFile, VolumeKind, VolumeSetUp};

/// A hash over all of a [`VolumeSetUp`]. What a volume holds, which may be secret and large, can't be had from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl VolumeSetUp {
    /// Two volumes with the same fingerprint are to be set up alike.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update(bytes.len().to_le_bytes());
            hash.update(bytes);
        };
        let Self { name, kind, ownership } = self;
        add(name.as_bytes());
        add(format!("{ownership:?}").as_bytes());
        match kind {
            VolumeKind::Files { plugin, files, medium } => {
                add(plugin.as_bytes());
                add(format!("{medium:?}").as_bytes());
                for VolumeFile { path, content, mode, owner } in files {
                    add(path.as_os_str().as_bytes());
                    add(format!("{mode} {owner:?}").as_bytes());
                    add(content);
                }
            }
            VolumeKind::EmptyDir
            | VolumeKind::Tmpfs { .. }
            | VolumeKind::HugePages { .. }
            | VolumeKind::HostPath { .. } => add(format!("{kind:?}").as_bytes()),
        }
        Fingerprint(hash.finalize().into())
    }
}
