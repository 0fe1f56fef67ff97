//! Builds a project with `make`, once for the same files and tools, and runs its own tests.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::bounded_run;
use crate::project::Project;
use crate::toolchain::Toolchain;

/// How much of what `make` has printed is shown.
const OUTPUT_BYTES_MAX: usize = 16 << 10;
/// In the folder of a project that was built to its end.
const DONE: &str = ".built";
/// Digits of the hash in a folder's name.
const HASH_DIGITS: usize = 16;

/// Why there is no component.
#[derive(Debug, Error)]
pub enum BuildError {
    /// A file can't be written or read.
    #[error("{}", path.display())]
    File {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// `make` can't be started.
    #[error("start make in {}", folder.display())]
    Start {
        /// The project's folder.
        folder: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// `make` failed.
    #[error("`make {target}` ended with {status} in {}, after:\n{output}", folder.display())]
    Failed {
        /// What was to be made.
        target: &'static str,
        /// The project's folder.
        folder: PathBuf,
        /// How it ended.
        status: String,
        /// The end of what it had printed.
        output: String,
    },
    /// `make` has done its work, and there is no component.
    #[error("`make` succeeded without making {}", path.display())]
    NoComponent {
        /// Where it should be.
        path: PathBuf,
    },
    /// The project is in another language than the toolchain.
    #[error("the project is in {project}, the toolchain is for {toolchain}")]
    Language {
        /// Of the project.
        project: witlet_templates::Language,
        /// Of the tools.
        toolchain: witlet_templates::Language,
    },
}

/// A project that was built.
#[derive(Clone, Debug)]
pub struct Built {
    pub component: PathBuf,
    /// Where its project is.
    pub folder: PathBuf,
    /// The cases that it is tested with.
    pub cases: Option<PathBuf>,
    /// Whether it had been built before.
    pub kept: bool,
}

impl Toolchain {
    /// Runs `make` in a copy of the project, unless the same files have been built with the same tools before; this witlet puts the
    /// project's manifest into the component. A crate of this workspace is built where it is, because cargo keeps what it has built itself.
    ///
    /// # Errors
    /// With the end of what `make` had printed.
    pub fn build(&self, project: &Project, witlet: &Path) -> Result<Built, BuildError> {
        let (project_language, toolchain) = (project.language, self.language);
        if project_language != toolchain {
            return Err(BuildError::Language { project: project_language, toolchain });
        }
        let folder = match &project.in_place {
            Some(folder) => folder.clone(),
            None => {
                self.output.join(toolchain.as_str()).join(format!("{}-{}", project.name, self.key(project)))
            }
        };
        let built = Built {
            component: folder.join(format!("{}.wasm", project.name)),
            cases: project.cases.clone(),
            kept: project.in_place.is_none() && folder.join(DONE).is_file(),
            folder,
        };
        // Another process may be at it.
        let _lock = self.lock(project)?;
        if built.kept || folder_is_done(&built) {
            return Ok(Built { kept: true, ..built });
        }
        if project.in_place.is_none() {
            write(project, &built.folder)?;
        }
        self.make(&built, "build", &with(witlet))?;
        if !built.component.is_file() {
            return Err(BuildError::NoComponent { path: built.component });
        }
        if project.in_place.is_none() {
            let done = built.folder.join(DONE);
            fs::write(&done, "").map_err(|cause| BuildError::File { path: done, cause })?;
        }
        Ok(built)
    }

    /// Runs `make test` in a built project with this witlet: its unit tests, and the kit. What was printed.
    ///
    /// # Errors
    /// With the end of what `make` had printed.
    pub fn test(&self, built: &Built, witlet: &Path) -> Result<String, BuildError> {
        self.make(built, "test", &with(witlet))
    }

    /// What `make` printed.
    fn make(
        &self,
        built: &Built,
        target: &'static str,
        more: &[(String, String)],
    ) -> Result<String, BuildError> {
        let folder = &built.folder;
        let cases = built.cases.iter().map(|path| ("CASES".to_owned(), path.display().to_string()));
        let variables = self.variables().into_iter().chain(cases).chain(more.iter().cloned());
        // An outer cargo's and make's variables are meant for them.
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec make \"$@\" 2>&1", "make", target])
            .args(variables.clone().map(|(name, value)| format!("{name}={value}")))
            .envs(variables)
            .env_remove("MAKEFLAGS")
            .env_remove("MFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO")
            .current_dir(folder);
        let ran = bounded_run::run(&mut command)
            .map_err(|cause| BuildError::Start { folder: folder.clone(), cause })?;
        if ran.status.success() {
            return Ok(ran.printed);
        }
        Err(BuildError::Failed {
            target,
            folder: folder.clone(),
            status: ran.ended(),
            output: end_of(&ran.printed, OUTPUT_BYTES_MAX).to_owned(),
        })
    }

    /// Hash of everything that goes into the build.
    fn key(&self, project: &Project) -> String {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(self.pins.as_bytes());
        for (path, (contents, executable)) in &project.files {
            part(path.as_bytes());
            part(contents);
            part(&[u8::from(*executable)]);
        }
        let mut key = hex::encode(hash.finalize());
        key.truncate(HASH_DIGITS);
        key
    }

    fn lock(&self, project: &Project) -> Result<File, BuildError> {
        let path = self.output.join(format!("{}-{}.lock", self.language, project.name));
        let failed = |cause| BuildError::File { path: path.clone(), cause };
        fs::create_dir_all(&self.output).map_err(failed)?;
        let file = File::create(&path).map_err(failed)?;
        flock(&file, FlockOperation::LockExclusive).map_err(|cause| failed(cause.into()))?;
        Ok(file)
    }
}

/// What has a Makefile call this program.
fn with(witlet: &Path) -> [(String, String); 1] {
    [("WITLET".to_owned(), witlet.display().to_string())]
}

fn folder_is_done(built: &Built) -> bool {
    built.folder.join(DONE).is_file()
}

/// Writes the project's files, into an empty folder.
fn write(project: &Project, folder: &Path) -> Result<(), BuildError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |cause| BuildError::File { path, cause }
    };
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(failed(folder)(cause)),
        Ok(()) | Err(_) => {}
    }
    for (path, (contents, executable)) in &project.files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        fs::write(&path, contents).map_err(failed(&path))?;
        if *executable {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(failed(&path))?;
        }
    }
    Ok(())
}

/// The last bytes of a text, from the beginning of a line if there is one.
fn end_of(text: &str, bytes_max: usize) -> &str {
    let Some(mut at) = text.len().checked_sub(bytes_max) else { return text };
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let end = &text[at..];
    end.split_once('\n').map_or(end, |(_, rest)| rest)
}

#[cfg(test)]
mod tests;
