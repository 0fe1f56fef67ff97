//! `witlet plugin new`: writes a project that builds, whole or not at all.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use thiserror::Error;
use witlet_templates::{File, Language, PROGRAM_FILE, RenderError, Role, render};

use crate::cli::{NewArgs, OutputFormat};
use crate::output::{OutputError, print, structured};
use crate::plugin::project::Project;

/// Permissions before the user's mask.
const FOLDER_MODE: u32 = 0o777;
/// See [`FOLDER_MODE`].
const FILE_MODE: u32 = 0o666;
/// See [`FOLDER_MODE`].
const PROGRAM_MODE: u32 = 0o777;
/// In the name of the folder where files of a project that is there are written first.
const STAGE: &str = "witlet-upgrade";

/// Why there is no project.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// The template refuses the name.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// Someone's work is there.
    #[error("folder {} is not empty: set another folder with --into, or overwrite the project's files with --force", folder.display())]
    NotEmpty { folder: PathBuf },
    /// What is there is no folder.
    #[error("{} is not a folder: set another one with --into", path.display())]
    NotAFolder { path: PathBuf },
    /// The folder that is named has no name, such as `/` or `..`.
    #[error("{} cannot be created as a folder: set one with --into", path.display())]
    NoName { path: PathBuf },
    /// A file or a folder can't be written or read.
    #[error("failed to write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// What is at the place of a new project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetFolder {
    /// Nothing, or an empty folder.
    Free,
    /// A folder with something in it.
    Taken,
    NoFolder,
}

/// How the files get there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteMode {
    /// The whole folder at once.
    Folder,
    /// Each file at once; others stay.
    Files,
}

/// Writes the project and says what to do next.
pub(crate) fn run(args: &NewArgs) -> Result<(), Error> {
    let (folder, files) = create(args)?;
    let text = match args.output {
        OutputFormat::Table | OutputFormat::Wide => for_people(args, &folder, files.len()),
        OutputFormat::Json | OutputFormat::Yaml => {
            structured(&for_programs(args, &folder, &files), args.output)?
        }
    };
    Ok(print(&text)?)
}

/// Writes the project. Its folder and its files.
pub(crate) fn create(args: &NewArgs) -> Result<(PathBuf, Vec<File>), Error> {
    let mut files = render(args.lang, args.role, &args.name)?;
    files.push(Project::new(args.name.clone(), args.lang, args.role, &files).file());
    files.extend(own_program());
    let folder = args.into.clone().unwrap_or_else(|| PathBuf::from(args.name.as_str()));
    let way = way(target_folder(&folder)?, args.force, &folder)?;
    write(&files, &folder, way)?;
    Ok((folder, files))
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    |cause| Error::Write { path, cause }
}

/// The file with the path of this program. One that was replaced meanwhile has a name that leads nowhere.
pub(super) fn own_program() -> Option<File> {
    std::env::current_exe().ok().filter(|path| path.is_file()).as_deref().and_then(program_file)
}

/// Where `make test` finds the program if it isn't on the path. A path that is no line of text isn't written down.
fn program_file(program: &Path) -> Option<File> {
    let path = program.to_str().filter(|path| !path.contains(char::is_control))?;
    let contents = format!("{}\n", quoted(path)).into_bytes();
    Some(File { path: PROGRAM_FILE.to_owned(), contents, executable: false })
}

/// Checks the place.
fn target_folder(folder: &Path) -> Result<TargetFolder, Error> {
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            Ok(if entries.next().is_some() { TargetFolder::Taken } else { TargetFolder::Free })
        }
        Err(cause) if cause.kind() == ErrorKind::NotFound && !folder.is_symlink() => Ok(TargetFolder::Free),
        Err(cause) if matches!(cause.kind(), ErrorKind::NotADirectory | ErrorKind::NotFound) => {
            Ok(TargetFolder::NoFolder)
        }
        Err(cause) => Err(failed(folder)(cause)),
    }
}

/// No one's files are touched unless he says so.
fn way(target_folder: TargetFolder, force: bool, folder: &Path) -> Result<WriteMode, Error> {
    match (target_folder, force) {
        (TargetFolder::Free, _) => Ok(WriteMode::Folder),
        (TargetFolder::Taken, true) => Ok(WriteMode::Files),
        (TargetFolder::Taken, false) => Err(Error::NotEmpty { folder: folder.to_owned() }),
        (TargetFolder::NoFolder, _) => Err(Error::NotAFolder { path: folder.to_owned() }),
    }
}

