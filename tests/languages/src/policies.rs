//! The examples of contract 0.2: each language that has the policies has all of them, in few lines of logic, and the book says how many lines examples have.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::repository;

/// How many lines of logic a policy may have.
const LINES_MAX: usize = 10;
/// How many policies there are at least.
const POLICIES_MIN: usize = 30;
/// What a case says that is about a policy that isn't there.
const NO_POLICY: &str = "noSuchPolicy";

/// How many lines of logic each policy of a source has.
type Count = fn(&str) -> Vec<(String, usize)>;

/// In Python: what stands in the class's methods, but for `validate`.
fn in_python(source: &str) -> Vec<(String, usize)> {
    let policies = source.split("\nclass ").skip(1).filter_map(|part| {
        let (name, rest) = part.split_once("(AdmissionHandler):")?;
        let methods = rest.split("\n\n\n").next()?.split("\n    def ").skip(1);
        let logic = methods.filter(|method| !method.starts_with("validate("));
        let lines = logic.flat_map(|method| method.lines().skip(1)).filter(|line| is_logic(line)).count();
        let (first, others) = name.split_at_checked(1)?;
        Some((first.to_lowercase() + others, lines))
    });
    policies.collect()
}

/// In TypeScript: what stands in `admit`.
fn in_typescript(source: &str) -> Vec<(String, usize)> {
    let policies = source.split("\nexport const ").skip(1).filter_map(|part| {
        let (name, rest) = part.split_once(" = policy({")?;
        let admit = rest.split("\n});").next()?.split("\n  admit(").nth(1)?;
        let lines = admit.lines().skip(1).take_while(|line| *line != "  },");
        Some((name.to_owned(), lines.filter(|line| is_logic(line)).count()))
    });
    policies.collect()
}

/// In Go: what stands in the type's `Admit`.
fn in_go(source: &str) -> Vec<(String, usize)> {
    let policies = source.split("\nfunc (").skip(1).filter_map(|part| {
        let (receiver, rest) = part.split_once(") Admit(request")?;
        let lines = rest.lines().skip(1).take_while(|line| *line != "}");
        let name = receiver.split_whitespace().next_back()?;
        Some((name.to_owned(), lines.filter(|line| is_logic(line)).count()))
    });
    policies.collect()
}

fn is_logic(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !["#", "//", "\"\"\""].iter().any(|comment| line.starts_with(comment))
}

/// Lines of logic by policy, of all sources of a folder.
fn policies(folder: &Path, ending: &str, count: Count) -> BTreeMap<String, usize> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let sources = paths.filter(|path| path.extension().is_some_and(|it| it == ending));
    sources.flat_map(|path| count(&fs::read_to_string(path).expect("it is text"))).collect()
}

/// The policies that the shared cases name.
fn named_by_cases() -> BTreeSet<String> {
    let path = repository().join("examples/plugins/cases/policies.yaml");
    let file: Value =
        serde_saphyr::from_str(&fs::read_to_string(path).expect("it is text")).expect("it is YAML");
    let cases = file["cases"].as_array().expect("it has cases").iter();
    let names = cases.filter_map(|case| case["config"]["policy"].as_str()).filter(|name| *name != NO_POLICY);
    names.map(str::to_owned).collect()
}

#[test]
fn the_policies_have_few_lines_of_logic_in_every_language() {
    let examples = repository().join("examples/plugins");
    let languages: [(&str, &str, Count); 3] = [
        ("python/policies", "py", in_python),
        ("javascript/policies/src", "ts", in_typescript),
        ("go/policies", "go", in_go),
    ];
    let named = named_by_cases();
    let mut all: Option<BTreeSet<String>> = None;
    for (folder, ending, count) in languages {
        let policies = policies(&examples.join(folder), ending, count);
        for (name, lines) in &policies {
            assert!((1..=LINES_MAX).contains(lines), "{folder}: {name} has {lines} lines of logic");
        }
        let names: BTreeSet<String> = policies.into_keys().collect();
        assert!(names.len() >= POLICIES_MIN, "{folder} has {} policies", names.len());
        let missing: Vec<&String> = named.difference(&names).collect();
        assert!(missing.is_empty(), "{folder} lacks policies that cases name: {missing:?}");
        assert_eq!(all.get_or_insert_with(|| names.clone()), &names, "{folder} has other policies");
    }
}

