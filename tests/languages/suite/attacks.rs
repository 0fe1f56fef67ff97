//! What comes of a guest that attacks its host, in each language: each attack ends at a bound of the host and is named, and a handler of the
//! same component that behaves answers next to it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_harness::program;
use witlet_languages::{Project, Toolchain};
use witlet_templates::Language;

use crate::{reported, witlet};

/// How long a call may take of what goes on until it is cut.
const SHORT: &str = "1s";
/// The same of what should end by itself: the machine may be busy. Handlers may have no more.
const LONG: &str = "10s";
/// The handler that behaves.
const HONEST: &str = "honest";

/// An attack, how long it may take, and what it comes to: the failure's reason, and a part of its message.
struct Attack {
    name: &'static str,
    timeout: &'static str,
    ends: fn(Language, Contract) -> Option<(&'static str, &'static str)>,
}

/// Whose guest attacks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contract {
    V0_1,
    V0_2,
}

impl Contract {
    /// The configuration with which the guest behaves, or attacks so.
    fn config(self, attack: Option<&str>) -> Value {
        match (self, attack) {
            (Self::V0_1, None) => json!({"answer": "admit"}),
            (Self::V0_1, Some(attack)) => json!({"answer": {"attack": attack}}),
            (Self::V0_2, None) => json!({"do": "admit"}),
            (Self::V0_2, Some(attack)) => json!({"do": "attack", "attack": attack}),
        }
    }
}

const TIMED_OUT: (&str, &str) = ("HandlerTimedOut", "no answer within 1000ms");

const ATTACKS: &[Attack] = &[
    Attack { name: "spin", timeout: SHORT, ends: |_, _| Some(TIMED_OUT) },
    Attack { name: "log-forever", timeout: SHORT, ends: |_, _| Some(TIMED_OUT) },
    Attack { name: "print-forever", timeout: SHORT, ends: |_, _| Some(TIMED_OUT) },
    Attack { name: "grow", timeout: LONG, ends: growth },
    Attack { name: "recurse", timeout: LONG, ends: recursion },
    Attack { name: "crash", timeout: LONG, ends: |_, _| Some(("HandlerTrapped", "it trapped")) },
    Attack { name: "exit", timeout: LONG, ends: exit },
    Attack { name: "sleep", timeout: LONG, ends: sleep },
    Attack {
        name: "huge-answer",
        timeout: LONG,
        ends: |_, _| Some(("HandlerTrapped", "it passed more than 2097152 bytes in one call")),
    },
];

/// JavaScript's engine raises an error of its own when it is refused memory. A handler of 0.1 hands that over; one of 0.2 has no words in
/// an error, and traps.
fn growth(language: Language, contract: Contract) -> Option<(&'static str, &'static str)> {
    Some(match (language, contract) {
        (Language::JavaScript, Contract::V0_1) => ("HandlerFailed", "out of memory"),
        _ => ("HandlerOutOfMemory", "exceeded its memory limit"),
    })
}

/// LLVM keeps a part of the stack in linear memory, below everything else, and that part ends first; Go's goroutines have theirs elsewhere.
fn recursion(language: Language, _: Contract) -> Option<(&'static str, &'static str)> {
    Some(match language {
        Language::Rust | Language::C | Language::Cpp => {
            ("HandlerTrapped", "it trapped: wasm trap: out of bounds memory access")
        }
        Language::Go => ("HandlerTrapped", "it ran out of stack"),
        // Their engines count, and raise an error.
        Language::Python | Language::JavaScript => ("HandlerTrapped", "it trapped"),
    })
}

/// TypeScript's engine has no exit.
fn exit(language: Language, _: Contract) -> Option<(&'static str, &'static str)> {
    (language != Language::JavaScript).then_some(("HandlerTrapped", "it exited with code 1"))
}

/// Nor has it a way to sleep.
fn sleep(language: Language, _: Contract) -> Option<(&'static str, &'static str)> {
    (language != Language::JavaScript).then_some(("HandlerTrapped", "and in admission nothing may wait"))
}

/// Asks the guest about a pod for each attack.
pub(crate) fn are_bounded(toolchain: &Toolchain, _argument: &str) -> Result<(), Failed> {
    let project = Project::all_functions(toolchain.language()).map_err(reported)?;
    guest_is_bounded(toolchain, &project, Contract::V0_1)
}

/// The same of contract 0.2.
pub(crate) fn of_0_2_are_bounded(toolchain: &Toolchain, _argument: &str) -> Result<(), Failed> {
    let guests = Project::all_functions_0_2(toolchain.language()).map_err(reported)?;
    // In JavaScript the first one is the handler.
    let guest = guests.first().ok_or("there is no guest of contract 0.2")?;
    guest_is_bounded(toolchain, &guest.project, Contract::V0_2)
}

