//! Next to a real kubelet: pods of every class get the same files of cgroups from both, each goes on with the pods of the other, and both
//! tell the same figures.

mod figures;
mod files;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, ResourceRequirements};
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::sleep;
use witlet_api_server::Admission;
use witlet_harness::cluster::{
    ADDRESS, Cluster, Ground, NODE, TOKEN, address, container, failed, free_address, refused,
};
use witlet_harness::{BUSYBOX_IMAGE, DaemonOptions, asks_for_systemd, cgroups, tunables};

use super::ContainerdTest;

pub(crate) const TESTS: &[(&str, ContainerdTest)] = &[
    ("pods_have_the_cgroup_files_of_a_kubelet", |endpoint| Box::pin(at_home(compare(endpoint)))),
    ("a_kubelet_and_witlet_resize_pods_of_each_other", |endpoint| Box::pin(at_home(switch(endpoint)))),
    ("figures_are_those_of_a_kubelet", |endpoint| Box::pin(at_home(figures::compare(endpoint)))),
];

/// The path of a kubelet.
const VARIABLE: &str = "WITLET_KUBELET";
/// Gates of both, such as `MemoryQoS=true,QOSReserved=true`.
const GATES_VARIABLE: &str = "WITLET_KUBELET_GATES";
/// More of the configuration of both, as a JSON object.
const CONFIG_VARIABLE: &str = "WITLET_KUBELET_CONFIG";

/// Some of the pods, by their names, in place of all; for slow machines.
const PODS_VARIABLE: &str = "WITLET_KUBELET_PODS";

/// Classes are set once a minute.
const SETTLED: Duration = Duration::from_secs(70);

/// Why there is nothing to compare with.
pub(crate) fn why_not() -> Option<String> {
    kubelet().is_none().then(|| format!("{VARIABLE} isn't set to the path of a kubelet"))
}

fn kubelet() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A kubelet wants an address that isn't the loopback's own.
async fn at_home(test: impl Future<Output = Result<(), Failed>>) -> Result<(), Failed> {
    address("replace")?;
    let tested = test.await;
    address("delete")?;
    tested
}

/// Who runs the pods.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Agent {
    Kubelet,
    Witlet,
}

/// Hides what a kubelet has in fixed agent_files.
const HIDE: &str = "mount -t tmpfs tmpfs /var/lib && mkdir /var/lib/kubelet || exit 1\n";

struct AgentFiles {
    kubeconfig: PathBuf,
    config: PathBuf,
    options: DaemonOptions,
}

impl AgentFiles {
    /// The command line of either: the same flags and the same files.
    fn line(&self, agent: Agent) -> Result<Vec<String>, Failed> {
        let mut line = match agent {
            Agent::Kubelet => vec![kubelet().ok_or("there is no kubelet")?.display().to_string()],
            Agent::Witlet => {
                let program = witlet_harness::program::witlet().map_err(failed)?;
                let socket = self.options.root.join("api.sock");
                let socket = format!("--api-socket={}", socket.display());
                vec![program.display().to_string(), "kubelet".to_owned(), socket]
            }
        };
        line.extend([
            format!("--config={}", self.config.display()),
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!("--root-dir={}", self.options.root.display()),
            format!("--container-runtime-endpoint={}", self.options.endpoint),
            format!("--hostname-override={NODE}"),
            format!("--node-ip={ADDRESS}"),
            // A kubelet's figures of cgroups have names of pods only if it finds the runtime's own socket.
            format!("--containerd={}", self.options.endpoint.trim_start_matches("unix://")),
            "--v=2".to_owned(),
        ]);
        Ok(tunables::with_copies_and(HIDE, line))
    }
}

async fn start(endpoint: String, agent: Agent) -> Result<(Cluster, AgentFiles), Failed> {
    let ground = Ground::on(Admission::default(), endpoint).await?;
    let kubeconfig = ground.kubeconfig("kubelet.conf", &json!({"token": TOKEN}))?;
    let (healthz, server) = (free_address().await?, free_address().await?);
    let gates = std::env::var(GATES_VARIABLE).unwrap_or_default();
    let gates: BTreeMap<&str, bool> = gates
        .split(',')
        .filter_map(|gate| Some((gate.split_once('=')?.0, gate.ends_with("=true"))))
        .collect();
    let mut config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": Ipv4Addr::LOCALHOST, "port": server.port(), "healthzPort": healthz.port(),
        "authentication": {"x509": {"clientCAFile": ground.path("ca.crt")}},
        "contentType": "application/json", "featureGates": gates, "podLogsDir": ground.path("pod-logs"),
        "volumePluginDir": ground.path("volume-plugins"), "failCgroupV1": false, "failSwapOn": false,
        "evictionHard": {"memory.available": "1Mi"}, "imageGCHighThresholdPercent": 100, "podPidsLimit": 1000,
        "cgroupRoot": cgroups::root_of(&ground.endpoint), "serializeImagePulls": false,
        "cgroupDriver": if asks_for_systemd() { "systemd" } else { "cgroupfs" },
    });
    if let Ok(more) = std::env::var(CONFIG_VARIABLE) {
        let more: BTreeMap<String, Value> = serde_json::from_str(&more)?;
        more.into_iter().for_each(|(key, value)| config[key] = value);
    }
    let path = ground.path("config.yaml");
    std::fs::write(&path, config.to_string())?;
    cgroups::flags(&ground.endpoint);
    let options = DaemonOptions::below(ground.folder.path(), "unshare", &*ground.endpoint);
    let mut agent_files = AgentFiles { kubeconfig, config: path, options };
    agent_files.options.command_line = Some(agent_files.line(agent)?);
    let cluster = Cluster::launch(ground, agent_files.options.clone(), [healthz, server]).await?;
    cluster.node_ready().await?;
    Ok((cluster, agent_files))
}

