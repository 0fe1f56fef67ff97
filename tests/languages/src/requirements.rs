//! Whether the toolchain of a language is here: what was found, and what that means.

use witlet_templates::Language;

/// Set to `1`, it turns a skip into a failure: for CI, where everything is installed.
pub const REQUIRE_VARIABLE: &str = "WITLET_REQUIRE_LANGUAGES";

/// Whether a skip is a failure here.
pub fn is_required() -> bool {
    std::env::var_os(REQUIRE_VARIABLE).is_some_and(|value| value == "1")
}

/// What was found of a language's tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Programs of [`programs`] that aren't on the path.
    pub(crate) missing: Vec<&'static str>,
    /// Whether rustc has a standard library for components.
    pub(crate) target: bool,
    /// What the installed tools were installed from, if there are any.
    pub(crate) installed: Option<String>,
    /// What the templates pin.
    pub(crate) pinned: String,
}

/// Programs that building a project takes, other than what `make languages` installs.
pub(crate) const fn programs(language: Language) -> &'static [&'static str] {
    match language {
        Language::Rust => &["make", "cargo"],
        Language::C | Language::Cpp | Language::Python | Language::Go => &["make", "python3"],
        Language::JavaScript => &["make", "node"],
    }
}

/// Why no project of the language can be built with this; none if it can.
pub(crate) fn absence(language: Language, found: &Found) -> Option<String> {
    if let Some(program) = found.missing.first() {
        return Some(format!("{program} isn't installed"));
    }
    match (language, &found.installed) {
        (Language::Rust, _) if found.target => None,
        (Language::Rust, _) => {
            Some("rustc has no standard library for wasm32-wasip2: `make setup` installs it".to_owned())
        }
        (
            Language::C | Language::Cpp | Language::Python | Language::JavaScript | Language::Go,
            Some(installed),
        ) if *installed == found.pinned => None,
        (Language::C | Language::Cpp | Language::Python | Language::JavaScript | Language::Go, Some(_)) => {
            Some(
                "the installed tools aren't those that the template pins: `make languages` renews them"
                    .to_owned(),
            )
        }
        (Language::C | Language::Cpp | Language::Python | Language::JavaScript | Language::Go, None) => {
            Some("its tools aren't installed: `make languages` does that".to_owned())
        }
    }
}

#[cfg(test)]
mod tests;
