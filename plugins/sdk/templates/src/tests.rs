//! Names, what a project has, and that every template keeps the contract of projects.

mod makefiles;

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::{Contract, File, Language, Name, NameError, Owner, RenderError, Role, owner, render};

/// What every project has, whatever its language and role.
const CONTRACT: &[&str] = &[
    ".github/workflows/plugin.yml",
    ".gitignore",
    "Makefile",
    "README.md",
    "cases.yaml",
    "plugin.yaml",
    "plugins.yaml",
    "wit/world.wit",
];

/// The packages of a track.
const PACKAGES: [&str; 4] = ["admission", "host", "pod-source", "probe"];

fn name() -> Name {
    Name::parse("my-plugin").expect("a name")
}

fn all() -> impl Iterator<Item = (Language, Role)> {
    Language::ALL.into_iter().flat_map(|language| Role::ALL.into_iter().map(move |role| (language, role)))
}

fn project(language: Language, role: Role) -> Vec<File> {
    render(language, role, &name()).expect("no language reserves this name")
}

fn text<'a>(files: &'a [File], path: &str) -> &'a str {
    let file = files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("there is no {path}"));
    std::str::from_utf8(&file.contents).unwrap_or_else(|_| panic!("{path} is no text"))
}

#[test]
fn a_project_has_the_contracts_and_nothing_about_their_making() {
    for (language, role) in all() {
        let files = project(language, role);
        let others =
            files.iter().filter(|file| file.path.starts_with("wit/deps/") && !file.path.ends_with(".wit"));
        assert_eq!(others.map(|file| file.path.as_str()).collect::<Vec<_>>(), [""; 0], "{language} {role}");
    }
}

#[test]
fn a_name_is_a_label_of_dns() {
    for good in ["a", "a1", "my-plugin", "a--b", &"a".repeat(63)] {
        assert_eq!(Name::parse(good).map(|name| name.to_string()), Ok(good.to_owned()));
    }
    let character = |name: &str, found| NameError::Character { name: name.to_owned(), found };
    let cases = [
        ("", NameError::Empty),
        ("1a", NameError::Start { name: "1a".to_owned() }),
        ("-a", NameError::Start { name: "-a".to_owned() }),
        ("a-", NameError::End { name: "a-".to_owned() }),
        ("A", character("A", 'A')),
        ("a_b", character("a_b", '_')),
        ("../a", character("../a", '.')),
        ("a b", character("a b", ' ')),
        ("ä", character("ä", 'ä')),
    ];
    for (bad, why) in cases {
        assert_eq!(Name::parse(bad), Err(why), "{bad:?}");
    }
    assert_eq!(Name::parse(&"a".repeat(64)), Err(NameError::TooLong { length: 64 }));
}

#[test]
fn a_name_is_written_as_languages_write_names() {
    for (given, snake, camel) in [
        ("my-plugin", "my_plugin", "MyPlugin"),
        ("a", "a", "A"),
        ("a--b", "a__b", "AB"),
        ("x-1y", "x_1y", "X1y"),
    ] {
        let name = Name::parse(given).expect("a name");
        assert_eq!((name.snake().as_str(), name.camel().as_str()), (snake, camel));
    }
}

#[test]
fn a_name_that_rust_has_another_use_for_is_refused_for_rust_alone() {
    for reserved in ["test", "serde-json", "fn"] {
        let name = Name::parse(reserved).expect("a name");
        let refused = RenderError::Reserved { name: reserved.to_owned(), language: Language::Rust };
        assert_eq!(render(Language::Rust, Role::Probe, &name), Err(refused));
        assert!(render(Language::C, Role::Probe, &name).is_ok());
    }
}