fn amounts(cpu: &str, memory: &str) -> Value {
    json!({"cpu": cpu, "memory": memory})
}

fn both(requests: Value, limits: Value) -> Value {
    json!({"requests": requests, "limits": limits})
}

fn exactly(cpu: &str, memory: &str) -> Value {
    both(amounts(cpu, memory), amounts(cpu, memory))
}

fn app(name: &str, resources: Value) -> Value {
    // Nothing that wakes up: many pods share an emulated machine.
    let script = "trap 'exit 0' TERM; sleep 3600 & wait";
    json!({"name": name, "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", script], "resources": resources})
}

/// Pods of each class, and all that decides about their cgroups, by their names.
fn pods() -> Vec<(&'static str, Value)> {
    let one = |resources: Value| json!({"containers": [app("app", resources)]});
    let two = |first: Value, second: Value| json!({"containers": [app("app", first), app("more", second)]});
    let mut sidecar = app("sidecar", exactly("50m", "16Mi"));
    sidecar["restartPolicy"] = json!("Always");
    let mut setup = app("setup", exactly("150m", "80Mi"));
    setup["command"] = json!(["/bin/true"]);
    let mut started = one(exactly("100m", "32Mi"));
    started["initContainers"] = json!([setup, sidecar]);
    let mut heavy = one(exactly("120m", "32Mi"));
    heavy["overhead"] = amounts("80m", "24Mi");
    let mut heavy_request = one(json!({"requests": amounts("40m", "16Mi")}));
    heavy_request["overhead"] = amounts("30m", "8Mi");
    let mut whole = two(json!({}), json!({"requests": amounts("50m", "8Mi")}));
    whole["resources"] = exactly("150m", "64Mi");
    let mut part = two(json!({}), both(amounts("50m", "8Mi"), amounts("150m", "24Mi")));
    part["resources"] = both(amounts("110m", "40Mi"), json!({"memory": "96Mi"}));
    let mut asks = two(json!({}), json!({}));
    asks["resources"] = json!({"requests": amounts("70m", "12Mi")});
    let mut critical = one(json!({"requests": amounts("10m", "8Mi")}));
    critical["priority"] = json!(2_000_001_000);
    critical["priorityClassName"] = json!("system-node-critical");
    let mut privileged = one(json!({}));
    privileged["containers"][0]["securityContext"] = json!({"privileged": true});
    vec![
        ("guaranteed", one(exactly("250m", "64Mi"))),
        ("guaranteed-two", two(exactly("200m", "64Mi"), exactly("3m", "6Mi"))),
        ("guaranteed-start", started),
        ("guaranteed-overhead", heavy),
        ("guaranteed-whole", whole),
        ("burstable-requests", one(json!({"requests": amounts("170m", "64Mi")}))),
        (
            "burstable-limits",
            two(
                both(amounts("100m", "16Mi"), amounts("200m", "32Mi")),
                json!({"limits": amounts("5m", "16Mi")}),
            ),
        ),
        ("burstable-one-limit", two(both(amounts("50m", "16Mi"), amounts("200m", "32Mi")), json!({}))),
        ("burstable-memory", one(both(json!({"memory": "16Mi"}), json!({"memory": "48Mi"})))),
        ("burstable-cpu", one(both(json!({"cpu": "1m"}), json!({"cpu": "2"})))),
        ("burstable-overhead", heavy_request),
        ("burstable-whole", part),
        ("burstable-asks", asks),
        ("critical", critical),
        ("besteffort", two(json!({}), json!({}))),
        ("besteffort-privileged", privileged),
    ]
}

