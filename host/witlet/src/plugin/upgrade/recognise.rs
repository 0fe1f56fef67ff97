//! Projects without the file that says what they are: what their other files show.

use witlet_templates::{Contract, Language, Name, PUBLISHED_CONTRACTS, Role};

use crate::plugin::project::Digests;

/// What a project's files say of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recognised {
    pub(super) name: Option<Name>,
    pub(super) language: Option<Language>,
    pub(super) role: Option<Role>,
}

/// A file that a project has in one language alone.
const MARKS: [(&str, Language); 6] = [
    ("sdk/Cargo.toml", Language::Rust),
    ("lib/plugin.mk", Language::C),
    ("pyproject.toml", Language::Python),
    ("package.json", Language::JavaScript),
    ("sdk/go.mod", Language::Go),
    ("sdk/witlet.hpp", Language::Cpp),
];

/// Checks a project by the texts of its files.
pub(super) fn recognise(text: &dyn Fn(&str) -> Option<String>) -> Recognised {
    let marked: Vec<Language> =
        MARKS.iter().filter(|(path, _)| text(path).is_some()).map(|(_, language)| *language).collect();
    let language = match marked[..] {
        [only] => Some(only),
        // With marks of two, it is something else, too.
        _ => None,
    };
    let name = text("Makefile").as_deref().and_then(name);
    let world = text("wit/world.wit").unwrap_or_default();
    let included = |role: &Role| world.contains(&format!("include witlet:{role}/"));
    let roles: Vec<Role> = Role::ALL.into_iter().filter(included).collect();
    let role = match roles[..] {
        [only] => Some(only),
        _ => None,
    };
    Recognised { name, language, role }
}

/// The track of the contracts that a project is made for: that of the world that it includes, or else that of the contracts which it had from
/// its template. The oldest where neither says it, so that nothing is taken from such a project.
pub(super) fn contract(world: &str, role: Role, before: &Digests) -> Contract {
    let included = || {
        let (_, rest) = world.split_once(&format!("include witlet:{role}/"))?;
        let (_, version) = rest.split_once(';')?.0.split_once('@')?;
        Contract::ALL.into_iter().find(|contract| version.starts_with(&format!("{}.", contract.as_str())))
    };
    let is_copied = |contract: &Contract| {
        before.contains_key(&format!("wit/deps/host{}/host.wit", contract.folder_suffix()))
    };
    included().or_else(|| Contract::ALL.into_iter().find(is_copied)).unwrap_or(Contract::V0_1)
}

/// Returns what a Makefile of a template builds.
fn name(makefile: &str) -> Option<Name> {
    let (_, rest) = makefile.split_once("`make` builds ")?;
    Name::parse(rest.split_once(".wasm")?.0).ok()
}

/// Whether a file with this digest is an unchanged copy of what a release had at this path of a project: contracts, whose every
/// published file is known.
pub(super) fn is_published(path: &str, digest: &str) -> bool {
    let Some(contract) = path.strip_prefix("wit/deps/") else { return false };
    PUBLISHED_CONTRACTS
        .lines()
        .filter_map(|line| line.split_once("  wit/"))
        .any(|(published, file)| published == digest && file == contract)
}

#[cfg(test)]
mod tests;
