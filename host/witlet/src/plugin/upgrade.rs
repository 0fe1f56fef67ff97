//! `witlet plugin upgrade`: brings the template's files of a project to this release, and leaves alone what its author changed.

mod plan;
mod recognise;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;
use witlet_templates::{Contract, File, Language, RenderError, Role, render};
use witlet_wasm::record::replay::digest_of;

use crate::bounded;
use crate::cli::{OutputFormat, UpgradeArgs};
use crate::output::{OutputError, print, structured};
use crate::plugin::new::{self, own_program, role_in_words};
use crate::plugin::project::{
    Digests, PROJECT_FILE, PROJECT_FILE_BYTES_MAX, Project, ProjectFileError, VERSION, digests,
};
use plan::{Action, ExistingFile, Step, needs_a_hand, next_to, plan, remembered};
use recognise::{Recognised, contract, is_published, recognise};

/// A larger file isn't a template's.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// What every project has. Where these are missing, there is no project to upgrade.
const NEEDED: [&str; 2] = ["Makefile", WORLD];
/// What says for which contract a project is made.
const WORLD: &str = "wit/world.wit";
/// The book's chapter on moving a project to another contract.
const CHAPTER: &str = "the chapter \"From 0.1 to 0.2\" of the book";

/// Why a project wasn't upgraded.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// Something of the project can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// Which file or folder.
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// What says of which template it is can't be taken.
    #[error("{}", path.display())]
    ProjectFile {
        path: PathBuf,
        #[source]
        cause: ProjectFileError,
    },
    /// It is larger than any such file.
    #[error("{} must have at most {PROJECT_FILE_BYTES_MAX} bytes", path.display())]
    TooLarge { path: PathBuf },
    /// An older release mustn't undo what a newer one did.
    #[error("{} is of witlet {version}, this is {VERSION}: upgrade with that release or a later one", path.display())]
    Newer {
        /// The file that says so.
        path: PathBuf,
        version: String,
    },
    /// What the project is stands in its file.
    #[error("{} says what the project is: leave out --name, --lang and --role", path.display())]
    Named { path: PathBuf },
    /// Nothing of a project is there.
    #[error(
        "{} is no project of `witlet plugin new`: it has no {PROJECT_FILE}, and no {}; name the folder of a project",
        folder.display(),
        missing.join(" and no ")
    )]
    NoProject {
        folder: PathBuf,
        /// What every project has.
        missing: Vec<&'static str>,
    },
    /// A project of an older release, of which something can't be recognised.
    #[error("{} has no {PROJECT_FILE}, and its files don't say all that it would: set {}", folder.display(), flags.join(", "))]
    Unknown {
        folder: PathBuf,
        /// The flags that say it.
        flags: Vec<&'static str>,
    },
    /// No template is on this track.
    #[error(
        "projects in {} are made for contract {}, not for {}: leave out --contract",
        language.title(),
        language.contract().as_str(),
        desired.as_str()
    )]
    Contract {
        /// What was asked for.
        desired: Contract,
        language: Language,
    },
    /// The template refuses the name.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// Files can't be written.
    #[error(transparent)]
    Write(#[from] new::Error),
    /// A file can't be removed.
    #[error("failed to remove {}", path.display())]
    Remove {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// What was done, or with `--dry-run` would be.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Upgrade {
    name: String,
    language: &'static str,
    role: &'static str,
    folder: PathBuf,
    /// The release whose template it was; none if the project didn't say.
    from: Option<String>,
    to: &'static str,
    dry_run: bool,
    /// Whether files are left that the author has to check.
    needs_a_hand: bool,
    /// The track of the contracts that the project is on.
    contract: &'static str,
    /// The one that projects of this release are on. Where it is another one, nothing was changed.
    contract_of_release: &'static str,
    files: Vec<Step>,
    #[serde(skip)]
    kind: (Language, Role),
    /// Whether it was on an older track until now.
    #[serde(skip)]
    has_moved: bool,
}

/// Upgrades the project, and says what it did. Whether nothing is left for the author to do.
pub(crate) fn run(args: &UpgradeArgs) -> Result<bool, Error> {
    let folder = args.folder.clone().unwrap_or_else(|| PathBuf::from("."));
    // Without links in its own path, and with a name.
    let folder = fs::canonicalize(&folder).map_err(failed_read(&folder))?;
    let upgrade = upgrade(args, &folder)?;
    let text = match args.output {
        OutputFormat::Table | OutputFormat::Wide => for_people(&upgrade),
        OutputFormat::Json | OutputFormat::Yaml => structured(&upgrade, args.output)?,
    };
    print(&text)?;
    Ok(!upgrade.needs_a_hand)
}

fn failed_read(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |cause| Error::Read { path, cause }
}

/// The same without a word. The folder's path has no links.
pub(crate) fn upgrade(args: &UpgradeArgs, folder: &Path) -> Result<Upgrade, Error> {
    let known = read_project(folder)?;
    let from = known.as_ref().map(|project| project.version.clone());
    let Project { name, language, role, files: mut before, .. } = match known {
        Some(project) => known_project(args, folder, project)?,
        None => unknown_project(args, folder)?,
    };
    let made_for = made_for(args, folder, language, role, &before)?;
    let has_moved = made_for < language.contract();
    let report = Upgrade {
        name: name.to_string(),
        language: language.as_str(),
        role: role.as_str(),
        folder: folder.to_owned(),
        from: from.clone(),
        to: VERSION,
        dry_run: args.dry_run,
        needs_a_hand: false,
        contract: made_for.as_str(),
        contract_of_release: language.contract().as_str(),
        files: Vec::new(),
        kind: (language, role),
        has_moved: false,
    };
    if has_moved && args.contract.is_none() {
        // Its SDK and its contracts are what its code is written against.
        return Ok(report);
    }
    let mut files = render(language, role, &name)?;
    let release = digests(&files);
    let facts = facts(folder, &before, &release)?;
    if from.is_none() {
        before = published(&facts);
    }
    let found = |path: &str| facts.get(path).cloned().unwrap_or(ExistingFile::Missing);
    let mut steps = plan(&before, &release, &found);
    let project =
        Project { files: remembered(&before, &release, &steps), ..Project::new(name, language, role, &[]) };
    // The machine's own file, which no one changes.
    let program = own_program();
    steps.extend(program.iter().filter_map(|program| own_step(folder, program)));
    files.extend(program);
    if !args.dry_run {
        write(folder, &files, &steps, &project.file())?;
    }
    let contract = language.contract().as_str();
    Ok(Upgrade { needs_a_hand: needs_a_hand(&steps), contract, files: steps, has_moved, ..report })
}

/// The track that a project is on, if the one that was asked for can be had.
fn made_for(
    args: &UpgradeArgs,
    folder: &Path,
    language: Language,
    role: Role,
    before: &Digests,
) -> Result<Contract, Error> {
    if let Some(desired) = args.contract.filter(|desired| *desired != language.contract()) {
        return Err(Error::Contract { desired, language });
    }
    let world = bounded::read_text(&folder.join(WORLD), FILE_BYTES_MAX).unwrap_or_default();
    Ok(contract(&world, role, before))
}

/// Returns what the project's file says; none if it has none.
fn read_project(folder: &Path) -> Result<Option<Project>, Error> {
    let path = folder.join(PROJECT_FILE);
    let text = match bounded::read(&path, PROJECT_FILE_BYTES_MAX) {
        Ok(text) => text,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
        Err(cause) if cause.kind() == ErrorKind::FileTooLarge => return Err(Error::TooLarge { path }),
        Err(cause) => return Err(failed_read(&path)(cause)),
    };
    Project::parse(&text).map(Some).map_err(|cause| Error::ProjectFile { path, cause })
}

fn known_project(args: &UpgradeArgs, folder: &Path, project: Project) -> Result<Project, Error> {
    let path = folder.join(PROJECT_FILE);
    if args.name.is_some() || args.lang.is_some() || args.role.is_some() {
        return Err(Error::Named { path });
    }
    if project.is_newer() {
        return Err(Error::Newer { path, version: project.version });
    }
    Ok(project)
}

/// A project of a release that left no file: what the command line and its files say.
fn unknown_project(args: &UpgradeArgs, folder: &Path) -> Result<Project, Error> {
    let missing: Vec<&'static str> = NEEDED.into_iter().filter(|path| !folder.join(path).is_file()).collect();
    if !missing.is_empty() {
        return Err(Error::NoProject { folder: folder.to_owned(), missing });
    }
    let text = |path: &str| bounded::read_text(&folder.join(path), FILE_BYTES_MAX).ok();
    let found = recognise(&text);
    let Recognised { name, language, role } = Recognised {
        name: args.name.clone().or(found.name),
        language: args.lang.or(found.language),
        role: args.role.or(found.role),
    };
    match (name, language, role) {
        (Some(name), Some(language), Some(role)) => Ok(Project::new(name, language, role, &[])),
        (name, language, role) => {
            let flags =
                [("--name", name.is_none()), ("--lang", language.is_none()), ("--role", role.is_none())];
            let flags =
                flags.into_iter().filter(|(_, is_unknown)| *is_unknown).map(|(flag, _)| flag).collect();
            Err(Error::Unknown { folder: folder.to_owned(), flags })
        }
    }
}

/// Of a project without its file: what is known not to be changed.
fn published(facts: &BTreeMap<String, ExistingFile>) -> Digests {
    let known = facts.iter().filter_map(|(path, found)| match found {
        ExistingFile::File(digest) if is_published(path, digest) => Some((path.clone(), digest.clone())),
        ExistingFile::File(_) | ExistingFile::Missing | ExistingFile::Other => None,
    });
    known.collect()
}

/// Returns what is at each path of both templates, and next to it.
fn facts(
    folder: &Path,
    before: &Digests,
    release: &Digests,
) -> Result<BTreeMap<String, ExistingFile>, Error> {
    let paths = before.keys().chain(release.keys());
    let all = paths.flat_map(|path| [path.clone(), next_to(path)]);
    all.map(|path| Ok((path.clone(), inspect(folder, &path)?))).collect()
}

/// Returns what is at a path below the folder. Links aren't followed: what they lead to isn't the project's.
fn inspect(folder: &Path, path: &str) -> Result<ExistingFile, Error> {
    let mut at = folder.to_owned();
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let metadata = match fs::symlink_metadata(&at) {
            Ok(metadata) => metadata,
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(ExistingFile::Missing),
            Err(cause) => return Err(failed_read(&at)(cause)),
        };
        let is_last = parts.peek().is_none();
        if !is_last && metadata.is_dir() {
            continue;
        }
        if !is_last || !metadata.is_file() {
            return Ok(ExistingFile::Other);
        }
    }
    match bounded::read(&at, FILE_BYTES_MAX) {
        Ok(contents) => Ok(ExistingFile::File(digest_of(&contents))),
        Err(cause) if cause.kind() == ErrorKind::FileTooLarge => Ok(ExistingFile::Other),
        Err(cause) => Err(failed_read(&at)(cause)),
    }
}

