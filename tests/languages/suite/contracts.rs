//! Every function of `wit/` is called by the vectors that the guests of all languages answer: a new function without a vector
//! fails here, and a guest that doesn't call it fails the vector.

use std::collections::BTreeSet;
use std::path::Path;

use libtest_mimic::Failed;
use serde_json::Value;
use wit_parser::Resolve;
use witlet_languages::repository;

use crate::{host_vectors, host_vectors_0_2};

/// In the order in which one needs the other.
const PACKAGES: &[&str] = &["host", "admission", "probe", "pod-source"];

/// Of the folders of contract 0.2.
const TRACK: &str = "-0.2.0";
/// What shows nowhere in an answer: the host logs it when a plugin is loaded (`tests/plugin-host`).
const LOGGED: &[&str] = &[
    "admission/types setup.knows",
    "admission/types setup.warn",
    "probe/types check.warn",
    "probe/types setup.warn",
    "pod-source/types setup.warn",
];

/// What an error says as which a probe says that it found nothing out.
const NOTHING_FOUND_OUT: &str = "nothing was found out";

/// Fails with every function of contract 0.1 that no vector calls, and every vector's key that no function has.
pub(crate) fn all_are_called() -> Result<(), Failed> {
    compare(functions("")?, called(&host_vectors(), of_answer)?)
}

/// The same of contract 0.2.
pub(crate) fn all_of_0_2_are_called() -> Result<(), Failed> {
    let functions = functions(TRACK)?;
    let called = called(&host_vectors_0_2(), of_answer_0_2)?;
    compare(functions.into_iter().filter(|function| !LOGGED.contains(&function.as_str())).collect(), called)
}

fn compare(functions: BTreeSet<String>, called: BTreeSet<String>) -> Result<(), Failed> {
    let left_out: Vec<&String> = functions.difference(&called).collect();
    let unknown: Vec<&String> = called.difference(&functions).collect();
    if !left_out.is_empty() {
        return Err(format!("no vector calls {left_out:#?}").into());
    }
    if !unknown.is_empty() {
        return Err(format!("vectors expect what no function gives: {unknown:#?}").into());
    }
    Ok(())
}

/// Every function of a contract, as `package/interface function` or `package/interface resource.function`.
fn functions(track: &str) -> Result<BTreeSet<String>, Failed> {
    let mut resolve = Resolve::default();
    for package in PACKAGES {
        let folder = repository().join("wit").join(format!("{package}{track}"));
        resolve.push_dir(folder).map_err(|error| format!("{error:#}"))?;
    }
    let mut functions = BTreeSet::new();
    for (_, interface) in resolve.interfaces.iter() {
        let (Some(name), Some(package)) = (&interface.name, interface.package) else { continue };
        let package = &resolve.packages[package].name.name;
        // The types of a role, whatever their interface is called.
        let name = if name.ends_with("-types") { "types" } else { name.as_str() };
        for function in interface.functions.keys() {
            let function = function.strip_prefix("[method]").unwrap_or(function);
            functions.insert(format!("{package}/{name} {function}"));
        }
    }
    if functions.len() < PACKAGES.len() {
        Err("the contracts have no functions".into())
    } else {
        Ok(functions)
    }
}

