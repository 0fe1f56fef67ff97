//! Projects in folders: what is replaced, what stays, and what isn't taken for a project.

use std::os::unix::fs::symlink;

use witlet_templates::Name;

use super::*;

/// A project in Go as this release makes it.
fn project() -> tempfile::TempDir {
    project_in(Language::Go)
}

fn project_in(language: Language) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let name = Name::parse("team-label").expect("a name");
    let mut files = render(language, Role::Admission, &name).expect("the name is free");
    files.push(Project::new(name, language, Role::Admission, &files).file());
    files.extend(own_program());
    new::write_into(&files, folder.path()).expect("a temporary folder");
    folder
}

/// The same as if an earlier release had made it: with these files, of which the author has changed none.
fn older(files: &[(&str, &str)]) -> tempfile::TempDir {
    older_in(Language::Go, files)
}

fn older_in(language: Language, files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = project_in(language);
    let mut project = read_project(folder.path()).expect("it can be read").expect("it is there");
    project.version = "0.0.1".to_owned();
    for (path, text) in files {
        write_text(folder.path(), path, text);
        project.files.insert((*path).to_owned(), digest_of(text.as_bytes()));
    }
    fs::write(folder.path().join(PROJECT_FILE), project.file().contents).expect("a temporary folder");
    folder
}

fn args() -> UpgradeArgs {
    UpgradeArgs {
        folder: None,
        dry_run: false,
        name: None,
        lang: None,
        role: None,
        contract: None,
        output: OutputFormat::Table,
    }
}

fn write_text(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("it is below a folder")).expect("a temporary folder");
    fs::write(path, text).expect("a temporary folder");
}

fn text(folder: &Path, path: &str) -> String {
    fs::read_to_string(folder.join(path)).unwrap_or_else(|cause| panic!("{path}: {cause}"))
}

/// What became of a file; none if nothing is said of it.
fn action(upgrade: &Upgrade, path: &str) -> Option<Action> {
    upgrade.files.iter().find(|step| step.path == path).map(|step| step.action)
}

/// All files below a folder with their contents.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(snapshot(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    found
}

#[test]
fn a_project_of_this_release_has_nothing_to_do() {
    let folder = project();
    let before = snapshot(folder.path());
    let done = upgrade(&args(), folder.path()).expect("it is a project");
    assert!(!done.needs_a_hand && done.files.iter().all(|step| step.action == Action::Unchanged), "{done:?}");
    assert_eq!((done.from.as_deref(), action(&done, "main.go")), (Some(VERSION), None));
    assert_eq!(snapshot(folder.path()), before);
}

