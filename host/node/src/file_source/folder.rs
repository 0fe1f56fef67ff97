//! What a folder of manifests means: pure, from what was seen of its files to pods and reports.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use sha2::{Digest, Sha256};
use witlet_core::pod::static_pod::inherit::InheritedUids;
use witlet_core::pod::static_pod::{Origin, first_seen, set_first_seen};
use witlet_core::pod::{PodFullName, SourceName};
use witlet_core::sources::manifest;

#[cfg(test)]
mod tests;

/// What a check of the folder (or of the one file) found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    /// There is nothing at the path.
    Missing,
    /// It can't be listed: nothing is known of its files.
    Unreadable(String),
    /// Its files by path.
    Files(BTreeMap<String, FileState>),
}

/// What a check of one file found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// The file system says that it is as it was at the last check.
    Unchanged,
    Content(Vec<u8>),
    /// It is there and can't be read.
    Unreadable(String),
    /// It is something else than a file, in these words.
    NoFile(&'static str),
}

/// Why a file or folder is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportReason {
    /// Its content is no manifest that can run here.
    InvalidManifest,
    /// It can't be read.
    FailedRead,
    /// It is no file: a folder, a pipe, a link that leads nowhere. It is passed over.
    NotAFile,
    /// One of its pods has the name of another file's pod; upstream's word.
    FailedValidation,
}

impl ReportReason {
    /// The CamelCase word for events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidManifest => "InvalidManifest",
            Self::FailedRead => "FailedRead",
            Self::NotAFile => "NotAFile",
            Self::FailedValidation => "FailedValidation",
        }
    }
}

/// Something that an operator should know about a file or folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Report {
    /// The file or folder.
    pub place: String,
    /// The word for it.
    pub reason: ReportReason,
    /// What is wrong, without the place.
    pub message: String,
}

/// What one check changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The full set, if it differs from the last one or is the first, or if it is complete now and wasn't before.
    pub pods: Option<Vec<Arc<Pod>>>,
    /// The set before that: a file was removed and is there again, so that its pods start over.
    pub between: Option<Vec<Arc<Pod>>>,
    /// Whether every file could be read and understood at least once.
    pub complete: bool,
    /// What wasn't reported yet.
    pub reports: Vec<Report>,
    /// Why the folder, or a file in it, can't be read now. One that isn't there, or isn't understood, was read.
    pub unread: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct KnownFile {
    digest: Option<[u8; 32]>,
    /// Of the last good content.
    pods: Vec<Arc<Pod>>,
    report: Option<Report>,
    /// Whether there was a good content.
    understood: bool,
    /// Whether the last reading found what was known: the file may have been removed, and that be reported later.
    is_read_again: bool,
}

/// A folder of manifests, with what is remembered of it between checks.
#[derive(Clone, Debug)]
pub struct Folder {
    source: SourceName,
    node_name: String,
    path: String,
    files: BTreeMap<String, KnownFile>,
    sent: Option<(Vec<Arc<Pod>>, bool)>,
    reported: BTreeSet<Report>,
    inherited: InheritedUids,
    /// When each file was changed last, where that is known.
    changes: BTreeMap<String, Timestamp>,
    /// When the files are read, if pods are to say when they were seen first.
    now: Option<Timestamp>,
}

impl Folder {
    /// Of a source at a path, for this node. Nothing was seen of it yet.
    pub fn new(source: SourceName, node_name: String, path: String) -> Self {
        Self {
            source,
            node_name,
            path,
            files: BTreeMap::new(),
            sent: None,
            reported: BTreeSet::new(),
            inherited: InheritedUids::default(),
            changes: BTreeMap::new(),
            now: None,
        }
    }

    /// Has pods keep the UIDs that they run with.
    pub(super) fn inherit(&mut self, inherited: InheritedUids) {
        self.inherited = inherited;
    }

    /// Whether it matters when files were changed.
    pub(super) fn may_inherit(&self) -> bool {
        !self.inherited.is_empty()
    }

