//! The toolchain of a language on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};
use thiserror::Error;
use witlet_templates::{Language, template};

use crate::project::repository;
use crate::requirements::{Found, absence, programs};

/// Names the folder that `make languages` installs into; `witlet/tools` in the user's cache if it isn't set.
pub const TOOLS_VARIABLE: &str = "WITLET_TOOLS";
/// In the folder of a language: what its tools were installed from.
const STAMP: &str = "installed-from";
/// Names of files in a template that pin tools.
const PINS: &[&str] = &["Makefile", "package.json", "package-lock.json", "requirements.txt"];
/// Ending of files that Makefiles include.
const PINS_INCLUDED: &str = ".mk";
/// What components in Rust are compiled for.
const TARGET: &str = "wasm32-wasip2";

/// No project of this language can be built here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{language} can't be built here: {why}")]
pub struct Absent {
    pub language: Language,
    /// What is missing, and how it gets there.
    pub why: String,
}

/// The tools of a language, installed in the versions that its templates pin.
#[derive(Clone, Debug)]
pub struct Toolchain {
    pub(crate) language: Language,
    /// What the tools were installed from; what was built with others isn't taken for its own.
    pub(crate) pins: String,
    /// Where the tools are.
    tools: PathBuf,
    /// Where everything that is built goes.
    pub(crate) output: PathBuf,
}

impl Toolchain {
    /// The language's tools on this machine.
    ///
    /// # Errors
    /// What is missing, and how it gets there.
    pub fn find(language: Language) -> Result<Self, Absent> {
        let absent = |why: String| Absent { language, why };
        let tools =
            tools_folder().ok_or_else(|| absent(format!("neither {TOOLS_VARIABLE} nor HOME is set")))?;
        let pinned = pins(language);
        let missing = programs(language).iter().filter(|program| !on_path(program)).copied().collect();
        let found = Found {
            missing,
            target: language == Language::Rust && has_target(),
            installed: std::fs::read_to_string(tools.join(language.as_str()).join(STAMP))
                .ok()
                .map(|text| text.trim().to_owned()),
            pinned: pinned.clone(),
        };
        match absence(language, &found) {
            Some(why) => Err(absent(why)),
            None => Ok(Self { language, pins: pinned, tools, output: output_folder() }),
        }
    }

    /// Whose it is.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Variables for `make` that spare a project the installation of tools of its own.
    pub fn variables(&self) -> Vec<(String, String)> {
        let below = |path: &str| self.tools.join(self.language.as_str()).join(path).display().to_string();
        let (name, value) = match self.language {
            Language::Rust => ("CARGO_TARGET_DIR", self.output.join("cargo").display().to_string()),
            // C++ has the tools of C, in the same versions.
            Language::Cpp => ("TOOLS", self.tools.join(Language::C.as_str()).display().to_string()),
            Language::C | Language::Go => {
                ("TOOLS", self.tools.join(self.language.as_str()).display().to_string())
            }
            Language::Python => ("VENV", below("venv")),
            Language::JavaScript => ("NODE_MODULES", below("node_modules")),
        };
        vec![(name.to_owned(), value)]
    }
}

/// SHA-256 over the files of a language's template that pin tools, in the order of their paths; `tests/languages/setup.sh`
/// makes the same.
fn pins(language: Language) -> String {
    let mut hash = Sha256::new();
    for (path, contents) in template(language, "common") {
        let name = path.rsplit('/').next().unwrap_or(path);
        if PINS.contains(&name) || name.ends_with(PINS_INCLUDED) {
            hash.update(contents);
        }
    }
    hex::encode(hash.finalize())
}

fn tools_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set(TOOLS_VARIABLE).or_else(|| Some(cache()?.join("witlet/tools")))
}

/// `languages` in cargo's target folder: cargo marks that as a cache, and this program is in it.
fn output_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let target = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    target.map_or_else(|| repository().join("target"), Path::to_owned).join("languages")
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn has_target() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let output = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .current_dir(repository())
        .output();
    output.is_ok_and(|output| {
        output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}

#[cfg(test)]
impl Toolchain {
    /// One without tools.
    pub(crate) fn of_test(language: Language, output: &Path) -> Self {
        let (pins, tools) = ("pins".to_owned(), output.join("tools"));
        Self { language, pins, tools, output: output.to_owned() }
    }
}
