//! A pod source that fails, lies, hangs, floods and flaps next to a file and another source of pods: each is reported by an
//! event, what it brought before stands, no other source's pods notice, and it brings pods again once it is well.

use std::collections::BTreeMap;
use std::path::Path;
use witlet_harness::WAIT_TIMEOUT;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use witlet_harness::fake_node::{FakeNode, NodeView, POLL_INTERVAL, pod, write_script};
use witlet_harness::usage::Usage;

/// Pods of the file, and of the honest source.
const FILED: usize = 10;
const HONEST: usize = 2;

/// What a pod of the file is called, and its UID.
const TAKEN: (&str, &str) = ("filed-0", "00000000000000000000000000000000");

/// The namespace that is the faulty source's own.
const OWN: &str = "lies";

/// Bytes of a manifest that is far too long.
const LONG_BYTES: usize = 40 << 20;

/// Pods of the flood.
const FLOOD: usize = 10_000;

/// How often a source that flaps has pods and has none.
const FLAPS: usize = 5;

/// Events about the faulty source that may be remembered after all of it.
const EVENTS_MAX: usize = 200;

/// How much more the daemon may have after all lies than before: what was read at once was large.
const GROWTH_KIB_MAX: u64 = 96 * 1024;

fn entries(folder: &Path, version: u64, allow: &Value) -> Value {
    let source = |name: &str, version: u64, allow: &Value| {
        json!({
            "name": name, "component": "./witness-0.wasm", "config": {"version": version},
            "podSource": {"interval": "1s", "allow": allow}, "limits": {"timeout": "10s"},
            "grants": {"files": [{"path": folder.join(name), "guestPath": "/script"}]},
        })
    };
    json!([source("faulty", version, allow), source("honest", 0, &json!({"namespaces": ["honest"]}))])
}

fn bring(texts: &[Value], times: usize) -> Value {
    let texts: Vec<String> =
        texts.iter().map(|text| text.as_str().map_or_else(|| text.to_string(), str::to_owned)).collect();
    json!({"do": "bring", "texts": texts, "times": times})
}

fn named(namespace: &str, name: &str, uid: &str) -> Value {
    let mut pod = pod(namespace, name);
    pod["metadata"]["uid"] = json!(uid);
    pod
}

/// What the faulty source brings while it is well.
fn good() -> Value {
    bring(&[named(OWN, "good-{n}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{n}")], 2)
}

