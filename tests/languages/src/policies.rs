//! The policies of the examples of contract 0.2: each language that has them has all of them, in few lines of logic.

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
fn logic_is_counted_in_each_language() {
    let python = "import a\n\n\nclass NoRoot(AdmissionHandler):\n    \"\"\"About.\"\"\"\n\n    allow: str\n\n    \
        def validate(self) -> None:\n        pass\n\n    def admit(self) -> Verdict:\n        # Why.\n        a = 1\n\n        \
        return a\n\n    def other(self) -> int:\n        return 1\n\n\ndef outside() -> int:\n    return 2\n";
    assert_eq!(in_python(python), [("noRoot".to_owned(), 3)]);
    let typescript = "// A.\n\nexport const noRoot = policy({\n  validate() {\n    a();\n  },\n  admit(request) {\n    \
        // Why.\n    const a = 1;\n    return a;\n  },\n});\n\nexport const other = 3;\n";
    assert_eq!(in_typescript(typescript), [("noRoot".to_owned(), 2)]);
    let go = "package main\n\nfunc (p noRoot) Validate() error {\n\treturn nil\n}\n\nfunc (p noRoot) Admit(request \
        admission.Request) int {\n\t// Why.\n\tif a {\n\t}\n\treturn a\n}\n\nfunc other() int {\n\treturn 1\n}\n";
    assert_eq!(in_go(go), [("noRoot".to_owned(), 3)]);
}