#[test]
fn a_name_that_would_be_a_type_of_the_rust_template_is_refused_for_that_role_alone() {
    for (word, role, other) in [
        ("setup", Role::Admission, Role::Probe),
        ("request", Role::Admission, Role::PodSource),
        ("tcp-stream", Role::Probe, Role::Admission),
        ("poll", Role::PodSource, Role::Admission),
    ] {
        let name = Name::parse(word).expect("a name");
        let refused = RenderError::Reserved { name: word.to_owned(), language: Language::Rust };
        assert_eq!(render(Language::Rust, role, &name), Err(refused), "{word}");
        assert!(render(Language::C, role, &name).is_ok(), "{word}");
        let said = text(&project(Language::Rust, other), "src/lib.rs").contains(&name.camel());
        assert_eq!(render(Language::Rust, other, &name).is_err(), said, "{word} for {other}");
    }
    for free in ["camel", "team-label", "the"] {
        let name = Name::parse(free).expect("a name");
        assert!(Role::ALL.iter().all(|role| render(Language::Rust, *role, &name).is_ok()), "{free}");
    }
}

#[test]
fn languages_and_roles_are_found_by_their_names() {
    for language in Language::ALL {
        assert_eq!(Language::parse(language.as_str()), Some(language));
    }
    assert_eq!(Language::parse("typescript"), Some(Language::JavaScript));
    assert_eq!(Language::parse("c++"), Some(Language::Cpp));
    for role in Role::ALL {
        assert_eq!(Role::parse(role.as_str()), Some(role));
    }
    assert_eq!((Language::parse("Rust"), Role::parse("podSource")), (None, None));
}

#[test]
fn every_project_keeps_the_contract_of_projects() {
    let mut missing = Vec::new();
    for (language, role) in all() {
        let files = project(language, role);
        let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths.len(), files.len(), "{language} {role}: a path stands once");
        let suffix = language.contract().folder_suffix();
        let packages = PACKAGES.map(|package| format!("wit/deps/{package}{suffix}/{package}.wit"));
        let expected = CONTRACT.iter().copied().chain(packages.iter().map(String::as_str));
        missing.extend(
            expected.filter(|path| !paths.contains(path)).map(|path| format!("{language} {role}: {path}")),
        );
        let contracts = paths.iter().filter(|path| path.starts_with("wit/deps/")).count();
        assert_eq!(contracts, PACKAGES.len(), "{language} {role}: the contracts of one track alone");
    }
    assert!(missing.is_empty(), "projects lack:\n  {}", missing.join("\n  "));
}

#[test]
fn every_makefile_has_the_contracts_targets_and_variables() {
    for (language, role) in all() {
        let files = project(language, role);
        assert!(text(&files, "Makefile").contains("my-plugin"), "{language} {role}");
        let made = files.iter().filter(|file| file.path == "Makefile" || file.path.ends_with(".mk"));
        let made: String = made.map(|file| String::from_utf8_lossy(&file.contents)).collect();
        for words in ["build:", "test:", "watch:", "clean:", "tools:", "WITLET ?= witlet"] {
            assert!(made.contains(words), "{language} {role}: the Makefile has no {words}");
        }
    }
}

#[test]
fn what_a_project_is_about_is_its_authors_and_how_it_is_built_the_templates() {
    let authors = [
        "README.md",
        "app.py",
        "cases.yaml",
        "main.go",
        "main_test.go",
        "plugin.yaml",
        "plugins.yaml",
        "src/",
        "test/",
        "tests/",
    ];
    for (language, role) in all() {
        for File { path, .. } in project(language, role) {
            let is_authors =
                authors.iter().any(|part| path == *part || part.ends_with('/') && path.starts_with(part));
            let is_sdks = path.starts_with("src/sdk/");
            let expected = if is_authors && !is_sdks { Owner::Author } else { Owner::Template };
            assert_eq!(owner(&path), expected, "{language} {role}: {path}");
        }
    }
    assert_eq!(owner("policies/sdk/own.rs"), Owner::Author, "folders are those at the top");
}

#[test]
fn nothing_of_a_template_is_generated() {
    for (language, role) in all() {
        for File { path, contents, .. } in project(language, role) {
            assert!(!contents.contains(&0), "{language} {role}: {path} isn't text");
            let made = path.split('/').any(|part| part == "bindings" || part == "types");
            assert!(!made || path.starts_with("sdk/"), "{language} {role}: `make` makes {path}");
        }
    }
}