    /// The UIDs that pods kept.
    pub(super) fn inherited(&self) -> &BTreeMap<String, String> {
        self.inherited.taken()
    }

    /// Notes when files were changed last, before [`Self::observe`] takes them in.
    pub(super) fn note_changes(&mut self, changes: BTreeMap<String, Timestamp>) {
        self.changes = changes;
    }

    /// Notes the time before [`Self::observe`], so that new pods say when they were seen first: writing it later needs
    /// a copy of each pod for it.
    pub(super) fn note_time(&mut self, now: Timestamp) {
        self.now = Some(now);
    }

    /// Takes in what was seen. A broken or unreadable file keeps the pods of its last good content; a file that is gone
    /// takes its pods along, as does a folder that is gone (upstream: a missing path is an empty set); a folder that
    /// can't be listed changes nothing. Each report is made once, until it changes or was gone in between.
    pub fn observe(&mut self, listing: Listing) -> Outcome {
        let mut reports = BTreeSet::new();
        let whole =
            |message: String| Report { place: self.path.clone(), reason: ReportReason::FailedRead, message };
        match listing {
            Listing::Unreadable(message) => {
                reports.insert(whole(format!("the folder cannot be listed, and its pods go on: {message}")));
                // What was reported of its files still holds.
                reports.extend(self.reported.iter().filter(|report| report.place != self.path).cloned());
                let reports = self.news(reports);
                let unread = Some(message);
                return Outcome { pods: None, between: None, complete: false, reports, unread };
            }
            Listing::Missing => {
                reports.insert(whole(
                    "the file or folder does not exist; no pods come from it until it does".to_owned(),
                ));
                self.files.clear();
            }
            Listing::Files(states) => {
                self.files.retain(|path, _| states.contains_key(path));
                for (path, state) in states {
                    let file = self.files.entry(path.clone()).or_default();
                    let origin = Origin { source: &self.source, place: &path, node_name: &self.node_name };
                    let changed_at = self.changes.get(&path).copied();
                    file.observe(state, origin, self.now, &mut |pod| self.inherited.apply(pod, changed_at));
                }
                reports.extend(self.files.values().filter_map(|file| file.report.clone()));
            }
        }
        let pods = self.unique_pods(&mut reports);
        let complete = self.files.values().all(|file| file.understood);
        let changed = self.sent.as_ref().is_none_or(|(sent, was)| *was != complete || !same(sent, &pods));
        if changed {
            self.sent = Some((pods.clone(), complete));
        }
        let unread = reports.iter().find(|report| {
            report.reason == ReportReason::FailedRead && self.files.contains_key(&report.place)
        });
        let unread = unread.map(|Report { place, message, .. }| format!("{place} {message}"));
        let pods = changed.then_some(pods);
        Outcome { pods, between: None, complete, reports: self.news(reports), unread }
    }

    /// Takes in what was seen, as [`Self::observe`] does. A file that was removed since the last check and is there again with the
    /// same content was gone in between, and so were its pods (upstream takes each event of inotify as it comes).
    pub(super) fn observe_after(&mut self, removed: &BTreeSet<String>, mut listing: Listing) -> Outcome {
        let mut gone = Vec::new();
        if let Listing::Files(states) = &mut listing {
            for name in removed {
                let state = states.get_mut(name);
                let file = self.files.get_mut(name);
                gone.extend(file.zip(state).and_then(|(file, state)| file.renew(state, self.now)));
            }
        }
        let gone: Vec<_> = gone.into_iter().flatten().collect();
        let is_left = |pod: &&Arc<Pod>| !gone.iter().any(|gone| Arc::ptr_eq(gone, pod));
        let sent = self.sent.as_ref().map(|(sent, _)| sent.as_slice()).unwrap_or_default();
        let left: Vec<_> = sent.iter().filter(is_left).cloned().collect();
        let between = (left.len() < sent.len()).then_some(left);
        Outcome { between, ..self.observe(listing) }
    }

