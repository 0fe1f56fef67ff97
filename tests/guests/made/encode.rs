//! From a core module written by hand to a component of one of the contract's worlds.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// What a component is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World<'a> {
    /// The contract's package: `admission`, `probe` or `pod-source`.
    pub(crate) package: &'a str,
    /// Its world, with package and version.
    pub(crate) includes: &'a str,
    /// What the world imports in addition.
    pub(crate) imports: &'a str,
    /// Packages that it imports from.
    pub(crate) packages: &'a str,
    /// Words of the contract that are replaced, for components with a contract of their own.
    pub(crate) instead: Option<(&'a str, &'a str)>,
}

/// The component with this core module.
pub(crate) fn component(world: World<'_>, core: &str) -> Vec<u8> {
    let World { package, includes, imports, packages, instead } = world;
    let mut wit = Resolve::default();
    for package in ["host", package] {
        let path = format!("{}/../../wit/{package}/{package}.wit", env!("CARGO_MANIFEST_DIR"));
        let mut text = std::fs::read_to_string(&path).expect("the contract is there");
        if let Some((words, others)) = instead {
            text = text.replace(words, others);
        }
        wit.push_source(&path, &text).expect("the contract is valid");
    }
    let text = format!("package test:made;\nworld made {{ include {includes}; {imports} }}\n{packages}");
    let package = wit.push_source("made.wit", &text).expect("the text is made here");
    let world = wit.select_world(&[package], Some("made")).expect("the text has this world");
    let mut module = wat::parse_str(core).expect("the text is a constant of this crate");
    embed_component_metadata(&mut module, &wit, world, StringEncoding::UTF8)
        .expect("the world can be encoded");
    let mut encoder = ComponentEncoder::default().module(&module).expect("the module fits the world");
    encoder.encode().expect("the module fits the world")
}
