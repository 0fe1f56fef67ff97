//! The page of figures, which `make bench` rewrites, tells of every language and role.

use libtest_mimic::Failed;
use witlet_languages::measured::{PAGE, gaps};
use witlet_languages::repository;

/// Fails where a language or a role has no line, or a line lacks a figure.
pub(crate) fn page_is_complete() -> Result<(), Failed> {
    let page =
        std::fs::read_to_string(repository().join(PAGE)).map_err(|cause| format!("{PAGE}: {cause}"))?;
    let gaps = gaps(&page);
    if gaps.is_empty() { Ok(()) } else { Err(format!("{PAGE}: {}", gaps.join(", ")).into()) }
}
