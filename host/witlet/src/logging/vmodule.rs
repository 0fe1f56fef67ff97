//! `vmodule`: source files whose verbosity is another than that of all.

use witlet_core::go;
use witlet_core::go::glob::Glob;

/// Verbosities are numbers that fit klog's 32 bits with a sign.
pub(crate) const VERBOSITY_MAX: u32 = i32::MAX.unsigned_abs();

/// The ending of source files, which patterns leave out.
const SOURCE_ENDING: &str = ".rs";

/// A verbosity for the files that a pattern names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileVerbosity {
    /// As it was given.
    pub(crate) pattern: String,
    pub(crate) verbosity: u32,
    /// None of a malformed pattern, which matches nothing, as upstream.
    glob: Option<Glob>,
}

impl FileVerbosity {
    pub(crate) fn new(pattern: String, verbosity: u32) -> Self {
        let glob = Glob::new(&pattern);
        Self { pattern, verbosity, glob }
    }

    /// Whether a pattern names this file. One without a slash is held against the name without ending, one with slashes against
    /// as many parts of the path as it has itself (upstream checks the name only, so that such a pattern matches nothing there).
    fn names(&self, file: &str) -> bool {
        let file = file.strip_suffix(SOURCE_ENDING).unwrap_or(file);
        let parts = self.pattern.matches('/').count() + 1;
        self.glob.as_ref().is_some_and(|glob| glob.matches(tail(file, parts)))
    }
}

/// The last `parts` parts of a path.
pub(super) fn tail(path: &str, parts: usize) -> &str {
    match path.rmatch_indices('/').nth(parts.saturating_sub(1)) {
        Some((index, _)) => &path[index + 1..],
        None => path,
    }
}

/// The verbosity of a file: that of the first pattern that names it. A verbosity of 0 is as good as none, as upstream.
pub(super) fn verbosity_of(files: &[FileVerbosity], file: &str) -> Option<u32> {
    files.iter().find(|entry| entry.verbosity > 0 && entry.names(file)).map(|entry| entry.verbosity)
}

/// Reads `pattern=N,…`, or says in upstream's words what is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Vec<FileVerbosity>, String> {
    text.split(',').filter(|entry| !entry.is_empty()).map(entry).collect()
}

fn entry(text: &str) -> Result<FileVerbosity, String> {
    let malformed = || format!("{} does not have the pattern=N format", go::quote(text));
    let (pattern, number) = text.split_once('=').ok_or_else(malformed)?;
    if pattern.is_empty() || number.is_empty() || number.contains('=') {
        return Err(malformed());
    }
    let verbosity =
        verbosity(number).map_err(|why| format!("parsing verbosity in {}: {why}", go::quote(text)))?;
    Ok(FileVerbosity::new(pattern.to_owned(), verbosity))
}

/// Reads one of klog's numbers, or says in upstream's words what is wrong with it.
pub(crate) fn verbosity(text: &str) -> Result<u32, String> {
    // It is at most VERBOSITY_MAX.
    go::parse_uint(text, VERBOSITY_MAX.into()).map(|number| u32::try_from(number).unwrap_or(VERBOSITY_MAX))
}
