//! Tutorials of the book, followed to the letter: the blocks of a chapter that a reader types are run by one shell in an
//! empty folder, and what the chapter says that he sees must be there.
//!
//! A block fenced `sh,tutorial` is typed. A block fenced `text,output` is what the block before it prints, among other things:
//! its lines come in this order, and `…` in a line stands for anything.

use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

use crate::bounded_run;

/// Printed between the blocks, with the number of the next one.
const MARK: &str = "==== block ";

/// Why a tutorial doesn't work.
#[derive(Debug, Error)]
pub enum TutorialError {
    /// It has nothing to type.
    #[error("{} has no block that a reader types", chapter.display())]
    Nothing { chapter: PathBuf },
    /// It can't be read, or no shell can be started.
    #[error("{}", chapter.display())]
    Io {
        chapter: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// A block failed.
    #[error("{place}: it ended with {status}, and printed:\n{output}")]
    Failed {
        /// File and line of the block.
        place: String,
        /// How the shell ended.
        status: String,
        /// What the block had printed.
        output: String,
    },
    /// A block printed something else than the chapter says.
    #[error("{place}: the line {line:?} wasn't printed; this was:\n{output}")]
    Differs {
        /// File and line of what should be seen.
        place: String,
        /// The first line that isn't there.
        line: String,
        /// What the block printed.
        output: String,
    },
}

/// Something to type, and what is seen then.
struct Step {
    place: String,
    text: String,
    /// Place and lines.
    output: Option<(String, Vec<String>)>,
}

fn steps(chapter: &Path, text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut open: Option<(String, usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (None, None) => {}
            (Some(kind), None) => open = Some((kind.to_owned(), index + 1, String::new())),
            (None, Some((kind, at, text))) => open = Some((kind, at, text + line + "\n")),
            (Some(_), Some((kind, at, text))) => {
                let place = format!("{}:{at}", chapter.display());
                match (kind.as_str(), steps.last_mut()) {
                    ("sh,tutorial", _) => steps.push(Step { place, text, output: None }),
                    ("text,output", Some(step)) => {
                        step.output = Some((place, text.lines().map(str::to_owned).collect()));
                    }
                    _ => {}
                }
            }
        }
    }
    steps
}

/// Follows a chapter in `folder`, which is empty, with `witlet` in its own folder first on the path and with these variables
/// set. Blocks until it is done, or gets nowhere.
pub fn follow(
    chapter: &Path,
    folder: &Path,
    witlet: &Path,
    variables: &[(String, String)],
) -> Result<(), TutorialError> {
    let failed = |cause| TutorialError::Io { chapter: chapter.to_owned(), cause };
    let steps = steps(chapter, &std::fs::read_to_string(chapter).map_err(failed)?);
    if steps.is_empty() {
        return Err(TutorialError::Nothing { chapter: chapter.to_owned() });
    }
    let mut script = "set -euo pipefail\nexec 2>&1\n".to_owned();
    for (index, step) in steps.iter().enumerate() {
        script.push_str(&format!("printf '\\n{MARK}{index}\\n'\n{}", step.text));
    }
    let (tools, path) = (witlet.parent().unwrap_or(folder), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("bash");
    command
        .args(["-c", &script])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", tools.display()))
        .envs(variables.iter().map(|(name, value)| (name, value)));
    let shell = bounded_run::run(&mut command).map_err(failed)?;
    let printed = &shell.printed;
    let outputs: Vec<&str> = printed.split(&format!("\n{MARK}")).skip(1).collect();
    if !shell.status.success() {
        let reached = outputs.len().saturating_sub(1);
        return Err(TutorialError::Failed {
            place: steps[reached.min(steps.len() - 1)].place.clone(),
            status: shell.ended(),
            output: outputs.last().copied().unwrap_or(printed).to_owned(),
        });
    }
    for (step, output) in steps.iter().zip(outputs) {
        let Some((place, expected)) = &step.output else { continue };
        if let Some(line) = missing(expected, output) {
            return Err(TutorialError::Differs { place: place.clone(), line, output: output.to_owned() });
        }
    }
    Ok(())
}

/// The first expected line that doesn't come, in this order; spaces at ends and their numbers don't count.
fn missing(expected: &[String], output: &str) -> Option<String> {
    let mut lines = output.lines();
    let desired = expected.iter().filter(|line| !matches!(line.trim(), "" | "…"));
    desired.into_iter().find(|line| !lines.any(|printed| matches(line, printed))).cloned()
}

/// Whether a line fits, with `…` for anything.
fn matches(expected: &str, printed: &str) -> bool {
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (expected, printed) = (squeeze(expected), squeeze(printed));
    let mut parts = expected.split('…').map(str::trim);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_with_gaps() {
        let cases = [
            ("a b", "a   b", true),
            ("a b", "a c", false),
            ("sha256:… ok", "sha256:abc ok", true),
            ("… ok", "fine ok", true),
            ("a … c", "a b d", false),
            ("…", "anything", true),
        ];
        for (expected, printed, fits) in cases {
            assert_eq!(matches(expected, printed), fits, "{expected:?} {printed:?}");
        }
    }

    #[test]
    fn a_tutorial_is_typed_in_one_shell_and_its_output_is_held() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let chapter = folder.path().join("chapter.md");
        let text = |second: &str| {
            format!(
                "```sh,tutorial\nmkdir x && cd x\nword=hello\n```\n\n```sh,tutorial\necho \"$word in $(basename $PWD)\"\n{second}\n```\n\n```text,output\nhello in x\n```\n"
            )
        };
        let run = |second: &str| {
            std::fs::write(&chapter, text(second)).expect("a file in a temporary folder");
            let empty = tempfile::tempdir().expect("a temporary folder");
            follow(&chapter, empty.path(), Path::new("/bin/true"), &[])
        };
        run("true").expect("it works");
        assert!(matches!(run("false"), Err(TutorialError::Failed { .. })));
        std::fs::write(&chapter, text("true").replace("echo", "true")).expect("a file in a temporary folder");
        let empty = tempfile::tempdir().expect("a temporary folder");
        let error = follow(&chapter, empty.path(), Path::new("/bin/true"), &[]);
        assert!(matches!(error, Err(TutorialError::Differs { .. })), "{error:?}");
    }
}