/// The step for the file with this program's path; none if it is as it should be, or can't be recognised.
fn own_step(folder: &Path, program: &File) -> Option<Step> {
    let action = match inspect(folder, &program.path).ok()? {
        ExistingFile::Missing => Action::Created,
        ExistingFile::File(digest) if digest == digest_of(&program.contents) => return None,
        ExistingFile::File(_) => Action::Replaced,
        ExistingFile::Other => return None,
    };
    Some(Step { path: program.path.clone(), action, detail: None, write_to: Some(program.path.clone()) })
}

/// Carries the steps out; what says that it was done comes last.
fn write(folder: &Path, files: &[File], steps: &[Step], project: &File) -> Result<(), Error> {
    let written = steps.iter().filter_map(|step| {
        let (path, file) = (step.write_to.as_ref()?, files.iter().find(|file| file.path == step.path)?);
        Some(File { path: path.clone(), ..file.clone() })
    });
    let written: Vec<File> = written.collect();
    if !written.is_empty() {
        new::write_into(&written, folder)?;
    }
    for step in steps.iter().filter(|step| step.action == Action::Removed) {
        let path = folder.join(&step.path);
        fs::remove_file(&path).map_err(|cause| Error::Remove { path, cause })?;
    }
    if inspect(folder, PROJECT_FILE)? != ExistingFile::File(digest_of(&project.contents)) {
        new::write_into(std::slice::from_ref(project), folder)?;
    }
    Ok(())
}

