//! Projects that can be built: templates, examples, and the guests that call every function.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;
use witlet_templates::{Language, Name, NameError, Owner, RenderError, Role, owner, render};

/// The example plugins with their roles. Each stands in every language, and answers the same cases.
pub const EXAMPLES: [(&str, Role); 3] =
    [("image-policy", Role::Admission), ("redis-probe", Role::Probe), ("folder-source", Role::PodSource)];
/// Examples of contract 0.2 with their roles: all are there in Rust and in [`LANGUAGES_0_2`], and in each they answer the same cases.
pub const EXAMPLES_0_2: [(&str, Role); 3] =
    [("policies", Role::Admission), ("redis-ping", Role::Probe), ("pod-folder", Role::PodSource)];
/// The languages that have those next to Rust.
pub const LANGUAGES_0_2: [Language; 3] = [Language::Python, Language::JavaScript, Language::Go];
/// The languages with guests that ask by HTTPS as their SDKs do: [`Project::https`].
pub const HTTPS_LANGUAGES: [Language; 3] = [Language::Python, Language::JavaScript, Language::Go];
/// The roles of those guests: a handler reaches no network.
pub const HTTPS_ROLES: [Role; 2] = [Role::Probe, Role::PodSource];
/// The guest of [`Project::go_runtime`].
pub const GO_RUNTIME: &str = "go-runtime";
/// What builds leave in a project's folder. It is no part of the project.
const LEFTOVERS: &[&str] = &[
    "node_modules",
    ".venv",
    ".tools",
    "target",
    "dist",
    "obj",
    "bindings",
    "types",
    "__pycache__",
    ".mypy_cache",
];
/// How deep a project's folders go at most.
const DEPTH_MAX: usize = 12;
/// What a manifest says whose crate can't be built outside this workspace.
const IN_WORKSPACE: &str = ".workspace = true";

/// The top folder of this repository.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    here.canonicalize().unwrap_or(here)
}

/// The examples that share their cases, of those that a language has.
pub fn examples(language: Language) -> impl Iterator<Item = &'static str> {
    let newer = EXAMPLES_0_2.iter().filter(move |_| LANGUAGES_0_2.contains(&language));
    EXAMPLES.iter().chain(newer).map(|(name, _)| *name)
}

/// Why there is no such project.
#[derive(Debug, Error)]
pub enum ProjectError {
    /// Its folder can't be read.
    #[error("read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// Its folders go on and on.
    #[error("{} has more than {DEPTH_MAX} folders in each other", path.display())]
    Deep { path: PathBuf },
    /// No project has this name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The template refuses it.
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// A project's files.
#[derive(Clone, Debug)]
pub struct Project {
    pub(crate) language: Language,
    /// Of the component that it builds, without the ending.
    pub(crate) name: String,
    /// Contents by path, and whether they are programs.
    pub(crate) files: BTreeMap<String, (Vec<u8>, bool)>,
    /// Where it stands, if it can be built only there: a crate of this workspace.
    pub(crate) in_place: Option<PathBuf>,
    /// The cases of the kit that it is tested with, if they aren't its own.
    pub(crate) cases: Option<PathBuf>,
}

/// A guest that calls every function of its roles.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Builds it.
    pub project: Project,
    /// The file of vectors for its role; empty for all of them.
    pub vectors: &'static str,
    /// What it is granted, as JSON.
    pub grants: &'static str,
}

/// The grants of a component with all roles.
const ALL_GRANTS: &str = r#"{"secrets": ["given"], "exec": true, "network": ["pod", "pod-loopback"]}"#;
/// Those of a component that is no probe type, which may have no others.
const SECRET: &str = r#"{"secrets": ["given"]}"#;

impl Project {
    /// What `witlet plugin new` makes, untouched.
    ///
    /// # Errors
    /// When the name is none, or reserved.
    pub fn template(language: Language, role: Role, name: &str) -> Result<Self, ProjectError> {
        let files = render(language, role, &Name::parse(name)?)?;
        let files = files.into_iter().map(|file| (file.path, (file.contents, file.executable))).collect();
        Ok(Self { language, name: name.to_owned(), files, in_place: None, cases: None })
    }

    /// One of a language's [`examples`].
    ///
    /// # Errors
    /// When its folder can't be read.
    pub fn example(language: Language, name: &str) -> Result<Self, ProjectError> {
        let examples = repository().join("examples/plugins");
        let cases = examples.join("cases").join(format!("{name}.yaml"));
        let project = Self::read(language, name, &examples.join(language.as_str()).join(name))?;
        Ok(Self { cases: Some(cases), ..project })
    }

