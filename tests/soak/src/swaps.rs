//! Plugins of all three roles are swapped while a hundred pods are probed, come and go: each call is answered by the old
//! version or by the new one, none by the old after the swap, none is lost, and what the swaps took is given back.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::sleep;

use witlet_harness::fake_node::{FakeNode, NodeView, WitnessCall, failed, moment, pod, probed, write_script};
use witlet_harness::usage::Usage;

/// Pods that are probed.
const PODS: usize = 100;

/// Pods that the source brings.
const BROUGHT: usize = 3;

/// Plugins that are swapped with one change of the configuration.
const PLUGINS: [&str; 3] = ["judge", "witness", "bringer"];

/// Rounds of the short form: 51 swaps.
const ROUNDS_SHORT: u64 = 17;

/// Rounds of the long form: 1,002 swaps.
const ROUNDS_LONG: u64 = 334;

/// Rounds after which the daemon has what it needs for swaps.
const ROUNDS_FIRST: u64 = 5;

/// What may be more after all rounds than after the first ones. Threads come and go with the work.
const GROWTH_MAX: Usage = Usage { files: 4, threads: 16, memory_kib: 24 * 1024 };

/// How often, and how many times, the daemon is checked: what it takes at rest is the least of each.
const REST: (Duration, usize) = (Duration::from_millis(100), 50);

fn entries(folder: &Path, port: u16, version: u64) -> Value {
    let component = format!("./witness-{}.wasm", version % 2);
    let network = json!([format!("127.0.0.1:{port}")]);
    json!([
        {
            "name": "judge", "component": component, "config": {"version": version},
            // A busy machine isn't what this is about.
            "admission": {}, "limits": {"timeout": "10s"},
        },
        {
            "name": "witness", "component": component, "config": {"version": version, "port": port},
            "probe": {}, "grants": {"network": network},
        },
        {
            "name": "bringer", "component": component, "config": {"version": version, "port": port},
            "podSource": {"interval": "1s", "allow": {"namespaces": ["brought"]}},
            "grants": {"network": network, "files": [{"path": folder.join("script"), "guestPath": "/script"}]},
        },
    ])
}

fn script() -> Value {
    let mut brought = pod("brought", "brought-{n}");
    brought["metadata"]["uid"] = json!("0123456789abcdef0123456789abcde{n}");
    brought["metadata"]["labels"] = json!({"version": "v{version}"});
    json!({"do": "bring", "texts": [brought.to_string()], "times": BROUGHT})
}

fn stress_pod(number: usize) -> Value {
    let readiness = json!({"type": "witness", "parameters": {}, "periodMilliseconds": 1000, "timeoutMilliseconds": 10_000});
    probed(pod("stress", &format!("stress-{number}")), &readiness)
}

fn asks(name: &str) -> Value {
    let mut pod = pod("asks", name);
    pod["metadata"]["annotations"] = json!({"witness.example.com/tell": "yes"});
    pod
}

/// When a version was asked for, and when it was seen in place of the one before.
#[derive(Clone, Copy, Debug)]
struct Swap {
    begun: i64,
    done: i64,
}

/// The swaps by their versions.
type Swaps = BTreeMap<u64, Swap>;

/// Whether the version could be asked when the call began.
fn is_right(reported: &WitnessCall, swaps: &Swaps) -> bool {
    let (own, next) = (swaps.get(&reported.version), swaps.get(&(reported.version + 1)));
    own.is_some_and(|own| own.begun <= reported.began) && next.is_none_or(|next| reported.began <= next.done)
}

struct Stage {
    node: FakeNode,
    swaps: Swaps,
    /// Containers of what the source brought.
    brought: BTreeMap<String, String>,
    digests: Vec<Value>,
    /// What the witness reported of probes, and of polls.
    counted: (u64, u64),
    most: Usage,
}