    /// Of two pods with one name the one in the first file (by path) runs.
    fn unique_pods(&self, reports: &mut BTreeSet<Report>) -> Vec<Arc<Pod>> {
        let mut owners: HashMap<PodFullName, &str> = HashMap::new();
        let mut pods = Vec::new();
        for (path, file) in &self.files {
            for pod in &file.pods {
                let name = PodFullName::of(pod);
                if let Some(owner) = owners.get(&name) {
                    let message = format!("pod {name} is already in {owner}, ignored");
                    let reason = ReportReason::FailedValidation;
                    reports.insert(Report { place: path.clone(), reason, message });
                } else {
                    owners.insert(name, path);
                    pods.push(pod.clone());
                }
            }
        }
        pods
    }

    fn news(&mut self, reports: BTreeSet<Report>) -> Vec<Report> {
        let reported = std::mem::replace(&mut self.reported, reports);
        self.reported.difference(&reported).cloned().collect()
    }
}

impl KnownFile {
    /// Begins with the same pods again if a file that was removed is there with the content that was known. Gives those that are
    /// gone.
    fn renew(&mut self, state: &mut FileState, now: Option<Timestamp>) -> Option<Vec<Arc<Pod>>> {
        let is_same = match state {
            FileState::Unchanged => self.is_read_again,
            FileState::Content(bytes) => self.digest == Some(Sha256::digest(bytes).into()),
            FileState::Unreadable(_) | FileState::NoFile(_) => false,
        };
        if !is_same {
            return None;
        }
        (*state, self.is_read_again) = (FileState::Unchanged, false);
        let renewed = self.pods.iter().map(|pod| {
            let mut pod = Pod::clone(pod);
            if let Some(now) = now {
                set_first_seen(&mut pod, now.to_string());
            }
            Arc::new(pod)
        });
        let renewed = renewed.collect();
        Some(std::mem::replace(&mut self.pods, renewed))
    }

    /// When the known pod of this UID was seen first.
    fn seen(&self, pod: &Pod) -> Option<String> {
        let known = self.pods.iter().find(|known| known.metadata.uid == pod.metadata.uid)?;
        first_seen(known).map(str::to_owned)
    }

    fn observe(
        &mut self,
        state: FileState,
        origin: Origin<'_>,
        now: Option<Timestamp>,
        inherit: &mut dyn FnMut(&mut Pod),
    ) {
        let report = |reason, message| Some(Report { place: origin.place.to_owned(), reason, message });
        let bytes = match state {
            FileState::Unchanged => return,
            FileState::Unreadable(message) => {
                self.digest = None;
                self.report = report(ReportReason::FailedRead, message);
                return;
            }
            // Nothing to wait for: no file, no pods.
            FileState::NoFile(message) => {
                let report = report(ReportReason::NotAFile, message.to_owned());
                *self = Self { understood: true, report, ..Self::default() };
                return;
            }
            FileState::Content(bytes) => bytes,
        };
        let digest = Sha256::digest(&bytes).into();
        self.is_read_again = self.digest == Some(digest);
        if self.is_read_again {
            return;
        }
        self.digest = Some(digest);
        match manifest::static_pods(&bytes, origin) {
            Ok(mut pods) => {
                for pod in &mut pods {
                    inherit(pod);
                    if let Some(seen) = self.seen(pod).or_else(|| now.map(|now| now.to_string())) {
                        set_first_seen(pod, seen);
                    }
                }
                self.report = None;
                self.understood = true;
                // Content that means the same, such as a changed comment, is no change.
                let mut pods: Vec<_> = pods.into_iter().map(Arc::new).collect();
                // Collected in place, they would lie in the memory that the pods themselves had.
                pods.shrink_to_fit();
                if self.pods != pods {
                    self.pods = pods;
                }
            }
            Err(error) => {
                let problems: Vec<_> = error.problems.iter().map(ToString::to_string).collect();
                self.report = report(ReportReason::InvalidManifest, problems.join("; "));
            }
        }
    }
}

fn same(left: &[Arc<Pod>], right: &[Arc<Pod>]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| Arc::ptr_eq(left, right))
}
