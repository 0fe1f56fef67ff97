//! What of a contract could not grow: `wit/README.md` has the rule, and the reason for each type that is none of it.

use std::collections::BTreeSet;

use wit_parser::{Function, FunctionKind, Handle, Resolve, Type, TypeDefKind, TypeId, TypeOwner, WorldItem};

use super::CHAPTERS;
use crate::{check, files, read, relative, root};

/// Where the types with a fixed structure have their reason, and what the exports are given.
const README: &str = "wit/README.md";

/// The folders of 0.1, which was published before the rule was made.
const BEFORE: [&str; 4] = ["wit/host", "wit/admission", "wit/probe", "wit/pod-source"];

/// The contracts that the rule holds for, drafts among them, each after those that it needs.
fn contracts() -> Resolve {
    let mut resolve = Resolve::default();
    for (folder, _) in CHAPTERS.iter().filter(|(folder, _)| !BEFORE.contains(folder)) {
        for path in files(&root().join(folder), ".wit") {
            let pushed = resolve.push_source(&relative(&path), &read(&path));
            pushed.expect("a contract is WIT and fits to those before");
        }
    }
    resolve
}

/// The first cells of the table whose header begins with these words, without their backticks.
fn rows(text: &str, header: &str) -> BTreeSet<String> {
    let table = text.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    let cells = table.take_while(|line| line.starts_with('|')).filter_map(|line| line.split('|').nth(1));
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// Where a type is, in the interface that has it: `types.datetime`.
fn name_of(resolve: &Resolve, id: TypeId) -> String {
    let ty = &resolve.types[id];
    let interface = match ty.owner {
        TypeOwner::Interface(id) => resolve.interfaces[id].name.clone(),
        TypeOwner::World(_) | TypeOwner::None => None,
    };
    format!("{}.{}", interface.unwrap_or_default(), ty.name.as_deref().unwrap_or_default())
}

/// What of this type has a fixed structure that has no reason.
fn fixed(resolve: &Resolve, ty: &Type, allowed: &BTreeSet<String>) -> Option<String> {
    let Type::Id(id) = ty else {
        return matches!(ty, Type::ErrorContext).then(|| "an error context".to_owned());
    };
    let of = |ty: &Type| fixed(resolve, ty, allowed);
    match &resolve.types[*id].kind {
        TypeDefKind::Resource | TypeDefKind::Handle(_) => None,
        TypeDefKind::Option(ty) | TypeDefKind::List(ty) | TypeDefKind::Type(ty) => of(ty),
        TypeDefKind::Result(result) => {
            let is_error = result.err.is_some_and(|error| is_the_error(resolve, &error));
            let fault = (!is_error).then(|| "a result with another error".to_owned());
            fault.or_else(|| result.ok.as_ref().and_then(of))
        }
        TypeDefKind::Tuple(pair) if pair.types == [Type::String, Type::String] => None,
        TypeDefKind::Record(_) | TypeDefKind::Enum(_) if allowed.contains(&name_of(resolve, *id)) => None,
        kind => Some(format!("the {} {}", kind.as_str(), name_of(resolve, *id))),
    }
}

/// Whether it is the resource of `witlet:host/errors`, as its owner hands it out.
fn is_the_error(resolve: &Resolve, ty: &Type) -> bool {
    let Type::Id(id) = ty else { return false };
    match &resolve.types[*id].kind {
        TypeDefKind::Handle(Handle::Own(id)) => is_the_error(resolve, &Type::Id(*id)),
        TypeDefKind::Type(ty) => is_the_error(resolve, ty),
        TypeDefKind::Resource => name_of(resolve, *id) == "errors.error",
        _ => false,
    }
}

/// What of a function could not grow.
fn function_findings(resolve: &Resolve, function: &Function, allowed: &BTreeSet<String>) -> Vec<String> {
    let is_async = matches!(
        function.kind,
        FunctionKind::AsyncFreestanding | FunctionKind::AsyncMethod(_) | FunctionKind::AsyncStatic(_)
    );
    let types = function.params.iter().map(|param| &param.ty).chain(&function.result);
    let fixed = types.filter_map(|ty| fixed(resolve, ty, allowed));
    fixed.chain(is_async.then(|| "async".to_owned())).collect()
}

/// Whether a function is handed a resource.
fn takes_a_resource(resolve: &Resolve, function: &Function) -> bool {
    function.params.iter().any(|param| {
        let Type::Id(id) = param.ty else { return false };
        matches!(resolve.types[id].kind, TypeDefKind::Handle(_))
    })
}

/// All that is wrong with these packages, and the names that have a row by right.
fn findings(resolve: &Resolve, readme: &str) -> Vec<String> {
    let allowed = rows(readme, "| Type | Why it stays");
    let exported = rows(readme, "| Function | What stands next");
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for (_, interface) in resolve.interfaces.iter() {
        let interface_name = interface.name.as_deref().unwrap_or_default();
        for (name, id) in &interface.types {
            let kind = &resolve.types[*id].kind;
            if matches!(kind, TypeDefKind::Resource | TypeDefKind::Type(_)) {
                continue;
            }
            let name = format!("{interface_name}.{name}");
            if !allowed.contains(&name) {
                findings.push(format!("{name} can't grow: {}", kind.as_str()));
            }
            seen.insert(name);
        }
        for function in interface.functions.values() {
            let wrong = function_findings(resolve, function, &allowed);
            let of = |what| format!("{interface_name}: {} has {what}", function.name);
            findings.extend(wrong.into_iter().map(of));
        }
    }
    let exports = resolve.worlds.iter().flat_map(|(_, world)| world.exports.values());
    for item in exports {
        let WorldItem::Interface { id, .. } = item else { continue };
        let interface = &resolve.interfaces[*id];
        for function in interface.functions.values() {
            let name = format!("{}.{}", interface.name.as_deref().unwrap_or_default(), function.name);
            if !takes_a_resource(resolve, function) {
                findings.push(format!("{name} takes no resource, so that it can learn nothing more"));
            }
            if !exported.contains(&name) {
                findings.push(format!("{name} has no row in {README}"));
            }
            seen.insert(name);
        }
    }
    let gone = allowed.iter().chain(&exported).filter(|name| !seen.contains(*name));
    findings.extend(gone.map(|name| format!("{README} has a row for {name}, which isn't there")));
    findings
}

#[test]
fn contracts_can_grow() {
    let resolve = contracts();
    assert!(resolve.interfaces.iter().count() >= 14, "the contracts are read");
    check(
        "what a contract can't change once it is published has its reason",
        &findings(&resolve, &read(&root().join(README))),
    );
}

/// The names that several interfaces have.
fn shared_names(resolve: &Resolve) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let names = resolve.interfaces.iter().filter_map(|(_, interface)| interface.name.as_deref());
    let twice = names.filter(|name| !seen.insert(*name));
    twice.map(|name| format!("two interfaces have the name {name}")).collect()
}