/// What the source does, and how it is reported: object, reason and words of an event.
struct FaultCase {
    what: &'static str,
    script: Value,
    reported: Vec<(&'static str, &'static str, &'static str)>,
    /// Whether its good pods aren't in the set, so that they end.
    ends_good: bool,
}

fn fault_case(
    what: &'static str,
    script: Value,
    reported: &[(&'static str, &'static str, &'static str)],
) -> FaultCase {
    FaultCase { what, script, reported: reported.to_vec(), ends_good: false }
}

/// Each fails as a whole: the last good set stands.
fn failures() -> Vec<FaultCase> {
    vec![
        fault_case(
            "an error",
            json!({"do": "fail", "reason": "Unwilling", "message": "not today"}),
            &[("faulty", "PodSourceFailed", "Unwilling: not today")],
        ),
        fault_case(
            "a set of no pods",
            json!({"do": "noPods"}),
            &[("faulty", "PodSourceFailed", "the list of pods is empty")],
        ),
        fault_case("a trap", json!({"do": "trap"}), &[("faulty", "PodSourceFailed", "")]),
        fault_case("no end", json!({"do": "spin"}), &[("faulty", "PodSourceFailed", "")]),
        fault_case("a memory bomb", json!({"do": "hoard"}), &[("faulty", "PodSourceFailed", "")]),
        fault_case(
            "a manifest of 40 MiB",
            json!({"do": "long", "bytes": LONG_BYTES}),
            &[("faulty", "PodSourceFailed", "")],
        ),
        fault_case(
            "ten thousand pods",
            bring(&[pod(OWN, "flood-{n}")], FLOOD),
            &[("faulty", "PodSourceFailed", "10000 pods")],
        ),
    ]
}

/// Each brings something besides its good pods that isn't run.
fn lies() -> Vec<FaultCase> {
    let good = named(OWN, "good-{n}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{n}");
    let with = |more: &[Value]| {
        let mut texts =
            vec![json!(good.to_string().replace("{n}", "0")), json!(good.to_string().replace("{n}", "1"))];
        texts.extend_from_slice(more);
        bring(&texts, 1)
    };
    let forged = |annotation: &str, value: &str| {
        let mut pod = pod(OWN, "forged");
        pod["metadata"]["annotations"] = json!({annotation: value});
        pod
    };
    let mut privileged = pod(OWN, "privileged");
    privileged["spec"]["containers"][0]["securityContext"] = json!({"privileged": true});
    let mut on_host = pod(OWN, "on-host");
    on_host["spec"]["hostNetwork"] = json!(true);
    on_host["spec"]["volumes"] = json!([{"name": "root", "hostPath": {"path": "/"}}]);
    let deployment =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}});
    let mut typed = pod(OWN, "typed");
    typed["spec"]["containers"] = json!("many");
    let twin = |name: &str| named(OWN, name, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
    vec![
        fault_case(
            "wrong types",
            with(&[json!("not: [yaml"), json!("42"), deployment, typed]),
            &[("faulty", "InvalidManifest", "")],
        ),
        fault_case(
            "a UID twice",
            with(&[twin("twin-a"), twin("twin-b")]),
            &[("faulty", "PodForbidden", "has its UID")],
        ),
        fault_case(
            "a pod of the file",
            with(&[named("filed", TAKEN.0, TAKEN.1)]),
            &[("faulty", "PodForbidden", "namespace filed is not in podSource.allow.namespaces")],
        ),
        fault_case(
            "another's signature",
            with(&[forged("kubernetes.io/config.source", "file")]),
            &[("faulty", "PodForbidden", "must not name another source")],
        ),
        fault_case(
            "an API server's signature",
            with(&[forged("kubernetes.io/config.mirror", "x")]),
            &[("faulty", "PodForbidden", "must not be set by a source")],
        ),
        fault_case(
            "privileged pods",
            with(&[privileged, on_host]),
            &[("faulty", "PodForbidden", "violates PodSecurity baseline")],
        ),
    ]
}

struct Stage {
    node: FakeNode,
    /// Another for each lie, so that each begins with a plugin that nothing is known of.
    version: u64,
    allow: Value,
    /// Containers of the file's and the honest source's pods.
    others: BTreeMap<String, String>,
    most: u64,
}

/// Tells all lies.
#[allow(clippy::print_stderr, reason = "the figures are part of what this shows")]
pub(crate) async fn play() -> Result<(), Failed> {
    let allow = json!({"namespaces": [OWN]});
    let node = FakeNode::start(&["--stop-pods-on-exit"], |folder, _| {
        let honest = bring(&[pod("honest", "honest-{n}")], HONEST);
        write_script(folder, "honest", &honest).expect("the folder is the test's own");
        write_script(folder, "faulty", &good()).expect("the folder is the test's own");
        entries(folder, 0, &allow)
    })
    .await?;
    let mut filed: Vec<Value> = (1..FILED).map(|number| pod("filed", &format!("filed-{number}"))).collect();
    filed.push(named("filed", TAKEN.0, TAKEN.1));
    node.put("filed", &filed)?;
    let mut stage = Stage { node, version: 0, allow, others: BTreeMap::new(), most: 0 };
    let view =
        stage.node.until("all pods run", |view| others(view).len() == FILED + HONEST && goods(view) == 2);
    stage.others = others(&view.await?);
    let before = stage.usage()?;
    for fault_case in failures().into_iter().chain(lies()) {
        stage.tell(&fault_case).await?;
    }
    stage.everywhere().await?;
    stage.flap().await?;
    stage.quarantine().await?;
    let after = stage.at_rest(before).await?;
    eprintln!(
        "a source that lies: the daemon had {} MiB before, {} MiB at most, {} MiB in the end",
        before.memory_kib / 1024,
        stage.most / 1024,
        after.memory_kib / 1024,
    );
    if after.memory_kib > before.memory_kib + GROWTH_KIB_MAX {
        return Err(Failed::from(format!("the daemon grew from {before} to {after}")));
    }
    stage.node.end().await
}

impl Stage {
    fn usage(&mut self) -> Result<Usage, Failed> {
        let usage = Usage::of(self.node.daemon.pid().ok_or("the daemon runs")?)?;
        self.most = self.most.max(usage.memory_kib);
        Ok(usage)
    }

