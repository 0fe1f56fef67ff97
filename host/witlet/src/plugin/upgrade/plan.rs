//! What becomes of each file of a project: decided by digests alone.

use std::collections::BTreeSet;

use serde::Serialize;
use witlet_templates::{Owner, owner};

use crate::plugin::project::Digests;

/// The end of the name of a file that is written next to a changed one.
const NEW: &str = ".new";

/// What is at a path of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExistingFile {
    Missing,
    /// A file with this digest.
    File(String),
    /// A link, a folder, or something behind a link: not the template's any more.
    Other,
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// It is new in the release.
    Created,
    /// It was as its release had it, and is now as this one has it.
    Replaced,
    /// It was as its release had it, and this one doesn't have it any more.
    Removed,
    /// It was changed here, and the release's is next to it.
    Conflict,
    /// What the release has can't be written: its place is taken.
    Blocked,
    /// It was changed here, and the release brings nothing new.
    Kept,
    /// It is as this release has it.
    Unchanged,
}

/// What becomes of one file, and why, where that isn't plain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Step {
    pub(super) path: String,
    pub(super) action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<String>,
    /// What is written, and where: the release's file at this path.
    #[serde(skip)]
    pub(super) write_to: Option<String>,
}

/// Decides for all files of the template of then (`before`) and of this release (`release`).
pub(super) fn plan(before: &Digests, release: &Digests, found: &dyn Fn(&str) -> ExistingFile) -> Vec<Step> {
    let paths: BTreeSet<&String> = before.keys().chain(release.keys()).collect();
    let of_template = paths.into_iter().filter(|path| owner(path) == Owner::Template);
    of_template.filter_map(|path| step(path, before.get(path), release.get(path), found)).collect()
}

/// The path next to a file.
pub(super) fn next_to(path: &str) -> String {
    format!("{path}{NEW}")
}

/// Returns `None` for what is gone already.
fn step(
    path: &str,
    before: Option<&String>,
    release: Option<&String>,
    found: &dyn Fn(&str) -> ExistingFile,
) -> Option<Step> {
    let step = |action: Action, detail: Option<String>, write_to: Option<String>| {
        Some(Step { path: path.to_owned(), action, detail, write_to })
    };
    let own = || Some(path.to_owned());
    let said = |words: &str| Some(words.to_owned());
    let is_new = before != release;
    match (found(path), before, release) {
        (ExistingFile::Missing, None, Some(_)) => step(Action::Created, None, own()),
        (ExistingFile::Missing, Some(_), Some(_)) => step(Action::Kept, said("it was removed here"), None),
        (ExistingFile::Missing | ExistingFile::Other, _, None) => None,
        (ExistingFile::File(here), _, Some(release)) if here == *release => {
            step(Action::Unchanged, None, None)
        }
        (ExistingFile::File(here), Some(before), Some(_)) if here == *before => {
            step(Action::Replaced, None, own())
        }
        (ExistingFile::File(here), Some(before), None) if here == *before => {
            step(Action::Removed, None, None)
        }
        (ExistingFile::File(_), _, None) => {
            step(Action::Kept, said("it was changed here; this release has no such file"), None)
        }
        (ExistingFile::File(_) | ExistingFile::Other, before, Some(release)) => {
            let next_to_it = next_to(path);
            let is_there = said("it was changed here; the release's is next to it already");
            match found(&next_to_it) {
                ExistingFile::File(waits) if waits == *release => step(Action::Conflict, is_there, None),
                _ if !is_new => {
                    step(Action::Kept, said("it was changed here; the release brings nothing new"), None)
                }
                ExistingFile::Missing => {
                    step(Action::Conflict, said("it was changed here"), Some(next_to_it))
                }
                // An earlier upgrade's.
                ExistingFile::File(waits) if Some(&waits) == before => {
                    step(Action::Conflict, said("it was changed here"), Some(next_to_it))
                }
                ExistingFile::File(_) | ExistingFile::Other => step(
                    Action::Blocked,
                    Some(format!("it was changed here, and {next_to_it} is something else: move that away")),
                    None,
                ),
            }
        }
    }
}

/// The digests to remember: those of this release. Of a file whose place was taken those of then, so that it is offered again.
pub(super) fn remembered(before: &Digests, release: &Digests, steps: &[Step]) -> Digests {
    let mut digests = release.clone();
    for step in steps.iter().filter(|step| step.action == Action::Blocked) {
        match before.get(&step.path) {
            Some(digest) => _ = digests.insert(step.path.clone(), digest.clone()),
            None => _ = digests.remove(&step.path),
        }
    }
    digests
}

/// Whether something is left for the author to do.
pub(super) fn needs_a_hand(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step.action, Action::Conflict | Action::Blocked))
}

#[cfg(test)]
mod tests;