#[test]
fn no_placeholder_and_no_name_of_this_repository_is_left() {
    for (language, role) in all() {
        for File { path, contents, .. } in project(language, role) {
            assert!(!path.contains("{{") && !path.contains(".."), "{language} {role}: {path}");
            assert!(!path.split('/').any(|part| part.starts_with('_') && part.contains("git")), "{path}");
            if path.starts_with("sdk/") {
                continue;
            }
            let text = String::from_utf8_lossy(&contents);
            for left in ["{{name}}", "{{snake}}", "{{Camel}}", "{{version}}", "../../wit", "../../../wit"] {
                assert!(!text.contains(left), "{language} {role}: {path} has {left}");
            }
        }
    }
}

#[test]
fn scripts_are_programs_and_nothing_else_is() {
    for (language, role) in all() {
        for file in project(language, role) {
            assert_eq!(file.executable, file.contents.starts_with(b"#!"), "{language} {role}: {}", file.path);
        }
    }
}

#[test]
fn the_world_of_a_project_is_that_of_its_role() {
    for (language, role) in all() {
        let files = project(language, role);
        let world = text(&files, "wit/world.wit");
        let included = format!("include witlet:{role}/");
        let version = format!("@{};", language.contract().version());
        assert!(
            world.contains("package local:plugin;") && world.contains(&included),
            "{language} {role}: {world}"
        );
        assert!(world.contains(&version), "{language} {role}: {world}");
    }
    assert_eq!(Role::Probe.world_of(Contract::V0_2), "witlet:probe/probe-type@0.2.0");
    assert_eq!(Contract::ALL.map(|contract| Contract::parse(contract.as_str())), Contract::ALL.map(Some));
    assert_eq!(Contract::parse("0.2.0"), None);
}

#[test]
fn the_contracts_of_a_project_resolve_to_its_world() {
    for (language, role) in all() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for file in project(language, role).iter().filter(|file| file.path.starts_with("wit/")) {
            let path = folder.path().join(&file.path);
            std::fs::create_dir_all(path.parent().expect("it is below a folder"))
                .expect("a temporary folder");
            std::fs::write(path, &file.contents).expect("a temporary folder");
        }
        let mut resolve = wit_parser::Resolve::default();
        let (package, _) = resolve
            .push_dir(folder.path().join("wit"))
            .unwrap_or_else(|error| panic!("{language} {role}: {error:#}"));
        let world = resolve
            .select_world(&[package], Some("plugin"))
            .unwrap_or_else(|error| panic!("{language} {role}: {error:#}"));
        let exports = resolve.worlds[world].exports.keys().map(|key| resolve.name_world_key(key));
        let role_package = format!("witlet:{role}/");
        assert!(exports.into_iter().any(|name| name.starts_with(&role_package)), "{language} {role}");
    }
}