/// A line for each file that isn't as before, and what is left to do.
fn for_people(upgrade: &Upgrade) -> String {
    let (language, role) = upgrade.kind;
    let from = match &upgrade.from {
        Some(version) => format!("from witlet {version}"),
        None => format!("which had no {PROJECT_FILE},"),
    };
    let mut text = format!(
        "{}, {} in {}, {from} to {}\n",
        upgrade.name,
        role_in_words(role),
        language.title(),
        upgrade.to
    );
    if upgrade.contract != upgrade.contract_of_release {
        text.push_str(&format!(
            "It is made for contract {}, and this release's projects for {}: nothing was changed. It builds and runs as before.\n\n\
             To move it: `witlet plugin upgrade --contract {1}`, then your own code as {CHAPTER} says\n",
            upgrade.contract, upgrade.contract_of_release,
        ));
        return text;
    }
    for Step { path, action, detail, write_to } in &upgrade.files {
        let word = match action {
            Action::Created => "created",
            Action::Replaced => "replaced",
            Action::Removed => "removed",
            Action::Conflict => "conflict",
            Action::Blocked => "blocked",
            Action::Kept => "kept",
            Action::Unchanged => continue,
        };
        let detail = detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        let next_to_it = write_to.as_ref().filter(|to| *to != path);
        let next_to_it = next_to_it.map(|to| format!("; the release's is {to}")).unwrap_or_default();
        text.push_str(&format!("{word:<9} {path}{detail}{next_to_it}\n"));
    }
    let unchanged = upgrade.files.iter().filter(|step| step.action == Action::Unchanged).count();
    text.push_str(&format!("{unchanged} files were this release's already\n"));
    if upgrade.dry_run {
        text.push_str("Nothing was written: this was a dry run.\n");
    } else if upgrade.needs_a_hand {
        text.push_str("\nNext: take over what you want of the `.new` files, remove them, ");
        if upgrade.has_moved {
            text.push_str(&format!("move your own code as {CHAPTER} says, "));
        }
        text.push_str("then `make test`.\n");
    } else if upgrade.has_moved {
        text.push_str(&format!("\nNext: move your own code as {CHAPTER} says, then `make test`\n"));
    } else {
        text.push_str("\nNext: make test\n");
    }
    text
}

#[cfg(test)]
mod tests;
