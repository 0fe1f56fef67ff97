//! Notices changed files.
//!
//! Files are polled, not watched: editors, `kubectl cp`, ConfigMap mounts and network file systems replace files in
//! ways that watches miss, and one `stat` a second for a handful of files costs nothing.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Changes whenever a file was written or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What files are now; none for one that can't be checked.
pub(super) type Fingerprints = HashMap<PathBuf, Option<Fingerprint>>;

/// Checks these files. Blocks as long as the disk does.
pub(super) fn fingerprints(paths: impl IntoIterator<Item = PathBuf>) -> Fingerprints {
    let print = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Fingerprint {
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    };
    paths.into_iter().map(|path| (print(&path), path)).map(|(print, path)| (path, print)).collect()
}

/// Remembers what files were when they were last read.
#[derive(Debug, Default)]
pub(super) struct Files(Fingerprints);

/// How a file is, compared with when it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// Another content, or a first one.
    Written,
    /// It was there and isn't.
    Gone,
}

impl Files {
    /// Compares a file with how it was, and remembers how it is. A file that is gone is remembered as it was: what comes
    /// in its place is found by comparing with that.
    pub(super) fn compare(&mut self, path: &Path, now: &Fingerprints) -> Change {
        let Some(now) = now.get(path) else { return Change::None };
        match (self.0.get(path), now) {
            (None | Some(None), None) => Change::None,
            (Some(Some(_)), None) => Change::Gone,
            (Some(Some(old)), Some(new)) if old == new => Change::None,
            (None | Some(_), Some(_)) => {
                self.0.insert(path.to_path_buf(), *now);
                Change::Written
            }
        }
    }

    /// Remembers files as they are, unless they are known already: before they are read for the first time.
    pub(super) fn note(&mut self, now: Fingerprints) {
        for (path, print) in now {
            self.0.entry(path).or_insert(print);
        }
    }

    /// Forgets all files but these.
    pub(super) fn retain(&mut self, keep: impl Fn(&Path) -> bool) {
        self.0.retain(|path, _| keep(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_changes_when_it_is_written_or_replaced_and_is_reported_when_it_vanishes() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let path = folder.path().join("a.wasm");
        let mut files = Files::default();
        let mut compare = || files.compare(&path, &fingerprints([path.clone()]));
        assert_eq!(compare(), Change::None, "not there yet");
        std::fs::write(&path, "one").expect("writable");
        assert_eq!(compare(), Change::Written);
        assert_eq!(compare(), Change::None, "reported once");
        std::fs::write(&path, "longer").expect("writable");
        assert_eq!(compare(), Change::Written);
        std::fs::remove_file(&path).expect("writable");
        assert_eq!(compare(), Change::Gone);
        assert_eq!(compare(), Change::Gone, "as long as it is");
        std::fs::write(&path, "longer").expect("writable");
        assert_eq!(compare(), Change::Written, "another file of the same size");
    }

    #[test]
    fn a_file_that_was_noted_before_it_was_read_changes_only_later() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let path = folder.path().join("a.wasm");
        std::fs::write(&path, "one").expect("writable");
        let mut files = Files::default();
        files.note(fingerprints([path.clone()]));
        assert_eq!(files.compare(&path, &fingerprints([path.clone()])), Change::None);
        files.retain(|_| false);
        assert_eq!(files.compare(&path, &fingerprints([path.clone()])), Change::Written, "forgotten");
    }
}