#[test]
fn the_sdk_of_a_project_needs_nothing_of_this_workspace() {
    let files = project(Language::Rust, Role::Admission);
    let manifest: toml::Table = text(&files, "sdk/Cargo.toml").parse().expect("TOML");
    fn inherited(value: &toml::Value) -> bool {
        match value {
            toml::Value::Table(table) => table.contains_key("workspace") || table.values().any(inherited),
            toml::Value::Array(list) => list.iter().any(inherited),
            toml::Value::String(_)
            | toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_) => false,
        }
    }
    assert!(!inherited(&toml::Value::Table(manifest.clone())), "{manifest:?}");
    assert_eq!(manifest["package"]["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
    let dependencies = manifest["dependencies"].as_table().expect("a table");
    for (name, it) in dependencies {
        let path = it.get("path").and_then(toml::Value::as_str);
        let is_in_project =
            path.is_some_and(|path| files.iter().any(|file| file.path == format!("sdk/{path}/Cargo.toml")));
        assert!(is_in_project || it.get("version").is_some() || it.is_str(), "{name}: {it:?}");
    }
    assert!(files.iter().any(|file| file.path == "sdk/src/lib.rs"));
    for file in files.iter().filter(|file| file.path.starts_with("sdk/")) {
        assert!(!String::from_utf8_lossy(&file.contents).contains("../../wit"), "{}", file.path);
    }
}

#[test]
fn a_go_project_needs_no_modules_but_the_sdks_in_it() {
    // What a module requires, and where it is found: lines of `require` and `replace`, in parentheses or not.
    let words = |module: &str, directive: &str| -> Vec<String> {
        let mut open = false;
        let lines = module.lines().filter_map(|line| {
            let own = line.strip_prefix(directive).map(str::trim);
            let line = if open { Some(line.trim()) } else { own };
            open = (open || own == Some("(")) && line != Some(")");
            line.filter(|line| !matches!(*line, "(" | ")"))
        });
        lines.map(str::to_owned).collect()
    };
    for role in Role::ALL {
        let files = project(Language::Go, role);
        let (own, common, sdk) =
            (text(&files, "go.mod"), text(&files, "sdk/go.mod"), text(&files, "sdk-0.2/go.mod"));
        assert_eq!(words(own, "require"), ["witlet.dev/plugin v0.0.0", "witlet.dev/plugin/v0_2 v0.0.0"]);
        let replaced = ["witlet.dev/plugin => ./sdk", "witlet.dev/plugin/v0_2 => ./sdk-0.2"];
        assert_eq!(words(own, "replace"), replaced, "{role}");
        assert!(own.contains("/my-plugin"), "{role}");
        assert!(common.contains("module witlet.dev/plugin\n") && words(common, "require").is_empty());
        assert!(sdk.contains("module witlet.dev/plugin/v0_2\n"), "{role}: {sdk}");
        assert_eq!(words(sdk, "require"), ["witlet.dev/plugin v0.0.0"], "{role}");
        let package = if role == Role::PodSource { "podsource" } else { role.as_str() };
        assert!(text(&files, "main.go").contains(&format!("{package}.Export")), "{role}");
        assert!(files.iter().any(|file| file.path.starts_with(&format!("sdk-0.2/{package}/"))), "{role}");
    }
}

#[test]
fn c_and_cpp_projects_have_the_headers_that_they_include() {
    for (language, ending) in [(Language::C, "c"), (Language::Cpp, "cpp")] {
        for role in Role::ALL {
            let files = project(language, role);
            let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
            for expected in [format!("src/plugin.{ending}"), format!("tests/plugin_test.{ending}")] {
                assert!(paths.contains(expected.as_str()), "{language} {role}: {expected}");
            }
            let is_source = |path: &str| [".c", ".h", ".cpp", ".hpp"].iter().any(|end| path.ends_with(end));
            for source in files.iter().filter(|file| is_source(&file.path)) {
                let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                for line in text(&files, &source.path).lines() {
                    let named = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"'));
                    let Some(named) = named else { continue };
                    // wit-bindgen makes it.
                    let is_there = named == "plugin.h"
                        || included_from(folder, named).any(|path| paths.contains(path.as_str()));
                    assert!(is_there, "{language} {role}: {} includes {named}", source.path);
                }
            }
        }
    }
}

/// Where a file that one in this folder includes may be: next to it, or in a folder that compilers of projects inspect.
fn included_from(folder: &str, named: &str) -> impl Iterator<Item = String> {
    let mut own = folder;
    let mut rest = named;
    while let Some(above) = rest.strip_prefix("../") {
        rest = above;
        own = own.rsplit_once('/').map_or("", |(above, _)| above);
    }
    let own = format!("{own}/{rest}");
    let searched = ["lib", "sdk", "sdk/testing", "sdk/testing/c", "src", "tests", "wasi"];
    let others = searched.map(|folder| format!("{folder}/{named}"));
    std::iter::once(own).chain(others)
}

#[test]
fn c_and_cpp_pin_the_same_tools_for_they_share_them() {
    let pinned = |language, path| -> Vec<String> {
        let files = project(language, Role::Admission);
        let lines = text(&files, path).lines().filter(|line| line.contains("_VERSION := "));
        lines.map(str::to_owned).collect()
    };
    let of_c = pinned(Language::C, "lib/plugin.mk");
    assert_eq!((of_c.len(), &pinned(Language::Cpp, "plugin.mk")), (4, &of_c));
}

#[test]
fn a_python_project_has_the_modules_that_it_imports_and_not_their_tests() {
    for role in Role::ALL {
        let files = project(Language::Python, role);
        let module = format!("witlet_{}", if role == Role::PodSource { "source" } else { role.as_str() });
        assert!(text(&files, "app.py").contains(&format!("\nfrom {module} import ")), "{role}");
        let sdk: Vec<&str> =
            files.iter().map(|file| file.path.as_str()).filter(|path| path.starts_with("sdk/")).collect();
        for path in ["sdk/witlet.py", "sdk/witlet_facts/__init__.py", &format!("sdk/{module}.py")] {
            assert!(sdk.contains(&path), "{role}: {sdk:?}");
        }
        assert!(!sdk.iter().any(|path| path.contains("test")), "{role}: {sdk:?}");
    }
}

#[test]
fn a_javascript_project_is_typescript_whose_imports_are_there() {
    for role in Role::ALL {
        let files = project(Language::JavaScript, role);
        assert!(files.iter().all(|file| !file.path.ends_with(".js")), "{role}: plain JavaScript");
        let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert!(paths.contains("src/plugin.ts"), "{role}: the Makefile builds dist/src/plugin.js");
        let others = Role::ALL.into_iter().filter(|other| paths.contains(module_of(*other)));
        assert_eq!(others.collect::<Vec<_>>(), [role], "the SDK of its role alone");
        assert!(paths.iter().any(|path| path.starts_with("test/") && path.ends_with(".test.ts")), "{role}");
        for source in files.iter().filter(|file| file.path.ends_with(".ts")) {
            let imports = text(&files, &source.path).lines().filter_map(|line| line.split_once(" from '."));
            for (_, module) in imports {
                let file = resolved(&source.path, module.trim_end_matches("';"));
                assert!(paths.contains(file.as_str()), "{role}: {} imports {file}", source.path);
            }
        }
    }
}

/// The module of a role in TypeScript's SDKs.
fn module_of(role: Role) -> &'static str {
    match role {
        Role::Admission => "src/sdk/witlet-admission.ts",
        Role::Probe => "src/sdk/witlet-probe.ts",
        Role::PodSource => "src/sdk/witlet-source.ts",
    }
}

