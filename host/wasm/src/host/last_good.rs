//! The last good set of plugins, kept on disk: what a start goes on with when the configuration can't be taken, or when a
//! component doesn't load.
//!
//! One folder holds [`SET`], with the configuration's text and the digests of its components, and a copy of each component that
//! came from a file. Components from registries are kept by the fetcher, compiled code by the compiler's cache.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use witlet_ports::whole_file::replace_file;

use super::rollout::KeptRollouts;
use crate::compile;
use crate::plugin::config::FILE_BYTES_MAX;

#[cfg(test)]
mod tests;

/// The file that names what is kept. It is written last, so that it never names a copy that isn't whole.
const SET: &str = "set.json";
/// The file that says where rollouts stand.
const ROLLOUTS: &str = "rollouts.json";
/// Bytes of [`ROLLOUTS`] at most: a few hundred for each plugin.
const ROLLOUTS_BYTES_MAX: u64 = 256 << 10;
/// The file with the text of the last configuration that was taken, while that demands something of components.
const DEMANDING: &str = "demanding.yaml";
/// The extension of copies of components; their names are their digests.
const COPY: &str = "wasm";
/// The form of [`SET`]. Another one isn't read.
const FORM: u32 = 1;
/// Bytes of [`SET`] at most: a configuration whose every byte is escaped, and the digests.
const SET_BYTES_MAX: u64 = 6 * FILE_BYTES_MAX as u64 + (64 << 10);

/// A configuration with the plugins of it that were loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LastGoodSet {
    form: u32,
    pub(super) configuration: String,
    /// SHA-256, in hexadecimal, of each component that came from a file, by the plugin's name.
    pub(super) components: BTreeMap<String, String>,
    /// Plugins of it no version of which was ever good: they aren't part of what a start goes on with.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) failed: BTreeSet<String>,
}

/// What the set before has of a plugin that doesn't load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Earlier {
    /// It never was good.
    Never,
    /// It was good under the same entry.
    SameEntry,
    /// It was good under another entry.
    OtherEntry,
}

impl LastGoodSet {
    /// Returns the set to keep of a configuration after this one: with the digests of components from files that were `loaded`, and what
    /// was good before of the plugins that don't load. None if nothing of it is good, or if one goes on under an earlier entry: that is
    /// in the set before alone, so that that one stays until the entry is mended.
    pub(super) fn after<'a>(
        before: Option<&Self>,
        configuration: &str,
        loaded: &BTreeMap<String, String>,
        plugins: usize,
        failing: impl IntoIterator<Item = (&'a str, Earlier)>,
    ) -> Option<Self> {
        let (mut components, mut failed) = (loaded.clone(), BTreeSet::new());
        for (name, earlier) in failing {
            match earlier {
                Earlier::Never => drop(failed.insert(name.to_owned())),
                Earlier::SameEntry => {
                    let digest = before.and_then(|before| before.components.get(name));
                    components.extend(digest.map(|digest| (name.to_owned(), digest.clone())));
                }
                Earlier::OtherEntry => return None,
            }
        }
        let has_good = plugins == 0 || failed.len() < plugins;
        has_good.then(|| Self { form: FORM, configuration: configuration.to_owned(), components, failed })
    }

    /// Whether it is what [`Self::after`] returns after it of these. Asked each second, so without a copy of anything.
    pub(super) fn is_of(
        &self,
        configuration: &str,
        loaded: &BTreeMap<String, String>,
        is_failing: impl Fn(&str) -> bool,
    ) -> bool {
        self.configuration == configuration
            && loaded.iter().all(|(name, digest)| self.components.get(name) == Some(digest))
            && self.components.keys().all(|name| loaded.contains_key(name) || is_failing(name))
            && self.failed.iter().all(|name| is_failing(name))
    }
}

/// The folder that it is kept in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LastGood {
    folder: PathBuf,
}

impl LastGood {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the copy of this component lies, if there is one.
    pub(super) fn copy(&self, digest: &str) -> PathBuf {
        self.folder.join(format!("{digest}.{COPY}"))
    }

