//! Plugins of contract 0.1 next to plugins of 0.2, in all languages at once: one plugin file names all of them, and one host takes them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_harness::program;
use witlet_languages::{Project, ProjectError, Toolchain, examples};
use witlet_templates::Role;

use crate::{reported, witlet};

/// The contracts, by the export that each role has.
const OLDER: &str = "@0.1.0";
const NEWER: &str = "@0.2.0";

/// An entry of the plugin file.
struct Plugin {
    name: String,
    component: PathBuf,
    /// The end of each of its exports.
    contract: &'static str,
    /// Its role, configuration and grants.
    entry: Value,
    /// Why it rejects the bad pod, of a handler.
    reason: Option<&'static str>,
}

impl Plugin {
    fn to_json(&self) -> Value {
        let mut entry = self.entry.clone();
        entry["name"] = json!(self.name);
        entry["component"] = json!(self.component);
        entry["limits"] = json!({"memory": "64Mi"});
        if self.reason.is_some() {
            entry["limits"]["timeout"] = json!("10s");
        }
        entry
    }
}

/// Builds what each language has of both contracts, has one host ask all handlers, and has it take the plugins of all roles.
pub(crate) fn are_served(toolchains: &[Toolchain]) -> Result<(), Failed> {
    let folder = tempfile::tempdir().map_err(reported)?;
    let mut plugins = Vec::new();
    for toolchain in toolchains {
        plugins.extend(of_language(toolchain, folder.path())?);
    }
    let mut problems = Vec::new();
    for plugin in &plugins {
        problems.extend(of_another_contract(plugin)?);
    }
    let (handlers, others): (Vec<Plugin>, Vec<Plugin>) =
        plugins.into_iter().partition(|plugin| plugin.reason.is_some());
    problems.extend(misjudged(&handlers, folder.path())?);

    let count = handlers.len() + others.len();
    let file = plugin_file(handlers.iter().chain(&others), "plugins.yaml", folder.path())?;
    let output = run(&["check", "--plugins", &file])?;
    if !output.status.success() || !text(&output).contains(&format!("ok, {count} plugins")) {
        problems.push(format!("`witlet check` of {count} plugins: {}", text(&output)));
    }
    if problems.is_empty() { Ok(()) } else { Err(format!("{problems:#?}").into()) }
}

/// The examples of 0.1, the projects of `witlet plugin new`, and the policies where a language has them.
fn of_language(toolchain: &Toolchain, folder: &Path) -> Result<Vec<Plugin>, Failed> {
    let language = toolchain.language();
    let built = |project: Result<Project, ProjectError>| {
        let built = toolchain.build(&project.map_err(reported)?, witlet()).map_err(reported)?;
        Ok::<_, Failed>(built.component)
    };
    let mut plugins = Vec::new();
    let mut add = |name: &str, contract, component, entry, reason| {
        let name = format!("{language}-{name}");
        plugins.push(Plugin { name, component, contract, entry, reason });
    };
    let older = |name| built(Project::example(language, name));
    let newer = |role: Role| built(Project::template(language, role, &format!("new-{role}")));

    let entry = json!({"admission": {}, "config": {"allow": ["registry.example.com"]}});
    add("images", OLDER, older("image-policy")?, entry, Some("ImageNotAllowed"));
    let entry = json!({"admission": {}, "config": {"label": "team"}});
    add("label", NEWER, newer(Role::Admission)?, entry, Some("LabelMissing"));
    if examples(language).any(|name| name == "policies") {
        let entry = json!({"admission": {}, "config": {"policy": "noPrivileged"}});
        add("privileged", NEWER, older("policies")?, entry, Some("Privileged"));
    }

    let grants = json!({"network": ["pod"], "secrets": ["granted"]});
    let entry = json!({"probe": {}, "grants": grants, "config": {"passwordSecret": "granted"}});
    add("redis", OLDER, older("redis-probe")?, entry, None);
    let entry = json!({"probe": {}, "grants": {"network": ["pod"]}});
    add("greeting", NEWER, newer(Role::Probe)?, entry, None);

    let source = json!({"allow": {"namespaces": ["default"]}});
    let grants = json!({"files": [{"path": folder, "guestPath": "/pods", "readOnly": true}]});
    let entry = json!({"podSource": source, "grants": grants, "config": {"folder": "/pods"}});
    add("folder", OLDER, older("folder-source")?, entry, None);
    let entry = json!({"podSource": source, "config": {"pods": [pod("good")]}});
    add("pods", NEWER, newer(Role::PodSource)?, entry, None);
    Ok(plugins)
}