#[test]
fn no_two_interfaces_have_the_same_name() {
    check("an interface has a name of its own, whatever its package", &shared_names(&contracts()));
    let mut resolve = Resolve::default();
    for package in ["one", "two"] {
        let words =
            format!("package tests:{package}; interface types {{ f: func(); }} interface {package} {{}}");
        resolve.push_source("names.wit", &words).expect("it is WIT");
    }
    assert_eq!(shared_names(&resolve), ["two interfaces have the name types"]);
}

/// The functions and types of a contract that say nothing of themselves.
fn silent(resolve: &Resolve) -> Vec<String> {
    let is_said =
        |docs: &wit_parser::Docs| docs.contents.as_ref().is_some_and(|words| !words.trim().is_empty());
    let mut findings = Vec::new();
    for (_, interface) in resolve.interfaces.iter() {
        let owner = interface.name.as_deref().unwrap_or_default();
        let types = interface.types.iter().map(|(name, id)| (name, &resolve.types[*id]));
        // What an interface takes over from another one is said there.
        let own = types.filter(|(_, ty)| !matches!(ty.kind, TypeDefKind::Type(_)));
        let types = own.map(|(name, ty)| (name, &ty.docs));
        let functions = interface.functions.values().map(|function| (&function.name, &function.docs));
        let silent = types.chain(functions).filter(|(_, docs)| !is_said(docs));
        findings.extend(silent.map(|(name, _)| format!("{owner}: {name} has no comment")));
    }
    findings
}

#[test]
fn every_function_of_a_contract_says_what_it_does() {
    check("the contracts explain all that they have", &silent(&contracts()));
    let mut resolve = Resolve::default();
    let words = "package tests:silent; interface i { /// It does.\n f: func(); g: func(); resource r { h: func(); } }";
    resolve.push_source("silent.wit", words).expect("it is WIT");
    let found = ["i: r has no comment", "i: g has no comment", "i: [method]r.h has no comment"];
    assert_eq!(silent(&resolve), found);
}

#[test]
fn what_can_not_grow_is_found() {
    const ERRORS: &str = "package witlet:host@0.3.0-draft.1;\ninterface errors { resource error; }\n";
    const README: &str = "| Type | Why it stays as it is |\n|---|---|\n| `i.fine` | it is |\n\n\
        | Function | What stands next |\n|---|---|\n| `i.run` | nothing |\n";
    let of = |words: &str, exported: &str| {
        let mut resolve = Resolve::default();
        resolve.push_source("errors.wit", ERRORS).expect("it is WIT");
        let package = format!(
            "package tests:growth;\n interface i {{ use witlet:host/errors@0.3.0-draft.1.{{error}};
            resource it; record fine {{ a: u8 }} {words} }}
            interface e {{ use i.{{it}}; {exported} }} world w {{ export e; }}"
        );
        resolve.push_source("growth.wit", &package).expect("it is WIT");
        let readme = README.replace("i.run", "e.run");
        findings(&resolve, &readme)
    };
    let run = "run: func(it: borrow<it>);";
    let good = "f: func(a: option<list<tuple<string, string>>>) -> result<fine, error>;";
    assert_eq!(of(good, run), [""; 0]);
    for (words, finding) in [
        ("record r { a: u8 }", "i.r can't grow: record"),
        ("variant v { a }", "i.v can't grow: variant"),
        ("enum n { a }", "i.n can't grow: enum"),
        ("flags l { a }", "i.l can't grow: flags"),
        ("f: func() -> result<_, string>;", "i: f has a result with another error"),
        ("f: func() -> list<tuple<string, u8>>;", "i: f has the tuple ."),
        ("f: func(a: stream<u8>);", "i: f has the stream ."),
        ("f: async func();", "i: f has async"),
    ] {
        assert_eq!(of(words, run), [finding], "{words}");
    }
    let (bare, other) =
        ("run: func(text: string);", "run: func(it: borrow<it>); more: func(it: borrow<it>);");
    assert_eq!(of("", bare), ["e.run takes no resource, so that it can learn nothing more"]);
    assert_eq!(of("", other), ["e.more has no row in wit/README.md"]);
    assert_eq!(of("", "").len(), 1, "a row for what isn't there");
}