    /// Reads the set; none if none was kept. Blocks as long as the disk does.
    ///
    /// # Errors
    /// When it can't be read, or isn't one of this form.
    pub(super) fn load(&self) -> io::Result<Option<LastGoodSet>> {
        let path = self.folder.join(SET);
        let file = match compile::open_file(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = Vec::new();
        file.take(SET_BYTES_MAX + 1).read_to_end(&mut text)?;
        let set: LastGoodSet = serde_json::from_slice(&text)?;
        let is_digest =
            |digest: &String| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        if set.form != FORM || !set.components.values().all(is_digest) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "unknown format"));
        }
        Ok(Some(set))
    }

    /// Reads where rollouts stood; nothing if nothing was kept. Blocks as long as the disk does.
    ///
    /// # Errors
    /// When it can't be read, or isn't what this release writes.
    pub(super) fn load_rollouts(&self) -> io::Result<KeptRollouts> {
        let file = match compile::open_file(&self.folder.join(ROLLOUTS)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(KeptRollouts::new()),
            Err(error) => return Err(error),
        };
        let mut text = Vec::new();
        file.take(ROLLOUTS_BYTES_MAX).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Keeps where rollouts stand. Blocks as long as the disk does.
    ///
    /// # Errors
    /// When it can't be written. What was kept before is then kept on.
    pub(super) fn save_rollouts(&self, rollouts: &KeptRollouts) -> io::Result<()> {
        self.make_folder()?;
        write(&self.folder.join(ROLLOUTS), &serde_json::to_vec(rollouts)?)
    }

    /// Reads the last configuration that was taken, if it demanded something of components. Blocks as long as the disk does.
    ///
    /// # Errors
    /// When it can't be read.
    pub(super) fn load_demanding(&self) -> io::Result<Option<String>> {
        let file = match compile::open_file(&self.folder.join(DEMANDING)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(FILE_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
        Ok(Some(text))
    }

    /// Keeps the configuration that was taken if it demands something of components; none forgets the one before. Blocks as long
    /// as the disk does.
    ///
    /// # Errors
    /// When it can't be written.
    pub(super) fn save_demanding(&self, text: Option<&str>) -> io::Result<()> {
        let path = self.folder.join(DEMANDING);
        match text {
            // Each start takes it again.
            Some(text) if self.load_demanding().is_ok_and(|kept| kept.as_deref() == Some(text)) => Ok(()),
            Some(text) => {
                self.make_folder()?;
                write(&path, text.as_bytes())
            }
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                Err(_) | Ok(()) => Ok(()),
            },
        }
    }

    fn make_folder(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }

    /// Whether there is a copy of each of the set's components, and none is damaged. Blocks as long as the disk does.
    pub(super) fn is_whole(&self, set: &LastGoodSet) -> bool {
        set.components.values().all(|digest| self.has_copy(digest))
    }

    fn has_copy(&self, digest: &str) -> bool {
        compile::read_component_of(&self.copy(digest), digest).is_ok()
    }

    /// Keeps this set in place of the one before. `sources` are the files of its components by digest. Blocks as long as the
    /// disk does.
    ///
    /// # Errors
    /// When something can't be written, or when a file holds another component by now. The set before is then kept.
    pub(super) fn save(&self, set: &LastGoodSet, sources: &BTreeMap<String, PathBuf>) -> io::Result<()> {
        self.make_folder()?;
        for (digest, source) in sources {
            if !self.has_copy(digest) {
                let component = compile::read_component_of(source, digest)?;
                write(&self.copy(digest), &component)?;
            }
        }
        write(&self.folder.join(SET), &serde_json::to_vec(set)?)?;
        self.remove_others(set)
    }

    /// Removes copies that the set doesn't name, and what a kill left unfinished.
    fn remove_others(&self, set: &LastGoodSet) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let is_kept = |digest: &OsStr| set.components.values().any(|kept| OsStr::new(kept) == digest);
            let is_used =
                [SET, ROLLOUTS, DEMANDING].iter().any(|name| path.file_name() == Some(OsStr::new(name)))
                    || (path.extension() == Some(OsStr::new(COPY)) && path.file_stem().is_some_and(is_kept));
            if !is_used {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }
}

/// Writes a file whole or not at all.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_file(path, &path.with_extension("unfinished"), content, 0o600)
}