    /// The guest that calls every function of the contracts.
    ///
    /// # Errors
    /// When its folder can't be read.
    pub fn all_functions(language: Language) -> Result<Self, ProjectError> {
        let folder = repository().join("tests/guests/all-functions").join(language.as_str());
        Self::read(language, "all-functions", &folder)
    }

    /// The guests that call every function of contract 0.2: one with all roles, in JavaScript one for each.
    ///
    /// # Errors
    /// When a folder can't be read.
    pub fn all_functions_0_2(language: Language) -> Result<Vec<Guest>, ProjectError> {
        let guests: &[(&str, &'static str, &'static str)] = match language {
            Language::JavaScript => &[
                ("javascript", "admission.yaml", SECRET),
                ("javascript-probe", "probe.yaml", ALL_GRANTS),
                ("javascript-pod-source", "pod-source.yaml", SECRET),
            ],
            _ => &[(language.as_str(), "", ALL_GRANTS)],
        };
        let folder = repository().join("tests/guests/all-functions-0.2");
        let guest = |&(name, vectors, grants): &(&str, &'static str, &'static str)| {
            let project = Self::read(language, "all-functions", &folder.join(name))?;
            Ok(Guest { project, vectors, grants })
        };
        guests.iter().map(guest).collect()
    }

    /// The guest that says how Go's runtime and library behave, with cases of its own.
    ///
    /// # Errors
    /// When its folder can't be read.
    pub fn go_runtime() -> Result<Self, ProjectError> {
        Self::read(Language::Go, GO_RUNTIME, &repository().join("tests/guests").join(GO_RUNTIME))
    }

    /// The tests of a language's SDK that need a project around them: those of C and C++, for each role that has some, with a world of
    /// their own if they have one.
    ///
    /// # Errors
    /// When a folder can't be read.
    pub fn sdk_tests(language: Language) -> Result<Vec<Self>, ProjectError> {
        let tests = repository().join("plugins/sdk").join(format!("{language}-0.2/tests"));
        let roles = Role::ALL.into_iter().filter(|role| tests.join(role.as_str()).is_dir());
        let project = |role: Role| {
            let mut project = Self::template(language, role, &format!("sdk-{role}"))?;
            collect(&tests.join(role.as_str()), "tests", 0, &mut project.files)?;
            if let Some(world) = project.files.remove("tests/world.wit") {
                project.files.insert("wit/world.wit".to_owned(), world);
            }
            Ok(project)
        };
        roles.map(project).collect()
    }

    /// A project of one of [`HTTPS_LANGUAGES`] and [`HTTPS_ROLES`] that asks by HTTPS: built as the template says, with sources of its own and
    /// cases that all languages share.
    ///
    /// # Errors
    /// When a folder can't be read.
    pub fn https(language: Language, role: Role) -> Result<Self, ProjectError> {
        let guests = repository().join("tests/guests/https");
        let mut project = Self::template(language, role, &format!("https-{role}"))?;
        project.files.retain(|path, _| owner(path) == Owner::Template);
        collect(&guests.join(format!("{language}-{role}")), "", 0, &mut project.files)?;
        Ok(Self { cases: Some(guests.join(role.as_str())), ..project })
    }

    fn read(language: Language, name: &str, folder: &Path) -> Result<Self, ProjectError> {
        let mut files = BTreeMap::new();
        collect(folder, "", 0, &mut files)?;
        let manifest =
            files.get("Cargo.toml").map(|(text, _)| String::from_utf8_lossy(text).contains(IN_WORKSPACE));
        let in_place = (manifest == Some(true)).then(|| folder.to_owned());
        Ok(Self { language, name: name.to_owned(), files, in_place, cases: None })
    }

    /// Its language.
    pub fn language(&self) -> Language {
        self.language
    }
}

/// Reads a folder. Links are followed: `wit/deps` of an example is one, to the repository's contracts.
fn collect(
    folder: &Path,
    below: &str,
    depth: usize,
    files: &mut BTreeMap<String, (Vec<u8>, bool)>,
) -> Result<(), ProjectError> {
    use std::os::unix::fs::PermissionsExt as _;
    if depth > DEPTH_MAX {
        return Err(ProjectError::Deep { path: folder.to_owned() });
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        |cause| ProjectError::Read { path, cause }
    };
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let entry = entry.map_err(failed(folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if LEFTOVERS.contains(&name.as_str()) || (below.is_empty() && name.ends_with(".wasm")) {
            continue;
        }
        let metadata = fs::metadata(entry.path()).map_err(failed(&entry.path()))?;
        if metadata.is_dir() {
            collect(&entry.path(), &path, depth + 1, files)?;
        } else {
            let contents = fs::read(entry.path()).map_err(failed(&entry.path()))?;
            files.insert(path, (contents, metadata.permissions().mode() & 0o111 != 0));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
