//! Every component that ships, and each example that no other suite tries, passes the conformance kit with its cases.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libtest_mimic::{Failed, Trial};
use serde_json::json;
use tokio::runtime::Runtime;
use witlet_conformance::cases::{self, CaseFile};
use witlet_conformance::{CheckResult, Finding, Kit, Layer, Plan, Silent, Subject};
use witlet_plugins::{ADMISSION, Builtin, PROBES, SHIPPED};
use witlet_wasm::manifest::Manifest;
use witlet_wasm::role::Role;

/// How many inputs each property is tried with: many runs a day see many seeds' worth elsewhere.
const PROPERTY_CASES: u32 = 16;

/// One for all: the engines are the dearest.
static KIT: LazyLock<(Runtime, Kit)> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("threads can be had");
    let kit = {
        let _inside = runtime.enter();
        Kit::start(crate::node::compiler(crate::node::cache())).expect("engines can be had")
    };
    (runtime, kit)
});

pub(crate) fn trials() -> Vec<Trial> {
    let of = |builtin: &'static Builtin, project: PathBuf, cases: PathBuf| {
        Trial::test(format!("{} passes the kit", builtin.name), move || passes(builtin, &project, &cases))
    };
    let shipped = ADMISSION.iter().chain(PROBES).chain(SHIPPED);
    let shipped = shipped.map(|builtin| of(builtin, folder(builtin), folder(builtin).join("cases.yaml")));
    let examples = EXAMPLES.iter().map(|(example, cases)| {
        of(example, examples_folder().join("rust").join(example.name), examples_folder().join(cases))
    });
    let mut trials: Vec<Trial> = shipped.chain(examples).collect();
    trials.push(Trial::test("without_cases_and_configuration_it_says_the_way_out", without_configuration));
    trials.push(Trial::test("without_cases_all_that_can_be_done_is_done", without_cases));
    trials.push(Trial::test("what_is_no_component_is_reported_in_one_sentence", no_component));
    trials.push(Trial::test("cases_of_a_role_that_it_lacks_are_reported", other_role));
    trials.push(Trial::test("a_component_that_lacks_a_grant_says_which", lacks_a_grant));
    trials.push(Trial::test("targets_are_not_tried_without_parameters_that_it_takes", without_parameters));
    trials.push(Trial::test("each_check_of_loading_finds_what_it_is_for", loading));
    trials.push(Trial::test("each_vector_of_the_kit_finds_what_it_is_for", vectors));
    trials
        .push(Trial::test("each_function_of_contract_0_2_gives_and_takes_what_the_cases_say", each_function));
    trials
}

/// Examples in Rust with their cases, below the examples' folder. `tests/languages` tries those that every language has.
const EXAMPLES: [(Builtin, &str); 6] = [
    (Builtin { name: "pod-folder", component: witlet_test_guests::POD_FOLDER }, "cases/folder-source.yaml"),
    (Builtin { name: "policies", component: witlet_test_guests::POLICIES }, "cases/policies.yaml"),
    (
        Builtin { name: "postgres-ready", component: witlet_test_guests::POSTGRES_READY },
        "rust/postgres-ready/cases.yaml",
    ),
    (Builtin { name: "redis-ping", component: witlet_test_guests::REDIS_PING }, "cases/redis-ping.yaml"),
    (
        Builtin { name: "time-window", component: witlet_test_guests::TIME_WINDOW },
        "rust/time-window/cases.yaml",
    ),
    (Builtin { name: "udp", component: witlet_test_guests::UDP }, "rust/udp/cases.yaml"),
];

fn examples_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins")
}

