//! Who is checked again because reports, or keys of reports and signatures, have changed.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::files::{self, Change};
use super::{Spec, Supervisor};

impl Supervisor {
    /// Plugins whose reports, or keys of reports, are others than when they were checked. A report that is gone takes
    /// nothing back that was shown by it; a key that is gone does.
    pub(super) fn trust_changed(&mut self, now: &files::Fingerprints) -> Vec<Arc<str>> {
        let demanding: Vec<&Spec> = self.desired.iter().filter(|spec| spec.has_demands()).collect();
        // Several plugins may check the same file, and each change is reported once.
        let paths: BTreeSet<&Path> = demanding.iter().flat_map(|spec| spec.trust_paths()).collect();
        let changes = paths.into_iter().map(|path| (path, self.files.compare(path, now)));
        let changes: HashMap<&Path, Change> = changes.collect();
        let change = |path: &Path| changes.get(path).copied().unwrap_or(Change::None);
        let lost: BTreeSet<PathBuf> = demanding
            .iter()
            .flat_map(|spec| spec.trust_keys())
            .filter(|path| change(path) == Change::Gone)
            .map(Path::to_path_buf)
            .collect();
        let changed = demanding.iter().filter(|spec| {
            spec.trust_paths().any(|path| change(path) == Change::Written)
                // A file stays gone, and is reported once.
                || spec.trust_keys().any(|path| lost.contains(path) && !self.lost_keys.contains(path))
        });
        let changed = changed.map(|spec| spec.name.clone()).collect();
        self.lost_keys = lost;
        changed
    }
}