/// Swaps 51 times, or a thousand.
#[allow(clippy::print_stderr, reason = "the figures are part of what this shows")]
pub(crate) async fn play(long: bool) -> Result<(), Failed> {
    let rounds = if long { ROUNDS_LONG } else { ROUNDS_SHORT };
    let begun = moment();
    let node = FakeNode::start(&["--max-pods", "1000", "--stop-pods-on-exit"], |folder, port| {
        write_script(folder, "script", &script()).expect("the folder is the test's own");
        entries(folder, port, 0)
    })
    .await?;
    let swaps = Swaps::from([(0, Swap { begun, done: begun })]);
    let (counted, most, digests) = ((0, 0), Usage::default(), Vec::new());
    let mut stage = Stage { node, swaps, brought: BTreeMap::new(), digests, counted, most };
    stage.settle().await?;
    let mut first = stage.rest().await?;
    for version in 1..=rounds {
        stage.round(version).await?;
        if version == ROUNDS_FIRST {
            first = stage.rest().await?;
        }
    }
    let last = stage.rest().await?;
    let Stage { node, counted, most, .. } = stage.finish().await?;
    eprintln!(
        "{} swaps of three plugins under {PODS} pods, {} probes and {} polls: {first} after {} swaps, {last} after \
         all of them, {most} at most",
        rounds * 3,
        counted.0,
        counted.1,
        ROUNDS_FIRST * 3,
    );
    if !last.growth_since(first).is_within(GROWTH_MAX) {
        return Err(Failed::from(format!("the daemon grew from {first} to {last}")));
    }
    node.end().await
}

impl Stage {
    /// Everything runs for the first time.
    async fn settle(&mut self) -> Result<(), Failed> {
        // A pod whose handler is there before its probe type would tell of a probe that couldn't be carried out.
        let loaded =
            |view: &NodeView| view.configured().filter(|plugin| plugin["state"] == "Ready").count() == 3;
        self.node.until("three plugins are loaded", loaded).await?;
        for number in 0..PODS {
            self.node.put(&format!("stress-{number}"), &[stress_pod(number)])?;
        }
        let view = self.node.until("all pods run and are ready", |view| {
            ready(view) == PODS && view.running("brought").len() == BROUGHT
        });
        let view = view.await?;
        self.brought = view.running("brought");
        self.digests = digests(&view);
        Ok(())
    }

    async fn round(&mut self, version: u64) -> Result<(), Failed> {
        let (early, late) = (format!("early-{version}"), format!("late-{version}"));
        let gone = usize::try_from(version).unwrap_or_default() - 1;
        self.node.put(&early, &[asks(&early)])?;
        self.node.remove(&format!("stress-{gone}"))?;
        self.node.put(&format!("stress-{}", gone + PODS), &[stress_pod(gone + PODS)])?;
        let begun = moment();
        self.node.configure(&entries(self.node.folder.path(), self.node.port, version))?;
        let before = self.digests.clone();
        let view = self.node.until("three plugins are swapped", |view| {
            let digests = digests(view);
            digests.len() == PLUGINS.len() && digests.iter().zip(&before).all(|(now, before)| now != before)
        });
        self.digests = digests(&view.await?);
        self.swaps.insert(version, Swap { begun, done: moment() });
        self.node.put(&late, &[asks(&late)])?;
        let label = format!("v{version}");
        let view = self.node.until("the new versions are reported and the pods run", |view| {
            let judged = |name: &str| view.pod(name).is_some_and(|pod| pod["status"]["phase"] == "Failed");
            let brought = view.pods.iter().filter(|pod| pod["metadata"]["labels"]["version"] == *label);
            judged(&early) && judged(&late) && brought.count() == BROUGHT && ready(view) == PODS
        });
        let view = view.await?;
        self.check(&view, version)?;
        self.node.remove(&early)?;
        self.node.remove(&late)?;
        let process = self.node.daemon.pid().ok_or("the daemon runs")?;
        self.most = self.most.max(Usage::of(process)?);
        Ok(())
    }

