//! What both tell of the same pods: every path of metrics, and the summary.

mod explained;
mod exposition;

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::sleep;
use witlet_api_server::Identity;
use witlet_harness::cluster::{Cluster, NODE};

use super::{Agent, app, both, create, exactly, files, start};
use crate::cluster::promtool::PATHS;
use exposition::Family;

/// A kubelet reads cgroups every 10 seconds, what pods use every minute, and asks a probe each second.
const SETTLED: std::time::Duration = std::time::Duration::from_secs(75);

/// Containers are shown that the runtime listed within the second before: one that has just become ready may not be among them.
const LISTED: std::time::Duration = std::time::Duration::from_secs(2);

const SUMMARY: &str = "/stats/summary";

/// What the summary's fields end with whose values are the same under any agent: sizes of file systems, and how many files logs are.
const STEADY: &[&str] = &[".capacityBytes", ".inodes", ".logs.inodesUsed"];

/// Where the node's interfaces are listed, whose names differ: a kubelet shows the network of the first process.
const NODE_INTERFACES: &str = ".node.network.interfaces";

/// What one agent tells: by path and name, what that has.
type Figures = BTreeMap<String, BTreeSet<String>>;

/// The same pods under both, one after the other; each difference has its reason.
#[allow(clippy::print_stderr, reason = "the figure is part of what this shows")]
pub(super) async fn compare(endpoint: String) -> Result<(), Failed> {
    let kubelets = figures_of(&endpoint, Agent::Kubelet).await?;
    let own = figures_of(&endpoint, Agent::Witlet).await?;
    let (unexplained, count) = explained::unexplained(&differences(&kubelets, &own));
    let same = kubelets.iter().filter(|(name, what)| own.get(*name) == Some(*what)).count();
    eprintln!(
        "of a kubelet's {} figures {same} are the same under both, {count} differ for a reason",
        kubelets.len()
    );
    if unexplained.is_empty() { Ok(()) } else { Err(unexplained.join("\n").into()) }
}

/// What a figure's parts say of one side only, such as `/metrics/probes prober_probe_total witlet only: …`.
fn differences(kubelets: &Figures, own: &Figures) -> Vec<String> {
    let none = BTreeSet::new();
    let names: BTreeSet<&String> = kubelets.keys().chain(own.keys()).collect();
    let mut differences = Vec::new();
    for name in names {
        match (kubelets.get(name), own.get(name)) {
            (Some(_), None) => differences.push(format!("{name} kubelet only")),
            (None, Some(_)) => differences.push(format!("{name} witlet only")),
            (theirs, ours) => {
                let (theirs, ours) = (theirs.unwrap_or(&none), ours.unwrap_or(&none));
                let one_sided = |side: &str, parts: Vec<&String>| -> Vec<String> {
                    parts.into_iter().map(|part| format!("{name} {side} has: {part}")).collect()
                };
                differences.extend(one_sided("kubelet", theirs.difference(ours).collect()));
                differences.extend(one_sided("witlet", ours.difference(theirs).collect()));
            }
        }
    }
    differences
}

