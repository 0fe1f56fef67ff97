//! From a template to a project: which files it has, and their text.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use thiserror::Error;

use crate::embedded::{Files, SDKS, TEMPLATES, WIT};
use crate::{Contract, Language, Name, Role};

/// The version that templates name with `{{version}}`.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What all roles of a language have in common.
const COMMON: &str = "common";
/// Files that have another name here than in a project, because git and cargo would take them for their own.
const RENAMED: [(&str, &str); 4] = [
    ("_gitignore", ".gitignore"),
    ("_gitattributes", ".gitattributes"),
    ("_Cargo.toml", "Cargo.toml"),
    ("_Cargo.lock", "Cargo.lock"),
];
/// Names of crates that a Rust project can't have: what its code says would mean two things.
const RUST_RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "serde",
    "serde_json",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "thiserror",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "wasip2",
    "where",
    "while",
    "wit_bindgen",
    "witlet_plugin_sdk_0_2",
    "witlet_plugin_sdk_base",
    "yield",
];

/// A file of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Below the project's folder, parts separated by `/`, none of them `..`.
    pub path: String,
    /// Its bytes.
    pub contents: Vec<u8>,
    /// Whether it is a program: its first line names an interpreter.
    pub executable: bool,
}

/// Why there is no project.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RenderError {
    /// The language has another use for the name.
    #[error("{name:?} means something else in {}: choose another name, such as my-{name}", language.title())]
    Reserved {
        /// The plugin's name.
        name: String,
        /// The language.
        language: Language,
    },
}

/// All files of a new project, sorted by path: the language's common ones, the role's own, which win where both have a
/// path, the contracts of the language's track below `wit/deps` with the world `local:plugin/plugin` in `wit/world.wit`, and the
/// language's SDKs. The same for the same arguments.
///
/// # Errors
/// When the language reserves the name.
pub fn render(language: Language, role: Role, name: &Name) -> Result<Vec<File>, RenderError> {
    if language == Language::Rust
        && (RUST_RESERVED.contains(&name.snake().as_str()) || is_said_in_rust(role, &name.camel()))
    {
        return Err(RenderError::Reserved { name: name.to_string(), language });
    }
    let mut files = BTreeMap::new();
    let contract = language.contract();
    files.insert("wit/world.wit".to_owned(), world(role, contract).into_bytes());
    for (path, contents) in embedded(WIT, contract.as_str()) {
        files.insert(format!("wit/deps/{path}"), contents.to_vec());
    }
    for sdk in language.declared().sdks {
        if sdk.roles.is_empty() || sdk.roles.contains(&role.as_str()) {
            let copies = embedded(SDKS, sdk.from).iter();
            files.extend(copies.map(|(path, contents)| (format!("{}/{path}", sdk.to), contents.to_vec())));
        }
    }
    for folder in [COMMON, role.as_str()] {
        for (path, contents) in template(language, folder) {
            let contents = match std::str::from_utf8(contents) {
                Ok(text) => fill(text, name).into_bytes(),
                Err(_) => contents.to_vec(),
            };
            files.insert(fill(&renamed(path), name), contents);
        }
    }
    let file = |(path, contents): (String, Vec<u8>)| {
        let executable = contents.starts_with(b"#!");
        File { path, contents, executable }
    };
    Ok(files.into_iter().map(file).collect())
}

/// The files of one folder of a template, `common` or a role's name, with their paths in it, as they were written.
pub fn template<'a>(
    language: Language,
    folder: &'a str,
) -> impl Iterator<Item = (&'static str, &'static [u8])> + 'a {
    TEMPLATES.iter().filter_map(move |(path, contents)| {
        let path = path.strip_prefix(language.as_str())?.strip_prefix('/')?;
        Some((path.strip_prefix(folder)?.strip_prefix('/')?, contents.as_slice()))
    })
}

/// The files of this name, which the build script has read for it.
fn embedded(lists: &'static [(&str, &LazyLock<Files>)], name: &str) -> &'static [(&'static str, Vec<u8>)] {
    lists.iter().find(|(listed, _)| *listed == name).map_or(&[], |(_, files)| files.as_slice())
}

/// What the plugin imports and exports, for tools that read WIT. Its package and world always have the same names, for not
/// every plugin's name is one in WIT.
fn world(role: Role, contract: Contract) -> String {
    format!(
        "/// What this plugin is made for. The contracts are in `deps`; the book explains them.\npackage local:plugin;\n\n\
         world plugin {{\n    include {};\n}}\n",
        role.world_of(contract)
    )
}

/// Whether the role's Rust code says this word already, so that it can't be the name of the plugin's type.
fn is_said_in_rust(role: Role, word: &str) -> bool {
    let sources = template(Language::Rust, role.as_str()).filter(|(path, _)| path.ends_with(".rs"));
    sources.filter_map(|(_, contents)| std::str::from_utf8(contents).ok()).any(|source| {
        let mut code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.any(|line| {
            let line = line.replace("{{Camel}}", "_");
            line.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|said| said == word)
        })
    })
}

/// The path in a project of a template's file.
fn renamed(path: &str) -> String {
    let (folder, file) = path.rsplit_once('/').map_or(("", path), |(folder, file)| (folder, file));
    let file = RENAMED.iter().find(|(here, _)| *here == file).map_or(file, |(_, there)| there);
    if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") }
}

/// Puts the name in for the placeholders. Other braces stay: languages have their own use for them.
fn fill(text: &str, name: &Name) -> String {
    text.replace("{{name}}", name.as_str())
        .replace("{{snake}}", &name.snake())
        .replace("{{Camel}}", &name.camel())
        .replace("{{version}}", VERSION)
}