/// Writes all files next to the place, and moves them there when all of them are written.
fn write(files: &[File], folder: &Path, way: WriteMode) -> Result<(), Error> {
    let no_name = || Error::NoName { path: folder.to_owned() };
    let name = folder.file_name().ok_or_else(no_name)?.to_string_lossy();
    let parent_folder = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    fs::create_dir_all(parent_folder).map_err(failed(parent_folder))?;
    let made = stage(files, parent_folder, &name, folder)?;
    match way {
        WriteMode::Folder => {
            // Over an empty folder, as rename(2) allows; one that filled up meanwhile is left alone.
            fs::rename(made.path(), folder).map_err(failed(folder))?;
            // It is elsewhere now.
            let _moved = made.keep();
            Ok(())
        }
        WriteMode::Files => move_files(files, made.path(), folder),
    }
}

/// Writes files into a folder that is there: whole ones, each at once.
pub(super) fn write_into(files: &[File], folder: &Path) -> Result<(), Error> {
    let made = stage(files, folder, STAGE, folder)?;
    move_files(files, made.path(), folder)
}

/// Writes all files into a new folder in `place`, on the way to `folder`.
fn stage(files: &[File], place: &Path, name: &str, folder: &Path) -> Result<TempDir, Error> {
    let made = tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .permissions(Permissions::from_mode(FOLDER_MODE))
        .tempdir_in(place)
        .map_err(failed(place))?;
    for file in files {
        let path = made.path().join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        let mode = if file.executable { PROGRAM_MODE } else { FILE_MODE };
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)
            .and_then(|mut target| target.write_all(&file.contents));
        written.map_err(failed(&folder.join(&file.path)))?;
    }
    Ok(made)
}

/// Moves them from where they were written to their places.
fn move_files(files: &[File], from: &Path, folder: &Path) -> Result<(), Error> {
    for file in files {
        let target = folder.join(&file.path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        fs::rename(from.join(&file.path), &target).map_err(failed(&target))?;
    }
    Ok(())
}

/// Returns what to do next, three commands.
fn next(folder: &Path) -> [String; 3] {
    [format!("cd {}", quoted(&folder.display().to_string())), "make".to_owned(), "make test".to_owned()]
}

/// Quotes a text so that a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./+@%:,".contains(char);
    let is_flag = word.starts_with('-');
    if !word.is_empty() && !is_flag && word.chars().all(plain) {
        return word.to_owned();
    }
    let prefix = if is_flag { "./" } else { "" };
    format!("'{prefix}{}'", word.replace('\'', r"'\''"))
}

/// Returns what a plugin of the role is.
pub(super) fn role_in_words(role: Role) -> &'static str {
    match role {
        Role::Admission => "an admission handler",
        Role::Probe => "a probe type",
        Role::PodSource => "a pod source",
    }
}

fn for_people(args: &NewArgs, folder: &Path, files: usize) -> String {
    let [enter, build, test] = next(folder);
    let role = role_in_words(args.role);
    let tools = match args.lang {
        Language::Rust => "cargo fetches what it needs the first time",
        Language::Python | Language::JavaScript => "fetches its tools the first time",
        Language::C | Language::Go | Language::Cpp => "cargo compiles its tools the first time, for minutes",
    };
    format!(
        "{} is {role} in {}: {files} files in {}.\n\nNext:\n  {enter}\n  {build:<12} # builds {}.wasm; {tools}\n  {test:<12} # its unit tests, and the conformance kit\n",
        args.name,
        args.lang.title(),
        folder.display(),
        args.name,
    )
}

/// Returns all of it, with the commands that come next.
pub(crate) fn for_programs(args: &NewArgs, folder: &Path, files: &[File]) -> Value {
    json!({
        "name": args.name.as_str(),
        "language": args.lang.as_str(),
        "role": args.role.as_str(),
        "folder": folder,
        "component": folder.join(format!("{}.wasm", args.name)),
        "files": files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
        "next": next(folder),
    })
}

#[cfg(test)]
mod tests;