fn pods() -> Vec<(&'static str, Value)> {
    let mut probed = app("app", exactly("100m", "32Mi"));
    let succeeds = json!({"exec": {"command": ["/bin/true"]}, "periodSeconds": 1});
    probed["readinessProbe"] = succeeds.clone();
    probed["livenessProbe"] = succeeds;
    let mut sidecar = app("sidecar", both(json!({"cpu": "10m"}), json!({"memory": "16Mi"})));
    sidecar["restartPolicy"] = json!("Always");
    let mut writes = app("app", json!({"requests": {"cpu": "20m", "memory": "8Mi"}}));
    writes["volumeMounts"] =
        json!([{"name": "scratch", "mountPath": "/scratch"}, {"name": "ram", "mountPath": "/ram"}]);
    let scratch = json!([
        {"name": "scratch", "emptyDir": {}},
        {"name": "ram", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
    ]);
    vec![
        ("guaranteed", json!({"containers": [probed]})),
        ("burstable", json!({"initContainers": [sidecar], "containers": [writes], "volumes": scratch})),
        ("besteffort", json!({"containers": [app("app", json!({})), app("more", json!({}))]})),
    ]
}

#[allow(clippy::print_stderr, reason = "it takes minutes")]
async fn figures_of(endpoint: &str, agent: Agent) -> Result<Figures, Failed> {
    let (cluster, _) = start(endpoint.to_owned(), agent).await?;
    for (name, spec) in &pods() {
        create(&cluster, name, spec)?;
    }
    for (name, _) in &pods() {
        cluster.ready(name).await?;
    }
    eprintln!("pods run under {agent:?}");
    let reported = reported(&cluster).await?;
    for (name, _) in &pods() {
        cluster.delete(name, Some(1))?;
    }
    for (name, _) in &pods() {
        let is_gone = |cluster: &Cluster| cluster.pod(name).is_none().then_some(());
        cluster.until(&format!("{name} is gone"), is_gone).await?;
    }
    cluster.end().await?;
    Ok(reported)
}

async fn reported(cluster: &Cluster) -> Result<Figures, Failed> {
    let who = Identity::new("kube-apiserver-kubelet-client", &["system:masters"]);
    let issued = cluster.api().client_certificate(&who, SignedDuration::from_hours(1))?;
    let client = cluster.node_client(&issued).await?;
    let mut names = files::names(cluster);
    names.extend(own_cgroup()?.map(|path| (path, "/agent".to_owned())));
    let ask = async |path: &str| -> Result<String, Failed> {
        Ok(client.request_text(http::Request::get(path).body(Vec::new())?).await?)
    };
    sleep(LISTED).await;
    // A rate needs an earlier check, and `/metrics` counts who asked before.
    for path in PATHS.iter().chain([&SUMMARY]) {
        ask(path).await?;
    }
    sleep(SETTLED).await;
    let mut figures = Figures::new();
    for path in PATHS {
        // Series of `/metrics` depend on what happened, those of the others on what runs.
        let with_series = *path != "/metrics";
        for (name, family) in exposition::parse(&ask(path).await?) {
            figures.insert(format!("{path} {name}"), parts_of(&family, with_series, &names));
        }
    }
    let summary: Value = serde_json::from_str(&ask(SUMMARY).await?)?;
    let mut fields = BTreeSet::new();
    collect_fields(&summary, String::new(), &mut fields);
    figures.extend(fields.into_iter().map(|field| (format!("{SUMMARY} {field}"), BTreeSet::new())));
    Ok(figures)
}

/// The cgroup of this process and so of the agent, which isn't a kubelet's; none at the root.
fn own_cgroup() -> Result<Option<String>, Failed> {
    let text = std::fs::read_to_string("/proc/self/cgroup")?;
    let path_of = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        (controllers == "memory" || controllers.is_empty()).then(|| path.to_owned())
    };
    Ok(text.lines().find_map(path_of).filter(|path| path != "/"))
}

/// All of a family that is the same under any agent.
fn parts_of(family: &Family, with_series: bool, names: &[(String, String)]) -> BTreeSet<String> {
    let mut parts = BTreeSet::from([format!("type {}", family.kind), format!("help {}", family.help)]);
    parts.extend(family.bounds.iter().map(|bound| format!("le {bound}")));
    for labels in &family.series {
        if with_series {
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}={:?}", known(value, names))).collect();
            parts.insert(format!("series {}", labels.join(",")));
        } else {
            let labels: Vec<&str> = labels.iter().map(|(name, _)| name.as_str()).collect();
            parts.insert(format!("labels {}", labels.join(",")));
        }
    }
    parts
}

/// A label's value with names in place of what differs from run to run.
fn known(value: &str, names: &[(String, String)]) -> String {
    let named = names.iter().fold(value.to_owned(), |text, (id, name)| text.replace(id, name));
    let is_id = |part: &str| part.len() == 64 && part.chars().all(|char| char.is_ascii_hexdigit());
    let parts = named.split('/').map(|part| match part {
        part if is_id(part) => "sandbox",
        part if part.starts_with("veth") => "veth",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// The paths of all fields, with names in place of places in lists.
fn collect_fields(value: &Value, path: String, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                collect_fields(value, format!("{path}.{key}"), fields);
            }
        }
        Value::Array(items) => {
            for item in items {
                let name = [&item["podRef"]["name"], &item["name"]].into_iter().find_map(Value::as_str);
                let name = known(name.unwrap_or("?"), &[]);
                let name = match name.as_str() {
                    _ if path == NODE_INTERFACES => "interface",
                    name if name.starts_with("veth") => "veth",
                    name => name,
                };
                collect_fields(item, format!("{path}[{name}]"), fields);
            }
        }
        Value::Null => {
            fields.insert(format!("{path} null"));
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) => {
            let path = path.replace(NODE, "node");
            let is_steady = STEADY.iter().any(|end| path.ends_with(end));
            fields.insert(if is_steady { format!("{path} is {value}") } else { path });
        }
    }
}
