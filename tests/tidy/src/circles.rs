//! Files of a crate import each other in one direction only, so that each can be read after those that it stands on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::{check, files, read, relative, root};

/// A file by the names of its modules from the crate's root.
type Module = Vec<String>;

#[test]
fn files_of_a_crate_do_not_import_each_other_in_circles() {
    let mut broken = Vec::new();
    for folder in crates() {
        let name = relative(&folder);
        let circles = circles(&imports(&folder.join("src")));
        let of = circles.iter().map(|circle| circle.iter().cloned().collect::<Vec<_>>().join(" ↔ "));
        broken.extend(of.map(|circle| format!("{name}: {circle}")));
    }
    check("imports go in one direction", &broken);
}

#[test]
fn imports_are_found_in_all_their_forms() {
    let text = "use crate::a::{B, c::{D, self}};\nuse super::e::F;\nfn x() { crate::g::h() }\n// use crate::not::me;\npub(super) fn y() {}\n";
    let found: Vec<String> =
        paths(text, &["m".into(), "n".into()]).iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["a::B", "a::c::D", "a::c::self", "g::h", "m::e::F"]);
}

#[test]
fn a_circle_is_found_however_long_it_is() {
    let of = |edges: &[(&str, &str)]| {
        let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (from, to) in edges {
            graph.entry((*from).into()).or_default().insert((*to).into());
            graph.entry((*to).into()).or_default();
        }
        circles(&graph).len()
    };
    assert_eq!(of(&[("a", "b"), ("b", "c"), ("a", "c")]), 0);
    assert_eq!(of(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]), 1);
    assert_eq!(of(&[("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]), 2);
}

/// The folders of the host's crates.
fn crates() -> Vec<std::path::PathBuf> {
    let manifests = files(&root().join("host"), "toml");
    let folders =
        manifests.iter().filter(|file| file.ends_with("Cargo.toml")).filter_map(|file| file.parent());
    folders.map(Path::to_path_buf).collect()
}

/// Which file imports which, tests aside.
fn imports(src: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut texts: BTreeMap<Module, String> = BTreeMap::new();
    for file in files(src, "rs") {
        let Ok(path) = file.strip_prefix(src) else { continue };
        let module: Module =
            path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if module.iter().any(|part| part == "tests") || module == ["main"] {
            continue;
        }
        let module = if module == ["lib"] { Vec::new() } else { module };
        // What tests within a file call the parent is the file itself.
        let text = read(&file);
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        texts.insert(module, code.to_owned());
    }
    let known: BTreeSet<Module> = texts.keys().cloned().collect();
    let edges = texts.iter().map(|(module, text)| {
        let targets = paths(text, module).into_iter().map(|path| file_of(path, &known));
        let targets = targets.filter(|target| !target.is_empty() && target != module);
        (module.join("/"), targets.map(|target| target.join("/")).collect())
    });
    edges.collect()
}

/// The file that a path leads into.
fn file_of(mut path: Module, known: &BTreeSet<Module>) -> Module {
    while !path.is_empty() && !known.contains(&path) {
        path.pop();
    }
    path
}

/// All paths of the text that begin at the crate, at the parent, or, in an import, at a module of its own.
fn paths(text: &str, module: &[String]) -> Vec<Module> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':') {
            continue;
        }
        let mut rest = &code[at..];
        let mut base: Module = Vec::new();
        if let Some(after) = rest.strip_prefix("crate::") {
            rest = after;
        } else {
            base = module.to_vec();
            while let Some(after) = rest.strip_prefix("super::") {
                base.pop();
                rest = after;
            }
        }
        expand(rest, &base, &mut found);
    }
    for line in code.lines().filter_map(|line| line.strip_prefix("use ")) {
        let first = line.split("::").next().unwrap_or_default();
        if !matches!(first, "crate" | "super" | "std") {
            expand(line, module, &mut found);
        }
    }
    found
}

/// Takes `a::{b, c::d}` apart.
fn expand(text: &str, base: &[String], found: &mut Vec<Module>) {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let mut path = base.to_vec();
    if !name.is_empty() {
        path.push(name.to_owned());
    }
    match rest.strip_prefix("::") {
        Some(rest) if rest.starts_with('{') => {
            for part in parts(rest) {
                expand(part, &path, found);
            }
        }
        Some(rest) if !name.is_empty() => expand(rest, &path, found),
        Some(_) | None => found.push(path),
    }
}

/// What stands between the outermost braces, by commas.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut parts) = (0, 1, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => {
                parts.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            parts.push(text[begin..at].trim());
            break;
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Sets of files each of which leads to all others.
fn circles(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|from| (from, reachable(graph, from))).collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (from, to) in &reach {
        if to.contains(from) && !circles.iter().any(|circle| circle.contains(*from)) {
            let circle = to.iter().filter(|other| reach.get(**other).is_some_and(|back| back.contains(from)));
            circles.push(circle.map(|file| (*file).clone()).collect());
        }
    }
    circles
}

fn reachable<'a>(graph: &'a BTreeMap<String, BTreeSet<String>>, from: &String) -> BTreeSet<&'a String> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&String> = graph.get(from).into_iter().flatten().collect();
    while let Some(file) = next.pop() {
        if seen.insert(file) {
            next.extend(graph.get(file).into_iter().flatten());
        }
    }
    seen
}