    /// What the daemon takes once it has given back what it can, or after a while.
    async fn at_rest(&mut self, before: Usage) -> Result<Usage, Failed> {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        loop {
            let usage = self.usage()?;
            if usage.memory_kib <= before.memory_kib + GROWTH_KIB_MAX || Instant::now() >= deadline {
                return Ok(usage);
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    fn next(&mut self, script: &Value) -> Result<(), Failed> {
        self.version += 1;
        self.node.script("faulty", script)?;
        self.node.configure(&entries(self.node.folder.path(), self.version, &self.allow))
    }

    /// The fault is reported by events, and changes nothing; then the source is well again.
    #[allow(clippy::print_stderr, reason = "the figures are part of what this shows")]
    async fn tell(&mut self, fault_case: &FaultCase) -> Result<(), Failed> {
        let seen = counts(&self.node.until("the daemon answers", |_| true).await?);
        self.next(&fault_case.script)?;
        let (expected, goods_left) = (fault_case.reported.clone(), if fault_case.ends_good { 0 } else { 2 });
        let process = self.node.daemon.pid().ok_or("the daemon runs")?;
        let mut most = 0;
        let view = self.node.until(fault_case.what, |view| {
            most = most.max(Usage::of(process).map_or(0, |usage| usage.memory_kib));
            let now = counts(view);
            let is_new = |reason: &str| now.get(reason) > seen.get(reason);
            expected
                .iter()
                .all(|(object, reason, words)| view.has_event(object, reason, words) && is_new(reason))
        });
        let view = view.await?;
        self.most = self.most.max(most);
        eprintln!("{}: {} MiB; {}", fault_case.what, most / 1024, last_words(&view));
        self.no_one_noticed(&view, fault_case.what)?;
        if goods(&view) != goods_left {
            return Err(Failed::from(format!("{}: {} of its good pods run", fault_case.what, goods(&view))));
        }
        self.next(&good())?;
        let well = self.node.until("its good pods run", |view| goods(view) == 2 && own(view) == 2);
        let well = well.await?;
        self.no_one_noticed(&well, fault_case.what)
    }

    fn no_one_noticed(&self, view: &NodeView, what: &str) -> Result<(), Failed> {
        if others(view) == self.others {
            return Ok(());
        }
        Err(Failed::from(format!(
            "{what}: pods of others were touched: {:?}, {:?}",
            others(view),
            self.others
        )))
    }

    /// A source that may bring pods into every namespace brings one that a file has: the file's runs on.
    async fn everywhere(&mut self) -> Result<(), Failed> {
        let allowed = self.allow.clone();
        self.allow = json!({"namespaces": ["*"]});
        let mut thief = named("filed", TAKEN.0, TAKEN.1);
        thief["spec"]["containers"][0]["image"] = json!("registry.example.com/thief:1");
        let texts = [thief, pod(OWN, "good-0"), pod(OWN, "good-1")];
        self.next(&bring(&texts, 1))?;
        let view = self.node.until("it has brought another's pod", |view| goods(view) == 2).await?;
        self.no_one_noticed(&view, "another's pod")?;
        // Once a pod of the next set is there, all that this set did to others' pods is, too.
        self.next(&bring(&[&texts[..], &[pod(OWN, "later")]].concat(), 1))?;
        let view = self.node.until("its next set is there", |view| own(view) == 3).await?;
        self.no_one_noticed(&view, "another's pod")?;
        self.allow = allowed;
        self.next(&good())?;
        let view = self.node.until("its own pods run", |view| goods(view) == 2).await?;
        self.no_one_noticed(&view, "another's pod gone")
    }

    /// Pods and none, by turns.
    #[allow(clippy::print_stderr, reason = "the figures are part of what this shows")]
    async fn flap(&mut self) -> Result<(), Failed> {
        for _ in 0..FLAPS {
            self.next(&json!({"do": "empty"}))?;
            let view = self.node.until("it has none", |view| own(view) == 0).await?;
            self.no_one_noticed(&view, "none")?;
            self.next(&good())?;
            let view = self.node.until("it has two", |view| goods(view) == 2).await?;
            self.no_one_noticed(&view, "some")?;
            self.usage()?;
        }
        let view = self.node.until("the daemon answers", |_| true).await?;
        let about = view.events.iter().filter(|event| event["involvedObject"]["name"] == "faulty").count();
        eprintln!(
            "after {FLAPS} flaps {about} events about the faulty source are remembered, of {}",
            view.events.len()
        );
        if about > EVENTS_MAX {
            return Err(Failed::from(format!("{about} events about one source are remembered")));
        }
        Ok(())
    }

    /// It falls until it is left alone, and comes back by itself.
    async fn quarantine(&mut self) -> Result<(), Failed> {
        self.next(&json!({"do": "trap"}))?;
        let quarantined =
            |view: &NodeView| view.plugin("faulty").is_some_and(|plugin| plugin["state"] == "Quarantined");
        let view = self.node.until("it is in quarantine", quarantined).await?;
        self.no_one_noticed(&view, "quarantine")?;
        if !view.has_event("faulty", "PluginQuarantined", "") || goods(&view) != 2 {
            return Err(Failed::from("a quarantine is reported, and ends nothing"));
        }
        let brought = bring(&[named(OWN, "later-{n}", "ccccccccccccccccccccccccccccccc{n}")], 1);
        self.node.script("faulty", &brought)?;
        let view =
            self.node.until("it is well", |view| view.pod("later-0").is_some() && own(view) == 1).await?;
        self.no_one_noticed(&view, "the end of the quarantine")
    }
}

/// Containers of the pods that aren't the faulty source's.
fn others(view: &NodeView) -> BTreeMap<String, String> {
    let mut all = view.running("filed");
    all.extend(view.running("honest"));
    all
}

/// How many of its good pods run.
fn goods(view: &NodeView) -> usize {
    view.running(OWN).keys().filter(|name| name.starts_with("good-")).count()
}

/// How many pods it has at all.
fn own(view: &NodeView) -> usize {
    view.pods.iter().filter(|pod| pod["metadata"]["namespace"] == *OWN).count()
}

/// How often each reason was reported about the faulty source.
fn counts(view: &NodeView) -> BTreeMap<String, u64> {
    view.events.iter().filter(|event| event["involvedObject"]["name"] == "faulty").fold(
        BTreeMap::new(),
        |mut all, event| {
            let reason = event["reason"].as_str().unwrap_or_default().to_owned();
            *all.entry(reason).or_default() += event["count"].as_u64().unwrap_or_default();
            all
        },
    )
}

/// The newest event about the faulty source.
fn last_words(view: &NodeView) -> String {
    let about = view.events.iter().rev().find(|event| event["involvedObject"]["name"] == "faulty");
    about.map_or_else(String::new, |event| format!("{}: {}", event["reason"], event["message"]))
}