fn guest_is_bounded(toolchain: &Toolchain, project: &Project, contract: Contract) -> Result<(), Failed> {
    let language = toolchain.language();
    let built = toolchain.build(project, witlet()).map_err(reported)?;
    let folder = tempfile::tempdir().map_err(reported)?;
    // What the guest of all functions imports, which no attack uses.
    let secret = written(folder.path(), "secret", "none")?;
    fs::set_permissions(secret, Permissions::from_mode(0o600)).map_err(reported)?;
    let honest = entry(
        HONEST,
        LONG,
        &built.component,
        contract.config(None),
        json!({"order": 2, "failurePolicy": "Reject"}),
    );
    // Alone first: entries that are loaded next to each other would all compile the component.
    let alone = evaluated(folder.path(), &[pod(HONEST)], std::slice::from_ref(&honest))?;
    if alone["pods"][0]["outcome"] != "admitted" {
        return Err(format!("{HONEST}: {alone}").into());
    }
    let attacks: Vec<_> = ATTACKS
        .iter()
        .filter_map(|attack| (attack.ends)(language, contract).map(|(reason, words)| (attack, reason, words)))
        .collect();
    let attackers = attacks.iter().map(|(Attack { name, timeout, .. }, ..)| {
        let matched = json!({"order": 1, "failurePolicy": "Admit", "match": {"namespaces": [name]}});
        entry(name, timeout, &built.component, contract.config(Some(name)), matched)
    });
    let entries: Vec<Value> = attackers.chain([honest]).collect();
    let pods: Vec<Value> = attacks.iter().map(|(attack, ..)| pod(attack.name)).collect();
    let report = evaluated(folder.path(), &pods, &entries)?;
    let problems: Vec<String> = attacks
        .iter()
        .filter_map(|(attack, reason, words)| problem(&report, attack, reason, words))
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(format!("{problems:#?}").into()) }
}

/// What `witlet plugin eval` reports of these pods with these entries.
fn evaluated(folder: &Path, pods: &[Value], entries: &[Value]) -> Result<Value, Failed> {
    let file = json!({
        "apiVersion": "witlet.dev/v1alpha1", "kind": "PluginConfiguration",
        "secrets": [{"name": "none", "file": "secret"}], "plugins": entries,
    });
    let file = written(folder, "plugins.yaml", &file.to_string())?;
    let pods: Vec<String> = pods.iter().map(Value::to_string).collect();
    let pods = written(folder, "pods.yaml", &pods.join("\n---\n"))?;
    let cache = program::component_cache().map_err(reported)?;
    let output = Command::new(witlet())
        .args(["plugin", "eval", &pods, "--plugins", &file, "--shipped=false", "-o", "json"])
        .env(program::CACHE_VARIABLE, cache)
        .output()
        .map_err(reported)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let failed = |_no_report| Failed::from(format!("{}{}", text(&output.stdout), text(&output.stderr)));
    serde_json::from_slice(&output.stdout).map_err(failed)
}

/// What is wrong with how an attack ended.
fn problem(report: &Value, attack: &Attack, reason: &str, words: &str) -> Option<String> {
    let mut pods = report["pods"].as_array().into_iter().flatten();
    let Some(pod) = pods.find(|pod| pod["name"] == attack.name) else {
        return Some(format!("{}: no pod", attack.name));
    };
    let of = |name: &str| {
        let mut handlers = pod["handlers"].as_array().into_iter().flatten();
        handlers.find(|handler| handler["name"] == name).cloned().unwrap_or_default()
    };
    let (attacker, honest) = (of(attack.name), of(HONEST));
    let is_named = attacker["outcome"] == "failed"
        && attacker["reason"] == reason
        && attacker["message"].as_str().is_some_and(|message| message.contains(words));
    if !is_named {
        return Some(format!("{}: expected {reason} with {words:?}, found {attacker}", attack.name));
    }
    (honest["outcome"] != "admit").then(|| format!("{}: next to it {honest}", attack.name))
}

/// An entry of one of the component's roles: what it imports for probes it needs no grant for.
fn entry(name: &str, timeout: &str, component: &Path, config: Value, admission: Value) -> Value {
    json!({
        "name": name, "component": component, "config": config,
        "grants": {"secrets": ["none"]}, "limits": {"timeout": timeout, "memory": "64Mi"}, "admission": admission,
    })
}

fn pod(attack: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": attack, "namespace": attack},
        "spec": {"containers": [{"name": "app", "image": "app:1"}]},
    })
}

fn written(folder: &Path, name: &str, text: &str) -> Result<String, Failed> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(reported)?;
    Ok(path.display().to_string())
}