/// Where the sources of a shipped component are, with its cases.
pub(super) fn folder(builtin: &Builtin) -> PathBuf {
    // Probe types are called as a pod's spec calls them, and folders as crates are.
    let mut name = String::new();
    for letter in builtin.name.chars() {
        if letter.is_ascii_uppercase() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins").join(name)
}

fn passes(builtin: &Builtin, project: &Path, cases: &Path) -> Result<(), Failed> {
    let file = CaseFile::read(cases)?;
    let role = file.role();
    let plan = Plan { cases: vec![file], property_cases: PROPERTY_CASES, ..Plan::default() };
    let (runtime, kit) = &*KIT;
    let subject = Subject { name: builtin.name.to_owned(), wasm: described(builtin, project)?.into() };
    let report = runtime.block_on(kit.examine(&subject, &plan, &Silent))?;
    assert!(report.passed(), "{}", report.human("witlet plugin test"));
    // Its cases were held against its manifest, and were among what passed.
    assert!(report.checks.iter().any(|check| check.id == "load/manifest-config" && check.role == Some(role)));
    assert!(report.checks.iter().any(|check| check.id == "vectors/case" && check.role == Some(role)));
    for layer in [Layer::Load, Layer::Vectors, Layer::Hostile, Layer::Determinism, Layer::Budget] {
        assert!(report.count(layer).passed > 0, "{layer} showed nothing");
    }
    Ok(())
}

/// The component with the manifest next to its source, where nothing has put it in: `make` does that for the examples.
fn described(builtin: &Builtin, folder: &Path) -> Result<Vec<u8>, Failed> {
    if Manifest::of(builtin.component)?.is_some() {
        return Ok(builtin.component.to_vec());
    }
    let manifest = Manifest::parse(&std::fs::read_to_string(folder.join("plugin.yaml"))?)?;
    Ok(manifest.embed(builtin.component)?)
}

fn named(name: &str) -> Subject {
    let shipped = ADMISSION.iter().chain(PROBES).chain(SHIPPED);
    let found = shipped.into_iter().find(|builtin| builtin.name == name);
    let found = found.unwrap_or_else(|| panic!("{name} isn't shipped"));
    Subject { name: name.to_owned(), wasm: found.component.into() }
}

/// The findings of one component, in one text.
fn findings(subject: &Subject, plan: &Plan) -> Result<String, Failed> {
    let (runtime, kit) = &*KIT;
    let report = runtime.block_on(kit.examine(subject, plan, &Silent))?;
    assert!(!report.passed());
    Ok(report.human("witlet plugin test"))
}

fn without_configuration() -> Result<(), Failed> {
    let reported = findings(&named("image-policy"), &Plan::default())?;
    assert!(
        reported.contains("validate refuses it: ") && reported.contains("--config FILE|JSON"),
        "{reported}"
    );
    assert!(reported.contains("vectors: the component can't be loaded"), "{reported}");
    Ok(())
}

fn without_cases() -> Result<(), Failed> {
    let (runtime, kit) = &*KIT;
    let plan = Plan { property_cases: PROPERTY_CASES, ..Plan::default() };
    let report = runtime.block_on(kit.examine(&named("node-name"), &plan, &Silent))?;
    assert!(report.passed(), "{}", report.human("witlet plugin test"));
    assert!(report.count(Layer::Vectors).passed >= 30, "pods and nodes of every shape were put to it");
    let skipped = report.checks.iter().find(|check| check.id == "vectors/cases");
    assert!(skipped.is_some(), "that there are no cases is reported, and doesn't count as passed");
    Ok(())
}

fn without_parameters() -> Result<(), Failed> {
    let (runtime, kit) = &*KIT;
    let plan = Plan {
        grants: json!({"network": ["pod"]}),
        layers: [Layer::Load, Layer::Vectors].into(),
        ..Plan::default()
    };
    let report = runtime.block_on(kit.examine(&named("tcpSocket"), &plan, &Silent))?;
    let mut targets = report.checks.iter().filter(|check| check.id == "vectors/every-target");
    assert!(
        targets.all(|check| matches!(&check.result, CheckResult::Skipped { why } if why.contains("refuses")))
    );
    assert_eq!(report.count(Layer::Vectors).passed, 0, "nothing counts as passed that wasn't tried");
    Ok(())
}

fn no_component() -> Result<(), Failed> {
    let module = Subject { name: "core.wasm".to_owned(), wasm: b"\0asm\x01\0\0\0".as_slice().into() };
    let reported = findings(&module, &Plan::default())?;
    assert!(reported.contains("load/component") && reported.contains("not a core module"), "{reported}");
    let text = Subject { name: "text".to_owned(), wasm: b"hello".as_slice().into() };
    assert!(findings(&text, &Plan::default())?.contains("load/component"));
    Ok(())
}

fn other_role() -> Result<(), Failed> {
    let cases = cases::find(&folder(&PROBES[0]).join("cases.yaml"))?;
    let reported = findings(&named("node-name"), &Plan { cases, ..Plan::default() })?;
    assert!(
        reported.contains("load/cases") && reported.contains("probe, which the component doesn't have"),
        "{reported}"
    );
    Ok(())
}

fn lacks_a_grant() -> Result<(), Failed> {
    let reported = findings(&named("exec"), &Plan::default())?;
    assert!(
        reported.contains("load/grants") && reported.contains("it imports what needs the grants exec"),
        "{reported}"
    );
    Ok(())
}

/// The finding of a check, if it has one.
fn finding(subject: &Subject, plan: &Plan, id: &str) -> Result<Option<Finding>, Failed> {
    let (runtime, kit) = &*KIT;
    let report = runtime.block_on(kit.examine(subject, plan, &Silent))?;
    let found =
        report.checks.into_iter().filter(|check| check.id == id).find_map(|check| match check.result {
            CheckResult::Failed(finding) => Some(finding),
            CheckResult::Passed | CheckResult::Skipped { .. } => None,
        });
    Ok(found)
}

fn loading() -> Result<(), Failed> {
    let only_load = Plan { layers: [Layer::Load].into(), ..Plan::default() };
    let limited = |memory: &str| Plan { limits: json!({"memory": memory}), ..only_load.clone() };
    let empty = Subject { name: "empty".to_owned(), wasm: b"\0asm\x0d\0\x01\0".as_slice().into() };
    let cases = [
        (named("node-name"), limited("64Ki"), "load/needs", "needs 1114112 bytes of memory"),
        (named("node-name"), limited("300Mi"), "load/setup", "limits.memory: "),
        (empty, only_load.clone(), "load/world", ""),
        (named("http-bundle"), only_load, "load/validate", "validate refuses it"),
    ];
    for (subject, plan, id, words) in cases {
        let found =
            finding(&subject, &plan, id)?.ok_or_else(|| format!("{id} found nothing in {}", subject.name))?;
        assert!(found.seen.contains(words), "{id}: {found:?}");
    }
    Ok(())
}

fn vectors() -> Result<(), Failed> {
    let faulty = Subject { name: "faulty".to_owned(), wasm: witlet_test_guests::FAULTS.into() };
    let faults = [
        (Role::Admission, "trap-without-labels", "vectors/every-pod", "trapped", CONFIGURATION),
        (Role::Probe, "trap-without-address", "vectors/every-target", "trapped", PARAMETERS),
        (Role::PodSource, "pods-twice", "vectors/every-folder", "twice in one set", FOLDER),
    ];
    for (role, fault, id, words, case) in faults {
        let text = format!(
            "{{apiVersion: witlet.dev/v1alpha1, kind: PluginCases, role: {role}, config: {{fault: {fault}}}, cases: [{case}]}}",
        );
        let plan = Plan {
            cases: vec![CaseFile::parse("cases.yaml", &text)?],
            roles: Some([role].into()),
            layers: [Layer::Load, Layer::Vectors].into(),
            ..Plan::default()
        };
        let found = finding(&faulty, &plan, id)?.ok_or_else(|| format!("{id} found nothing of {fault}"))?;
        assert!(found.seen.contains(words), "{id}: {found:?}");
    }
    Ok(())
}

/// What a host of contract 0.2 tells plugins, and makes of their answers; in other languages by `tests/languages`.
fn each_function() -> Result<(), Failed> {
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests");
    for (role, guest, name) in [
        (Role::Admission, witlet_test_guests::ADMISSION_V0_2, "admission-v0-2"),
        (Role::Probe, witlet_test_guests::PROBE_V0_2, "probe-v0-2"),
        (Role::PodSource, witlet_test_guests::SOURCE_V0_2, "source-v0-2"),
    ] {
        let cases = CaseFile::read(&guests.join(name).join("cases.yaml"))?;
        let plan =
            Plan { cases: vec![cases], layers: [Layer::Load, Layer::Vectors].into(), ..Plan::default() };
        let (runtime, kit) = &*KIT;
        let subject = Subject { name: name.to_owned(), wasm: guest.into() };
        let report = runtime.block_on(kit.examine(&subject, &plan, &Silent))?;
        assert!(report.passed(), "{}", report.human("witlet plugin test"));
        let cases =
            report.checks.iter().filter(|check| check.id == "vectors/case" && check.role == Some(role));
        let passed = cases.filter(|check| matches!(check.result, CheckResult::Passed)).count();
        assert!(passed >= 10, "{name}: {passed} cases");
    }
    Ok(())
}

/// A case that says nothing but that the configuration is taken.
const CONFIGURATION: &str = "{name: a, expect: {validate: ok}}";
/// A case that says which parameters the probe type takes.
const PARAMETERS: &str = "{name: a, parameters: {port: 7000, expect: hello}, expect: {outcome: wellFormed}}";
/// A case that says which folder the source reads.
const FOLDER: &str = "{name: a, steps: [{folders: {/pods: {}}, expect: {snapshot: wellFormed}}]}";