/// What the vectors of a folder have called, by what they expect of the guests of each role.
fn called(folder: &Path, of: fn(&str, &Value, &mut BTreeSet<String>)) -> Result<BTreeSet<String>, Failed> {
    let mut called = BTreeSet::new();
    for role in ["admission", "probe", "pod-source"] {
        let path = folder.join(format!("{role}.yaml"));
        let text = std::fs::read_to_string(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        let file: Value =
            serde_saphyr::from_str(&text).map_err(|cause| format!("{}: {cause}", path.display()))?;
        let cases = file["cases"].as_array().ok_or("a file of vectors has cases")?;
        for case in cases {
            let steps = case["steps"].as_array().into_iter().flatten().map(|step| &step["expect"]);
            for expect in steps.chain([&case["expect"]]) {
                of(role, expect, &mut called);
            }
        }
    }
    Ok(called)
}

/// A key of what a guest of contract 0.1 returns is the name of the function that returned it.
fn of_answer(role: &str, expect: &Value, called: &mut BTreeSet<String>) {
    of_any(role, expect, called);
    match role {
        "admission" => of_admission(expect, called),
        "probe" => of_probe(expect, called),
        _ => of_source(expect, called),
    }
}

/// A key of what a guest of contract 0.2 returns is the name of the function that returned it, wherever it stands.
fn of_answer_0_2(role: &str, expect: &Value, called: &mut BTreeSet<String>) {
    of_any(role, expect, called);
    for said in ["messageJson", "detailJson", "pods"] {
        keys(role, &expect[said], called);
    }
    let of_role = |function: &str| format!("{role}/types {function}");
    for log in expect["logs"].as_array().into_iter().flatten() {
        keys(role, &log["fields"], called);
        called.extend((log["message"] == "news.next").then(|| of_role("news.next")));
    }
    let answer = |said: &str, function: &str| (!expect[said].is_null()).then(|| of_role(function));
    called.extend(answer("cursor", "answer.cursor"));
    called.extend(answer("nextPollMilliseconds", "answer.next-poll-milliseconds"));
    called.extend(expect["detailContains"].as_str().map(of_role));
    let said = ["verdict", "outcome", "snapshot"].iter().find_map(|said| expect[*said].as_str());
    let functions: &[&str] = match (role, said) {
        ("admission", Some("admit")) => &["answer.admit", "setup.subscribe"],
        ("admission", Some("reject")) => &["answer.reject"],
        ("admission", Some("defer")) => &["answer.defer"],
        ("admission", Some("shortage")) => &["answer.shortage"],
        ("probe", Some("success")) => &["answer.success"],
        ("probe", Some("warning")) => &["answer.warn"],
        ("probe", Some("failure")) => &["answer.failure"],
        ("pod-source", Some("pods")) => &["answer.pod"],
        ("pod-source", Some("empty")) => &["answer.empty"],
        ("pod-source", Some("unchanged")) => &["answer.unchanged"],
        _ if expect["error"] == NOTHING_FOUND_OUT => &["answer.unknown"],
        _ => &[],
    };
    called.extend(functions.iter().map(|function| of_role(function)));
    let exported = match role {
        "admission" => ("verdict", "admission/handler admit"),
        "probe" => ("outcome", "probe/prober probe"),
        _ => ("snapshot", "pod-source/source poll"),
    };
    for (said, export) in [
        exported,
        ("parameters", "probe/prober check-parameters"),
        ("feedback", "pod-source/feedback notify"),
    ] {
        called.extend((!expect[said].is_null()).then(|| export.to_owned()));
    }
}

/// The functions that an object's keys name, and those of all that is in it.
fn keys(role: &str, reported: &Value, called: &mut BTreeSet<String>) {
    reported.as_array().into_iter().flatten().for_each(|item| keys(role, item, called));
    for (key, value) in reported.as_object().into_iter().flatten() {
        match key.split_once('/') {
            Some((interface @ ("exec" | "connections"), function)) => {
                called.insert(format!("probe/{interface} {function}"));
            }
            Some((interface, function)) => {
                called.insert(format!("host/{interface} {function}"));
            }
            None if key.contains('.') => {
                called.insert(format!("{role}/types {key}"));
            }
            None => {}
        }
        // An error that is read as it was made shows both.
        match key.as_str() {
            "errors/error.code" => called.insert("host/errors [constructor]error".to_owned()),
            "errors/error.detail" => called.insert("host/errors error.set-detail".to_owned()),
            "errors/error.retry-after-milliseconds" => {
                called.insert("host/errors error.set-retry-after-milliseconds".to_owned())
            }
            _ => false,
        };
        keys(role, value, called);
    }
}

/// What guests of all roles call.
fn of_any(role: &str, expect: &Value, called: &mut BTreeSet<String>) {
    let exports = match role {
        "admission" => "admission/handler",
        "probe" => "probe/prober",
        _ => "pod-source/source",
    };
    if !expect["validate"].is_null() {
        called.insert(format!("{exports} validate"));
    }
    if expect["logs"].as_array().is_some_and(|logs| !logs.is_empty()) {
        called.insert("host/log write".to_owned());
    }
}

fn of_admission(expect: &Value, called: &mut BTreeSet<String>) {
    if !expect["verdict"].is_null() {
        called.insert("admission/handler admit".to_owned());
    }
    let reported = &expect["messageJson"];
    getters("admission/types request", reported, called);
    getters("admission/types pod", &reported["pod"], called);
    getters("admission/types node", &reported["node"], called);
}

fn of_probe(expect: &Value, called: &mut BTreeSet<String>) {
    if !expect["outcome"].is_null() {
        called.insert("probe/prober probe".to_owned());
    }
    if !expect["parameters"].is_null() {
        called.insert("probe/prober check-parameters".to_owned());
    }
    getters("probe/types target", &expect["detailJson"], called);
}

fn of_source(expect: &Value, called: &mut BTreeSet<String>) {
    if !expect["snapshot"].is_null() {
        called.insert("pod-source/source poll".to_owned());
    }
    if !expect["feedback"].is_null() {
        called.insert("pod-source/feedback statuses".to_owned());
    }
}

/// The functions of a resource whose answers are returned as an object's fields. What is no field of the resource is a function
/// of its own.
fn getters(resource: &str, reported: &Value, called: &mut BTreeSet<String>) {
    for (key, value) in reported.as_object().into_iter().flatten() {
        called.insert(match key.as_str() {
            "config" => "host/config get".to_owned(),
            // Nothing was asked for.
            "secret" | "exec" if value.is_null() => continue,
            "secret" => "host/secret get".to_owned(),
            "exec" => "probe/exec run".to_owned(),
            // The text itself may be written in many ways.
            "json-bytes" => format!("{resource}.json"),
            "pod-json-bytes" => format!("{resource}.pod-json"),
            getter => format!("{resource}.{getter}"),
        });
    }
}