/// What a source imports by a path whose first point was cut off: `/policy.ts`, `./src/policy.ts`.
fn resolved(source: &str, module: &str) -> String {
    let mut folder: Vec<&str> = source.split('/').collect();
    folder.pop();
    let below = match module.strip_prefix("./") {
        Some(below) => {
            folder.pop();
            below
        }
        None => module.trim_start_matches('/'),
    };
    folder.push(below);
    folder.join("/")
}

#[test]
fn no_dependency_of_a_rust_project_can_be_its_name() {
    for role in Role::ALL {
        let files = project(Language::Rust, role);
        let manifest: toml::Table = text(&files, "Cargo.toml").parse().expect("TOML");
        let dependencies = manifest["dependencies"].as_table().expect("a table");
        for name in dependencies.keys() {
            let name = Name::parse(&name.replace('_', "-")).expect("a crate's name");
            assert!(render(Language::Rust, role, &name).is_err(), "{name} is a dependency");
        }
    }
}

proptest! {
    #[test]
    fn any_name_makes_the_same_project_with_another_name(name in "[a-z]([-a-z0-9]{0,20}[a-z0-9])?") {
        let name = Name::parse(&name).expect("the pattern of names");
        for (language, role) in all() {
            let Ok(files) = render(language, role, &name) else { continue };
            prop_assert_eq!(files.len(), project(language, role).len());
            prop_assert_eq!(render(language, role, &name), Ok(files));
        }
    }
}