#[test]
fn the_book_has_the_lines_of_the_common_policies() {
    let book =
        fs::read_to_string(repository().join("docs/src/authors/admission-0.2.md")).expect("it is text");
    let rows = book.lines().skip_while(|line| !line.starts_with("| Policy | 0.2, Rust | 0.2, Python |"));
    let of_book: Vec<(String, usize)> = rows
        .skip(2)
        .map_while(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            Some((
                cells.first()?.strip_prefix('`')?.strip_suffix('`')?.to_owned(),
                cells.get(2)?.parse().ok()?,
            ))
        })
        .collect();
    assert!(of_book.len() >= LINES_MAX, "{of_book:?}");
    let counted = policies(&repository().join("examples/plugins/python/policies"), "py", in_python);
    for (name, lines) in of_book {
        assert_eq!(counted.get(&name), Some(&lines), "{name}");
    }
}

/// Lines of a plugin in a language that are code: neither empty nor comments, and no tests.
fn lines_of_code(folder: &Path, ending: &str) -> usize {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let is_code = |path: &Path| {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        path.extension().is_some_and(|it| it == ending) && !name.ends_with("test") && name != "tests"
    };
    let sources =
        paths.filter(|path| is_code(path)).map(|path| fs::read_to_string(path).expect("it is text"));
    sources.map(|source| code_lines(&source)).sum()
}

fn code_lines(source: &str) -> usize {
    let mut closing: Option<&str> = None;
    let mut count = 0;
    for line in source.lines().map(str::trim) {
        if let Some(end) = closing {
            closing = Some(end).filter(|end| !line.ends_with(*end));
            continue;
        }
        for (begin, end) in [("\"\"\"", "\"\"\""), ("/*", "*/")] {
            let is_open = line.strip_prefix(begin).is_some_and(|rest| !rest.ends_with(end));
            closing = closing.or(is_open.then_some(end));
        }
        let is_comment =
            ["//", "/*", "*", "# ", "#[", "#!", "\"\"\""].iter().any(|begin| line.starts_with(begin));
        count += usize::from(!line.is_empty() && !is_comment);
    }
    count
}

#[test]
fn the_book_has_the_lines_of_probe_types_and_sources_of_both_contracts() {
    let languages =
        [("rust", "src", "rs"), ("python", ".", "py"), ("javascript", "src", ""), ("go", ".", "go")];
    for (chapter, plugins) in [
        ("probe-0.2.md", ["redis-probe", "redis-ping"]),
        ("pod-source-0.2.md", ["folder-source", "pod-folder"]),
    ] {
        let book =
            fs::read_to_string(repository().join("docs/src/authors").join(chapter)).expect("it is text");
        for (plugin, script) in plugins.into_iter().zip(["js", "ts"]) {
            let counted: Vec<String> = languages
                .iter()
                .map(|(language, folder, ending)| {
                    let folder =
                        repository().join("examples/plugins").join(language).join(plugin).join(folder);
                    lines_of_code(&folder, if ending.is_empty() { script } else { ending }).to_string()
                })
                .collect();
            let row = format!("`{plugin}` | {} |", counted.join(" | "));
            assert!(book.contains(&row), "{chapter} has no row that ends with {row}");
        }
    }
}

#[test]
fn logic_is_counted_in_each_language() {
    let python = "import a\n\n\nclass NoRoot(AdmissionHandler):\n    \"\"\"About.\"\"\"\n\n    allow: str\n\n    \
        def validate(self) -> None:\n        pass\n\n    def admit(self) -> Verdict:\n        # Why.\n        a = 1\n\n        \
        return a\n\n    def other(self) -> int:\n        return 1\n\n\ndef outside() -> int:\n    return 2\n";
    assert_eq!(in_python(python), [("noRoot".to_owned(), 3)]);
    assert_eq!(code_lines(python), 12);
    assert_eq!(code_lines("/* A\n b */\n#[a]\n\nfn a() {\n    // b\n    /* c */\n}\n"), 2);
    let typescript = "// A.\n\nexport const noRoot = policy({\n  validate() {\n    a();\n  },\n  admit(request) {\n    \
        // Why.\n    const a = 1;\n    return a;\n  },\n});\n\nexport const other = 3;\n";
    assert_eq!(in_typescript(typescript), [("noRoot".to_owned(), 2)]);
    let go = "package main\n\nfunc (p noRoot) Validate() error {\n\treturn nil\n}\n\nfunc (p noRoot) Admit(request \
        admission.Request) int {\n\t// Why.\n\tif a {\n\t}\n\treturn a\n}\n\nfunc other() int {\n\treturn 1\n}\n";
    assert_eq!(in_go(go), [("noRoot".to_owned(), 3)]);
}