/// What is wrong with the contract that a plugin exports.
fn of_another_contract(plugin: &Plugin) -> Result<Option<String>, Failed> {
    let component = plugin.component.display().to_string();
    let inspected = json_of(&run(&["plugin", "inspect", &component, "-o", "json"])?)?;
    let exports = inspected["exports"].as_array().into_iter().flatten().filter_map(Value::as_str);
    // Python's have one of their own next to it.
    let exports: Vec<&str> = exports.filter(|export| export.starts_with("witlet:")).collect();
    let is_one = !exports.is_empty() && exports.iter().all(|export| export.ends_with(plugin.contract));
    Ok((!is_one).then(|| format!("{} is to be of {}, and exports {exports:?}", plugin.name, plugin.contract)))
}

/// Which handlers, asked next to each other, say something else than that they admit the good pod and why they reject the bad one.
fn misjudged(handlers: &[Plugin], folder: &Path) -> Result<Vec<String>, Failed> {
    let file = plugin_file(handlers.iter(), "handlers.yaml", folder)?;
    let pods = written(folder, "pods.yaml", &format!("{}\n---\n{}", pod("good"), pod("bad")))?;
    let more = ["--shipped=false", "--all", "-o", "json"];
    let report = json_of(&run(&[&["plugin", "eval", &pods, "--plugins", &file], &more[..]].concat())?)?;
    let said = |pod: &str, handler: &str| {
        let find = |list: &Value, name: &str| {
            let mut list = list.as_array().into_iter().flatten();
            list.find(|item| item["name"] == name).cloned().unwrap_or_default()
        };
        find(&find(&report["pods"], pod)["handlers"], handler)
    };
    let wrong = handlers.iter().filter_map(|handler| {
        let (good, bad) = (said("good", &handler.name), said("bad", &handler.name));
        let is_right = good["outcome"] == "admit"
            && bad["outcome"] == "reject"
            && bad["reason"].as_str() == handler.reason;
        (!is_right).then(|| {
            format!("{}: expected admit and {:?}, found {good} and {bad}", handler.name, handler.reason)
        })
    });
    Ok(wrong.collect())
}

/// A pod that all handlers admit, or one that each of them rejects.
fn pod(name: &str) -> Value {
    let is_good = name == "good";
    let registry = if is_good { "registry" } else { "elsewhere" };
    let container = json!({
        "name": "app", "image": format!("{registry}.example.com/app:1"), "securityContext": {"privileged": !is_good},
    });
    let labels = if is_good { json!({"team": "shop"}) } else { json!({}) };
    let metadata = json!({"name": name, "labels": labels});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}})
}

fn plugin_file<'a>(
    plugins: impl Iterator<Item = &'a Plugin>,
    name: &str,
    folder: &Path,
) -> Result<String, Failed> {
    let secret = written(folder, "secret", "secret")?;
    fs::set_permissions(&secret, Permissions::from_mode(0o600))?;
    let file = json!({
        "apiVersion": "witlet.dev/v1alpha1", "kind": "PluginConfiguration",
        "secrets": [{"name": "granted", "file": secret}], "plugins": plugins.map(Plugin::to_json).collect::<Vec<_>>(),
    });
    written(folder, name, &file.to_string())
}

fn written(folder: &Path, name: &str, text: &str) -> Result<String, Failed> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(reported)?;
    Ok(path.display().to_string())
}

/// Runs `witlet`. Interpreters take minutes to compile, and all suites share what comes of it.
fn run(arguments: &[&str]) -> Result<Output, Failed> {
    let cache = program::component_cache().map_err(reported)?;
    Command::new(witlet()).args(arguments).env(program::CACHE_VARIABLE, cache).output().map_err(reported)
}

fn json_of(output: &Output) -> Result<Value, Failed> {
    serde_json::from_slice(&output.stdout).map_err(|_no_json| Failed::from(text(output)))
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
