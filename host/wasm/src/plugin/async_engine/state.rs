//! What a plugin may keep in its folder for its state.
//!
//! The folder is measured, not fenced in: file systems bound folders only where they are set up for it. It is checked
//! during calls and after each, so that what a guest writes beyond its bounds is what the disk takes between two checks.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

/// How many bytes the folder's files may have together.
const STATE_BYTES_MAX: u64 = 64 << 20;
/// How many files and folders it may hold.
const STATE_ENTRIES_MAX: usize = 1024;
/// How many times more than that ends a call at once. Up to this a guest may still clear its folder up.
const CUT_FACTOR: usize = 2;
/// How long a call goes on between two checks.
const POLL_PERIOD: Duration = Duration::from_millis(100);

/// The folder holds more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StateExcess {
    #[error("its files in /state have more than {} MiB together", STATE_BYTES_MAX >> 20)]
    Bytes,
    /// Too many files and folders.
    #[error("it has more than {STATE_ENTRIES_MAX} files and folders in /state")]
    Entries,
}

/// What a folder holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StateUsage {
    bytes: u64,
    entries: usize,
}

impl StateUsage {
    fn excess(self, factor: usize) -> Option<StateExcess> {
        if self.entries > STATE_ENTRIES_MAX * factor {
            Some(StateExcess::Entries)
        } else if self.bytes > STATE_BYTES_MAX * factor as u64 {
            Some(StateExcess::Bytes)
        } else {
            None
        }
    }
}

/// Whether the folder holds more than it may.
pub(super) async fn excess(folder: &Path) -> Option<StateExcess> {
    measure(folder.to_path_buf()).await.excess(1)
}

/// Ends when the folder holds so much that the call is cut.
pub(super) async fn outgrown(folder: &Path) -> StateExcess {
    loop {
        tokio::time::sleep(POLL_PERIOD).await;
        if let Some(excess) = measure(folder.to_path_buf()).await.excess(CUT_FACTOR) {
            return excess;
        }
    }
}

/// Checks off the plugins' threads. A check that the program's end cut short found nothing.
async fn measure(folder: PathBuf) -> StateUsage {
    tokio::task::spawn_blocking(move || held(&folder)).await.unwrap_or_default()
}

/// Counts until it is clear that a call would be cut. What vanishes meanwhile or can't be checked doesn't count.
fn held(folder: &Path) -> StateUsage {
    let mut held = StateUsage::default();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let measured: io::Result<_> = entry.and_then(|entry| Ok((entry.metadata()?, entry.path())));
            held.entries += 1;
            if let Ok((metadata, path)) = measured {
                match metadata.is_dir() {
                    true => folders.push(path),
                    // A hard link counts as often as it is there: its writer can do without.
                    false => held.bytes = held.bytes.saturating_add(metadata.len()),
                }
            }
            if held.excess(CUT_FACTOR).is_some() {
                return held;
            }
        }
    }
    held
}

#[cfg(test)]
mod tests {
    //! What is counted, and when it is too much.

    use super::*;

    #[test]
    fn files_in_all_folders_are_counted_and_links_are_not_followed() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let elsewhere = tempfile::TempDir::new().expect("a folder");
        std::fs::write(elsewhere.path().join("large"), "x".repeat(1000)).expect("writable");
        std::fs::create_dir_all(folder.path().join("a/b")).expect("writable");
        std::fs::write(folder.path().join("a/b/one"), "x".repeat(10)).expect("writable");
        std::fs::write(folder.path().join("two"), "x".repeat(5)).expect("writable");
        assert_eq!(held(folder.path()), StateUsage { bytes: 15, entries: 4 });
        let link = folder.path().join("a/link");
        std::os::unix::fs::symlink(elsewhere.path(), &link).expect("writable");
        let StateUsage { bytes, entries } = held(folder.path());
        assert!(entries == 5 && bytes < 500, "{bytes}");
        assert_eq!(held(&folder.path().join("nowhere")), StateUsage::default());
    }

    #[test]
    fn too_much_is_reported_and_twice_too_much_ends_a_call() {
        let cases = [
            (STATE_BYTES_MAX, STATE_ENTRIES_MAX, None, None),
            (STATE_BYTES_MAX + 1, 1, Some(StateExcess::Bytes), None),
            (0, STATE_ENTRIES_MAX + 1, Some(StateExcess::Entries), None),
            (STATE_BYTES_MAX * 2 + 1, 1, Some(StateExcess::Bytes), Some(StateExcess::Bytes)),
            (0, STATE_ENTRIES_MAX * 2 + 1, Some(StateExcess::Entries), Some(StateExcess::Entries)),
        ];
        for (bytes, entries, after, during) in cases {
            let held = StateUsage { bytes, entries };
            assert_eq!((held.excess(1), held.excess(CUT_FACTOR)), (after, during), "{held:?}");
        }
    }

    #[test]
    fn counting_ends_where_a_call_would() {
        let folder = tempfile::TempDir::new().expect("a folder");
        for number in 0..STATE_ENTRIES_MAX * CUT_FACTOR + 50 {
            std::fs::write(folder.path().join(number.to_string()), "").expect("writable");
        }
        assert_eq!(held(folder.path()).entries, STATE_ENTRIES_MAX * CUT_FACTOR + 1);
    }

    #[test]
    fn the_words_name_the_bounds() {
        assert_eq!(StateExcess::Bytes.to_string(), "its files in /state have more than 64 MiB together");
        assert_eq!(StateExcess::Entries.to_string(), "it has more than 1024 files and folders in /state");
    }
}
