//! The agent's own files below `--root-dir`: in a folder whose name is no kubelet's, so that both can have the same root folder.
//!
//! A kubelet's `plugins` is for the sockets of CSI drivers and has mode 0750. Earlier releases of witlet kept compiled code and what
//! plugins keep there, and their own state in `state`; what is clearly theirs is moved once.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use thiserror::Error;
use witlet_wasm::host::PluginFile;

#[cfg(test)]
mod tests;

/// Below `--root-dir`. Of the names there only this one, `lock`, `runtime` and `images` are the agent's alone; `pods`, `pki` and
/// `seccomp` are shared with a kubelet on purpose.
const FOLDER: &str = "witlet";
/// The agent's state files.
const STATE: &str = "state";
/// Compiled components.
const CODE: &str = "code";
/// Components from registries.
const COMPONENTS: &str = "components";
/// Recorded calls.
const RECORDED: &str = "recorded";
/// What plugins keep.
const PLUGIN_STATE: &str = "plugin-state";
/// The last set of plugins that was loaded as a whole.
const LAST_GOOD_PLUGINS: &str = "last-good-plugins";
/// The same of the plugin file of a set that the node's annotation chose: what doesn't count any more doesn't come back in place of a
/// local file that can't be taken.
const LAST_GOOD_SET: &str = "last-good-set";
/// The last good data of plugins' entries.
const PLUGIN_DATA: &str = "plugin-data";
/// Sets of plugins that the node's annotation chose.
const PLUGIN_SETS: &str = "plugin-sets";
/// The last policy of sets that was taken.
const PLUGIN_SET_POLICY: &str = "plugin-set-policy.yaml";
/// The decision log.
const DECISIONS: &str = "decisions";

/// Where earlier releases kept compiled code, with the folders [`COMPONENTS`], [`RECORDED`] and `state` in it.
const OLD_PLUGINS: &str = "plugins";
/// Ends of the names of compiled code and of its digests; before them are 64 hexadecimal digits.
const CODE_ENDS: [&str; 2] = [".cwasm", ".sha256"];
const KEY_LENGTH: usize = 64;
/// Files that were moved of one folder; the cache itself keeps fewer.
const MOVES_MAX: usize = 1024;
/// Bits that let group or others in.
const MODE_OTHERS: u32 = 0o077;

/// A folder of the agent's own can't be used.
#[derive(Debug, Error)]
#[error("{action} {}", path.display())]
pub(crate) struct OwnFilesError {
    action: &'static str,
    path: PathBuf,
    #[source]
    cause: io::Error,
}

/// The folders of the agent's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnFiles {
    folder: PathBuf,
}

impl OwnFiles {
    /// Returns the paths below this root folder. Nothing is created yet.
    pub(crate) fn below(root: &Path) -> Self {
        Self { folder: root.join(FOLDER) }
    }

    /// The agent's state files.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.join(STATE)
    }

    /// Compiled components.
    pub(crate) fn code(&self) -> PathBuf {
        self.folder.join(CODE)
    }

    /// Components from registries.
    pub(crate) fn components(&self) -> PathBuf {
        self.folder.join(COMPONENTS)
    }

    /// Recorded calls.
    pub(crate) fn recorded(&self) -> PathBuf {
        self.folder.join(RECORDED)
    }

    /// Returns what plugins keep, a folder for each.
    pub(crate) fn plugin_state(&self) -> PathBuf {
        self.folder.join(PLUGIN_STATE)
    }

    /// The local plugin file, with the last good plugins that it had.
    pub(crate) fn local_plugin_file(&self, path: Option<PathBuf>) -> PluginFile {
        PluginFile { path, last_good_folder: Some(self.folder.join(LAST_GOOD_PLUGINS)) }
    }

    /// The last good plugins of a set.
    pub(crate) fn last_good_set(&self) -> PathBuf {
        self.folder.join(LAST_GOOD_SET)
    }

    /// The last good data of plugins' entries.
    pub(crate) fn plugin_data(&self) -> PathBuf {
        self.folder.join(PLUGIN_DATA)
    }

    /// Sets of plugins that the node's annotation chose.
    pub(crate) fn plugin_sets(&self) -> PathBuf {
        self.folder.join(PLUGIN_SETS)
    }

    /// The last policy of sets that was taken.
    pub(crate) fn plugin_set_policy(&self) -> PathBuf {
        self.folder.join(PLUGIN_SET_POLICY)
    }

    /// The decision log.
    pub(crate) fn decisions(&self) -> PathBuf {
        self.folder.join(DECISIONS)
    }

    /// Makes the folder, closed to others, and moves there what an earlier release left at its old places. A folder that exists keeps
    /// its mode; what must be closed to others checks that itself.
    ///
    /// # Errors
    /// The folder can't be made, or what must not be lost can't be moved: the agent's state and what plugins keep.
    pub(crate) fn prepare(&self) -> Result<(), OwnFilesError> {
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |cause| OwnFilesError { action, path, cause }
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(failed("create", &self.folder))?;
        let root = self.folder.parent().unwrap_or(&self.folder);
        if is_closed(&root.join(STATE)) {
            self.take(&root.join(STATE), &self.state())?;
        }
        let old = root.join(OLD_PLUGINS);
        let names = names(&old).map_err(failed("read", &old))?;
        if !is_of_witlet(&names) {
            return Ok(());
        }
        self.take(&old.join(STATE), &self.plugin_state())?;
        let kept = [COMPONENTS, RECORDED].map(|name| (old.join(name), self.folder.join(name)));
        let code = names.iter().filter(|name| is_code(name));
        let code = code.map(|name| (old.join(name), self.code().join(name)));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.code())
            .map_err(failed("create", &self.code()))?;
        for (from, to) in kept.into_iter().chain(code) {
            if let Err(error) = self.take(&from, &to) {
                tracing::warn!(error = %witlet_core::error::one_line(&error), "Failed to move a file of an earlier release; making it again");
            }
        }
        // A kubelet's sockets may be in it by now: then it stays.
        let removed = fs::remove_dir(&old);
        tracing::info!(old = %old.display(), new = %self.folder.display(), ?removed, "Moved the files of an earlier release");
        Ok(())
    }

    /// Moves a file or folder, if it is there and nothing is at its new place.
    fn take(&self, from: &Path, to: &Path) -> Result<(), OwnFilesError> {
        if to.symlink_metadata().is_ok() || from.symlink_metadata().is_err() {
            return Ok(());
        }
        fs::rename(from, to).map_err(|cause| OwnFilesError {
            action: "move to the folder `witlet` next to it, or remove:",
            path: from.to_owned(),
            cause,
        })
    }
}

/// Names in a folder, at most [`MOVES_MAX`]; none where there is no folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let names = entries.take(MOVES_MAX).map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

/// Whether a folder with these names is where an earlier release kept its compiled code: only witlet has files of such names.
fn is_of_witlet(names: &[String]) -> bool {
    names.iter().any(|name| is_code(name))
}

fn is_code(name: &str) -> bool {
    let key = CODE_ENDS.iter().find_map(|end| name.strip_suffix(end));
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    key.is_some_and(|key| key.len() == KEY_LENGTH && key.bytes().all(is_digit))
}

/// Whether this is a folder of this user's that others can't enter, as the agent makes its own.
fn is_closed(path: &Path) -> bool {
    let owner = rustix::process::geteuid().as_raw();
    path.symlink_metadata().is_ok_and(|metadata| {
        metadata.is_dir() && metadata.uid() == owner && metadata.mode() & MODE_OTHERS == 0
    })
}
