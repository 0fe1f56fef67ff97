//! Every function of `wit/` is called by the vectors that the guests of all languages answer: a new function without a vector
//! fails here, and a guest that doesn't call it fails the vector.

use std::collections::BTreeSet;

use libtest_mimic::Failed;
use serde_json::Value;
use wit_parser::Resolve;
use witlet_languages::repository;

use crate::host_vectors;

/// In the order in which one needs the other.
const PACKAGES: &[&str] = &["host", "admission", "probe", "pod-source"];

/// Fails with every function that no vector calls, and every vector's key that no function has.
pub(crate) fn all_are_called() -> Result<(), Failed> {
    let functions = functions()?;
    let called = called()?;
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

/// Every function of the contracts, as `package/interface function` or `package/interface resource.function`.
fn functions() -> Result<BTreeSet<String>, Failed> {
    let mut resolve = Resolve::default();
    for package in PACKAGES {
        resolve.push_dir(repository().join("wit").join(package)).map_err(|error| format!("{error:#}"))?;
    }
    let mut functions = BTreeSet::new();
    for (_, interface) in resolve.interfaces.iter() {
        let (Some(name), Some(package)) = (&interface.name, interface.package) else { continue };
        let package = &resolve.packages[package].name.name;
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

/// What the vectors have called: a key of what a guest returns is the name of the function that returned it.
fn called() -> Result<BTreeSet<String>, Failed> {
    let mut called = BTreeSet::new();
    for role in ["admission", "probe", "pod-source"] {
        let path = host_vectors().join(format!("{role}.yaml"));
        let text = std::fs::read_to_string(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        let file: Value =
            serde_saphyr::from_str(&text).map_err(|cause| format!("{}: {cause}", path.display()))?;
        let cases = file["cases"].as_array().ok_or("a file of vectors has cases")?;
        for case in cases {
            let steps = case["steps"].as_array().into_iter().flatten().map(|step| &step["expect"]);
            for expect in steps.chain([&case["expect"]]) {
                of_any(role, expect, &mut called);
                match role {
                    "admission" => of_admission(expect, &mut called),
                    "probe" => of_probe(expect, &mut called),
                    _ => of_source(expect, &mut called),
                }
            }
        }
    }
    Ok(called)
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