#[test]
fn files_of_an_older_release_are_replaced_and_what_the_author_changed_stays() {
    let folder = older(&[("plugin.mk", "then"), ("requirements.txt", "then"), ("sdk/gone.go", "then")]);
    let folder = folder.path();
    let release = project();
    write_text(folder, "requirements.txt", "own");
    write_text(folder, "main.go", "own");
    fs::remove_file(folder.join(".github/workflows/plugin.yml")).expect("it is there");
    let before = snapshot(folder);
    let planned = upgrade(&UpgradeArgs { dry_run: true, ..args() }, folder).expect("it is a project");
    assert_eq!(snapshot(folder), before, "a dry run writes nothing");
    let done = upgrade(&args(), folder).expect("it is a project");
    assert_eq!(done.files, planned.files, "it does what it said");
    assert!(done.needs_a_hand);
    for (path, expected) in [
        ("plugin.mk", Some(Action::Replaced)),
        ("requirements.txt", Some(Action::Conflict)),
        ("sdk/gone.go", Some(Action::Removed)),
        (".github/workflows/plugin.yml", Some(Action::Kept)),
        ("go.mod", Some(Action::Unchanged)),
        ("main.go", None),
    ] {
        assert_eq!(action(&done, path), expected, "{path}");
    }
    assert_eq!(text(folder, "plugin.mk"), text(release.path(), "plugin.mk"));
    assert_eq!((text(folder, "requirements.txt").as_str(), text(folder, "main.go").as_str()), ("own", "own"));
    assert_eq!(text(folder, "requirements.txt.new"), text(release.path(), "requirements.txt"));
    assert!(!folder.join("sdk/gone.go").exists() && !folder.join(".github/workflows/plugin.yml").exists());
    // Until the author has taken the new one, the next upgrade says so again.
    let again = upgrade(&args(), folder).expect("it is a project");
    assert!(again.needs_a_hand && again.from.as_deref() == Some(VERSION), "{again:?}");
    fs::rename(folder.join("requirements.txt.new"), folder.join("requirements.txt")).expect("both are files");
    let taken = upgrade(&args(), folder).expect("it is a project");
    assert!(
        !taken.needs_a_hand && action(&taken, "requirements.txt") == Some(Action::Unchanged),
        "{taken:?}"
    );
    let names = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().contains("upgrade")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn nothing_is_written_through_a_link() {
    let folder = older(&[("plugin.mk", "then")]);
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    write_text(elsewhere.path(), "shared.mk", "then");
    fs::remove_file(folder.path().join("plugin.mk")).expect("it is there");
    symlink(elsewhere.path().join("shared.mk"), folder.path().join("plugin.mk")).expect("a temporary folder");
    fs::remove_dir_all(folder.path().join("wit/deps")).expect("it is there");
    symlink(elsewhere.path(), folder.path().join("wit/deps")).expect("a temporary folder");
    let done = upgrade(&args(), folder.path()).expect("it is a project");
    assert_eq!(action(&done, "plugin.mk"), Some(Action::Conflict));
    let contract = format!("wit/deps/host{}/host.wit", Language::Go.contract().folder_suffix());
    assert_eq!(action(&done, &contract), Some(Action::Kept), "the release brings nothing new");
    assert_eq!(snapshot(elsewhere.path()).len(), 1);
    assert_eq!(text(elsewhere.path(), "shared.mk"), "then");
}

#[test]
fn a_project_without_its_file_is_recognised_and_nothing_of_it_is_written_over() {
    let folder = project();
    fs::remove_file(folder.path().join(PROJECT_FILE)).expect("it is there");
    write_text(folder.path(), "plugin.mk", "an older release's, or the author's");
    let done = upgrade(&args(), folder.path()).expect("it is recognised");
    assert_eq!((done.name.as_str(), done.language, done.role), ("team-label", "go", "admission"));
    assert_eq!((done.from.as_deref(), action(&done, "plugin.mk")), (None, Some(Action::Conflict)));
    assert_eq!(text(folder.path(), "plugin.mk"), "an older release's, or the author's");
    let known = read_project(folder.path()).expect("it can be read").expect("it was written");
    assert_eq!(known.version, VERSION);
}

#[test]
fn what_cannot_be_upgraded_says_why_and_the_way_out() {
    let refused =
        |args: &UpgradeArgs, folder: &Path| upgrade(args, folder).expect_err("it is refused").to_string();
    let named = UpgradeArgs { name: Name::parse("x").ok(), ..args() };
    let empty = tempfile::tempdir().expect("a temporary folder");
    let said = refused(&args(), empty.path());
    assert!(said.contains("no Makefile and no wit/world.wit"), "{said}");
    let said = refused(&named, empty.path());
    assert!(said.contains("is no project"), "a name makes none of it: {said}");
    write_text(empty.path(), "Makefile", "all:");
    write_text(empty.path(), "wit/world.wit", "package local:plugin;");
    let said = refused(&named, empty.path());
    assert!(said.contains("set --lang, --role"), "{said}");
    let folder = project();
    let said = refused(&named, folder.path());
    assert!(said.contains("leave out --name"), "{said}");
    let mut newer = read_project(folder.path()).expect("it can be read").expect("it is there");
    newer.version = "999.0.0".to_owned();
    fs::write(folder.path().join(PROJECT_FILE), newer.file().contents).expect("a temporary folder");
    let said = refused(&args(), folder.path());
    assert!(said.contains("is of witlet 999.0.0, this is"), "{said}");
    write_text(folder.path(), PROJECT_FILE, "{");
    assert!(matches!(upgrade(&args(), folder.path()), Err(Error::ProjectFile { .. })));
    let large = " ".repeat(usize::try_from(PROJECT_FILE_BYTES_MAX).expect("it fits") + 1);
    write_text(folder.path(), PROJECT_FILE, &large);
    assert!(matches!(upgrade(&args(), folder.path()), Err(Error::TooLarge { .. })));
}

/// What a project in Rust had that was made for contract 0.1.
const OF_0_1: &[(&str, &str)] = &[
    ("wit/world.wit", "world plugin {\n    include witlet:admission/admission-handler@0.1.0;\n}\n"),
    ("wit/deps/host/host.wit", "then"),
    ("sdk/src/host.rs", "then"),
    ("Cargo.toml", "then"),
];

#[test]
fn a_project_of_an_older_contract_stays_as_it_is_until_its_author_moves_it() {
    let folder = older_in(Language::Rust, OF_0_1);
    let folder = folder.path();
    let before = snapshot(folder);
    let done = upgrade(&args(), folder).expect("it is a project");
    assert_eq!((done.contract, done.contract_of_release, done.needs_a_hand), ("0.1", "0.2", false));
    assert!(done.files.is_empty() && snapshot(folder) == before, "{done:?}");
    let said = for_people(&done);
    for words in ["made for contract 0.1", "nothing was changed", "upgrade --contract 0.2", CHAPTER] {
        assert!(said.contains(words), "{words:?} isn't in: {said}");
    }
    let to = |contract| UpgradeArgs { contract: Some(contract), ..args() };
    let refused = upgrade(&to(Contract::V0_1), folder).expect_err("no template is on it").to_string();
    assert!(refused.contains("projects in Rust are made for contract 0.2, not for 0.1"), "{refused}");
    write_text(folder, "Cargo.toml", "own");
    write_text(folder, "src/lib.rs", "own");
    let moved = upgrade(&to(Contract::V0_2), folder).expect("it is moved");
    assert_eq!((moved.contract, moved.needs_a_hand), ("0.2", true));
    for (path, expected) in [
        ("wit/world.wit", Some(Action::Replaced)),
        ("wit/deps/host/host.wit", Some(Action::Removed)),
        ("sdk/src/host.rs", Some(Action::Removed)),
        ("Cargo.toml", Some(Action::Conflict)),
        ("src/lib.rs", None),
    ] {
        assert_eq!(action(&moved, path), expected, "{path}");
    }
    assert_eq!((text(folder, "Cargo.toml").as_str(), text(folder, "src/lib.rs").as_str()), ("own", "own"));
    assert!(for_people(&moved).contains(&format!("move your own code as {CHAPTER} says")));
    let again = upgrade(&args(), folder).expect("it is on the newer one");
    assert_eq!((again.contract, action(&again, "wit/world.wit")), ("0.2", Some(Action::Unchanged)));
}

#[test]
fn people_see_what_changed_and_what_is_left_to_do() {
    let folder = older(&[("plugin.mk", "then"), ("requirements.txt", "then")]);
    write_text(folder.path(), "requirements.txt", "own");
    let said = for_people(&upgrade(&args(), folder.path()).expect("it is a project"));
    for words in [
        "team-label, an admission handler in Go, from witlet 0.0.1 to ",
        "\nreplaced  plugin.mk\n",
        "\nconflict  requirements.txt: it was changed here; the release's is requirements.txt.new\n",
        " files were this release's already\n",
        "remove them, then `make test`",
    ] {
        assert!(said.contains(words), "{words:?} isn't in: {said}");
    }
    let dry = UpgradeArgs { dry_run: true, ..args() };
    let said = for_people(&upgrade(&dry, folder.path()).expect("it is a project"));
    assert!(said.contains("Nothing was written") && said.contains("next to it already"), "{said}");
}