fn create(cluster: &Cluster, name: &str, spec: &Value) -> Result<(), Failed> {
    let mut spec = spec.clone();
    let common = json!({
        "nodeName": NODE, "automountServiceAccountToken": false, "enableServiceLinks": false,
        "terminationGracePeriodSeconds": 1,
    });
    if let (Some(spec), Value::Object(common)) = (spec.as_object_mut(), common) {
        spec.extend(common);
    }
    let pod: Pod = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    }))?;
    cluster.api().create(&pod).map_err(refused)?;
    Ok(())
}

/// What all files of cgroups have under this agent.
#[allow(clippy::print_stderr, reason = "it takes minutes, and much longer on the emulated machine")]
async fn seen_under(endpoint: &str, agent: Agent) -> Result<files::Files, Failed> {
    let expected = std::env::var(PODS_VARIABLE).ok();
    let mut pods = pods();
    pods.retain(|(name, _)| {
        expected.as_ref().is_none_or(|expected| expected.split(',').any(|one| one == *name))
    });
    let (cluster, _) = start(endpoint.to_owned(), agent).await?;
    for (name, spec) in &pods {
        create(&cluster, name, spec)?;
    }
    for (name, _) in &pods {
        cluster.ready(name).await?;
    }
    eprintln!("{} pods run under {agent:?}", pods.len());
    sleep(SETTLED).await;
    let seen = files::read(&cluster);
    for (name, _) in &pods {
        cluster.delete(name, Some(1))?;
    }
    for (name, _) in &pods {
        let is_gone = |cluster: &Cluster| cluster.pod(name).is_none().then_some(());
        cluster.until(&format!("{name} is gone"), is_gone).await?;
    }
    cluster.end().await?;
    Ok(seen)
}

/// The same pods under both, one after the other.
#[allow(clippy::print_stderr, reason = "the figure is part of what this shows")]
async fn compare(endpoint: String) -> Result<(), Failed> {
    let kubelets = seen_under(&endpoint, Agent::Kubelet).await?;
    let own = seen_under(&endpoint, Agent::Witlet).await?;
    let differences = files::differences(&kubelets, &own);
    if differences.is_empty() {
        eprintln!("{} files of cgroups are the same under both", own.len());
        return Ok(());
    }
    Err(format!("of {} files, kubelet and witlet:\n{}", kubelets.len(), differences.join("\n")).into())
}

/// Wishes for other resources, and waits until the container has them and its pod's cgroup, too.
async fn resize(cluster: &Cluster, name: &str, milli: u64, mebi: u64) -> Result<(), Failed> {
    let wish: ResourceRequirements =
        serde_json::from_value(exactly(&format!("{milli}m"), &format!("{mebi}Mi")))?;
    cluster.api().resize("default", name, "app", &wish).map_err(refused)?;
    let has_all = |cluster: &Cluster| {
        let pod = cluster.pod(name)?;
        let status = pod.status.as_ref()?;
        let shown = status.container_statuses.as_ref()?.first()?.resources.clone()?;
        (shown == wish).then_some(())
    };
    cluster.until(&format!("{name} has {milli}m and {mebi}Mi"), has_all).await
}

/// Kubelet, witlet and kubelet, each resizing the pods that are there.
async fn switch(endpoint: String) -> Result<(), Failed> {
    let (mut cluster, agent_files) = start(endpoint, Agent::Kubelet).await?;
    let one = |resources: Value| json!({"containers": [app("app", resources)]});
    create(&cluster, "first", &one(exactly("250m", "64Mi")))?;
    let first = cluster.ready("first").await?;
    let mut before = vec![("first", container(&first))];
    // Up, and down below what it had before.
    let wishes = [
        (Agent::Witlet, 500, 96),
        (Agent::Witlet, 100, 48),
        (Agent::Kubelet, 300, 80),
        (Agent::Kubelet, 150, 56),
    ];
    let mut runs = Agent::Kubelet;
    for (agent, milli, mebi) in wishes {
        if agent != runs {
            cluster.daemon.replace(agent_files.line(agent)?).map_err(failed)?;
            runs = agent;
            if agent == Agent::Witlet {
                create(&cluster, "second", &one(exactly("250m", "64Mi")))?;
                before.push(("second", container(&cluster.ready("second").await?)));
            }
        }
        for (name, was) in &before {
            resize(&cluster, name, milli, mebi).await?;
            let is = cluster.pod(name).and_then(|pod| container(&pod));
            if is != *was {
                return Err(cluster.failure(&format!("{agent:?} restarted {name}: {was:?}, {is:?}")));
            }
        }
        let missing = |cluster: &Cluster| {
            before.iter().flat_map(|(name, _)| files::not_limited(cluster, name, milli, mebi)).collect()
        };
        cluster.until_nothing_is_missing(&format!("limits by {agent:?}"), missing).await?;
    }
    for (name, _) in &before {
        cluster.delete(name, Some(1))?;
        cluster.until("its object is gone", |cluster| cluster.pod(name).is_none().then_some(())).await?;
    }
    cluster.end().await
}