    /// Nothing wrong was said, nothing was lost, and nothing was restarted.
    fn check(&mut self, view: &NodeView, version: u64) -> Result<(), Failed> {
        let reason = |name: &str| {
            view.pod(name).and_then(|pod| pod["status"]["reason"].as_str()).unwrap_or_default().to_owned()
        };
        let (old, new) = (format!("Version{}", version - 1), format!("Version{version}"));
        let (early, late) = (reason(&format!("early-{version}")), reason(&format!("late-{version}")));
        if (early != old && early != new) || late != new {
            return Err(Failed::from(format!(
                "version {version}: judged with {early}, and after it with {late}"
            )));
        }
        if view.running("brought") != self.brought {
            return Err(Failed::from("what the source brought was restarted"));
        }
        for plugin in view.configured() {
            let errors = plugin["roles"].as_array().into_iter().flatten().map(|role| &role["errors"]);
            let restarted = plugin["state"] != "Ready";
            if restarted || errors.into_iter().any(|errors| *errors != 0) {
                return Err(Failed::from(format!("version {version}: a call was lost: {plugin}")));
            }
        }
        if let Some(event) = view.events.iter().find(|event| event["reason"] == "Unhealthy") {
            return Err(Failed::from(format!("version {version}: a probe was lost: {event}")));
        }
        for reported in self.node.take_reported() {
            let counted = if reported.who == "source" { &mut self.counted.1 } else { &mut self.counted.0 };
            *counted += 1;
            if !is_right(&reported, &self.swaps) {
                let near: Vec<_> = self.swaps.range(reported.version..).take(2).collect();
                return Err(Failed::from(format!("an outdated version was asked: {reported:?}, {near:?}")));
            }
        }
        Ok(())
    }

    /// What the daemon takes between calls.
    async fn rest(&self) -> Result<Usage, Failed> {
        let process = self.node.daemon.pid().ok_or("the daemon runs")?;
        let mut least = Usage { files: u64::MAX, threads: u64::MAX, memory_kib: u64::MAX };
        for _ in 0..REST.1 {
            let now = Usage::of(process)?;
            least = Usage {
                files: least.files.min(now.files),
                threads: least.threads.min(now.threads),
                memory_kib: least.memory_kib.min(now.memory_kib),
            };
            sleep(REST.0).await;
        }
        Ok(least)
    }

    /// Each probe that was counted has reported itself.
    async fn finish(mut self) -> Result<Self, Failed> {
        let pods = self.node.folder.path().join("manifests");
        for entry in std::fs::read_dir(pods)? {
            std::fs::remove_file(entry?.path())?;
        }
        let gone = self.node.until("the pods are gone", |view| view.running("stress").is_empty()).await?;
        let reported = self.node.take_reported();
        self.counted.0 += u64::try_from(reported.iter().filter(|reported| reported.who != "source").count())
            .unwrap_or_default();
        let calls = gone.plugin("witness").map(|plugin| plugin["roles"][0]["calls"].as_u64());
        let calls = calls.flatten().ok_or("the plugin is listed")?;
        // The end of a pod cuts its probe: it may have reported and not been counted, or the other way round.
        let cut = u64::try_from(PODS).unwrap_or_default() + self.swaps.len() as u64;
        if calls.abs_diff(self.counted.0) > cut {
            let reported = format!("{calls} probes were counted and {} have reported", self.counted.0);
            return Err(failed(&std::io::Error::other(reported)));
        }
        Ok(self)
    }
}

/// Of the component of each plugin, once all are asked.
fn digests(view: &NodeView) -> Vec<Value> {
    let ready = PLUGINS.iter().filter_map(|name| view.plugin(name));
    ready
        .filter(|plugin| plugin["state"] == "Ready" && plugin["pending"].is_null())
        .map(|plugin| plugin["digest"].clone())
        .collect()
}

fn ready(view: &NodeView) -> usize {
    let pods = view.pods.iter().filter(|pod| pod["metadata"]["namespace"] == "stress");
    pods.filter(|pod| pod["status"]["containerStatuses"][0]["ready"] == true).count()
}
