//! Projects of all templates are recognised, and others aren't taken for one.

use witlet_templates::{File, render};
use witlet_wasm::record::replay::digest_of;

use super::*;

fn project(language: Language, role: Role) -> Vec<File> {
    render(language, role, &Name::parse("team-label").expect("a name")).expect("the name is free")
}

fn of(files: &[File]) -> Recognised {
    recognise(&|path| {
        let file = files.iter().find(|file| file.path == path)?;
        String::from_utf8(file.contents.clone()).ok()
    })
}

#[test]
fn every_template_is_recognised_by_its_files() {
    for language in Language::ALL {
        for role in Role::ALL {
            let found = of(&project(language, role));
            assert_eq!(
                (found.name.map(|name| name.to_string()).as_deref(), found.language, found.role),
                (Some("team-label"), Some(language), Some(role)),
                "{language} {role}"
            );
        }
    }
}

#[test]
fn what_is_something_else_is_not_recognised() {
    assert_eq!(of(&[]), Recognised::default());
    let mut files = project(Language::Go, Role::Admission);
    files.extend(project(Language::C, Role::Probe));
    assert_eq!(of(&files).language, None, "it has marks of two languages");
    let makefile = |text: &str| {
        of(&[File { path: "Makefile".to_owned(), contents: text.as_bytes().to_vec(), executable: false }])
            .name
    };
    assert_eq!(makefile("all:\n\tcc x.c\n"), None);
    assert_eq!(makefile("# `make` builds ../x.wasm\n"), None);
}

#[test]
fn a_published_contract_is_known_by_its_path_and_digest() {
    for language in Language::ALL {
        let files = project(language, Role::Admission);
        let contract =
            files.iter().find(|file| file.path.starts_with("wit/deps/host")).expect("it has contracts");
        let digest = digest_of(&contract.contents);
        assert!(is_published(&contract.path, &digest), "{language}: {}", contract.path);
        assert!(!is_published("wit/deps/probe/probe.wit", &digest) && !is_published(&contract.path, "00"));
        assert!(!is_published("wit/host/host.wit", &digest) && !is_published("Makefile", &digest));
    }
}
