//! The hostile corpus against the real daemon, on a runtime that answers at once: pods are held up by handlers that attack,
//! probed by types that attack, and polled for from sources that attack, next to pods that don't notice. What the daemon takes
//! is measured, and comes back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use witlet_server::LocalClient;
use witlet_test_guests::corpus::{Attack, Expected, Origin, Role, attacks};
use witlet_test_guests::{FORGERS, HANDLERS, INTRUDER, NO_LATEST_TAG, SOURCER};

use witlet_harness::WAIT_TIMEOUT;
use witlet_harness::fake_node::{FakeNode, NodeView, failed, pod, probed};
use witlet_harness::usage::Usage;

/// Attacks that are played at the same time.
const AT_ONCE: usize = 15;
/// The short form plays one of so many.
const SHORT_STEP: usize = 6;
/// Pods that mustn't notice.
const GOOD: usize = 10;
/// What the daemon may take more once they are gone than before they came.
const GROWTH_MAX: Usage = Usage { files: 8, threads: 16, memory_kib: 128 << 10 };
/// How often is checked what the daemon takes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// What was seen of the daemon.
#[derive(Default)]
struct Measured {
    before: Usage,
    peak: Usage,
    after: Usage,
    pause: Duration,
}

/// Plays a part of the corpus, or all that needs no servers.
pub(crate) async fn play(all: bool) -> Result<(), Failed> {
    let alone = attacks().filter(|attack| needs_no_one(attack));
    let chosen: Vec<&Attack> = alone.step_by(if all { 1 } else { SHORT_STEP }).collect();
    let node = FakeNode::start(&[], |folder, _port| {
        place_common(folder);
        entries(&[], folder)
    })
    .await?;
    let begun = Instant::now();
    let mut seen = Measured::default();
    let outcome = attack(&node, &chosen, &mut seen).await;
    let Measured { before, peak, after, pause } = seen;
    eprintln!(
        "{} attacks on the daemon in {:.0} s: longest pause of its event loop {:.1} ms; before: {before}; at most: {peak}; \
         after: {after}",
        chosen.len(),
        begun.elapsed().as_secs_f64(),
        pause.as_secs_f64() * 1e3,
    );
    let ended = node.end().await;
    outcome.and(ended)
}

async fn attack(node: &FakeNode, chosen: &[&Attack], seen: &mut Measured) -> Result<(), Failed> {
    let good: Vec<Value> = (0..GOOD)
        .map(|number| probed(pod("good", &format!("good-{number}")), &json!({"type": "good-probe"})))
        .collect();
    node.put("good", &good)?;
    node.put("attacked", &[])?;
    // The honest probe says no, so that an answer that isn't its own would show.
    let settled = |view: &NodeView| view.running("good").len() == GOOD && reported_good(view);
    let running = node.until("the good pods run", settled).await?.running("good");
    seen.before = usage(node)?;
    for batch in chosen.chunks(AT_ONCE) {
        play_batch(node, batch, seen).await?;
        let view = node.until("the daemon answers", |_| true).await?;
        unharmed(&view, &running)?;
    }
    node.configure(&entries(&[], node.folder.path()))?;
    node.remove("attacked")?;
    let only_good = |view: &NodeView| view.pods.len() == GOOD && view.configured().count() == 2;
    let view = node.until("the attackers are gone", only_good).await?;
    unharmed(&view, &running)?;
    seen.pause = pause(node).await?;
    let begun = Instant::now();
    loop {
        seen.after = usage(node)?;
        if seen.after.growth_since(seen.before).is_within(GROWTH_MAX) {
            break;
        }
        if begun.elapsed() >= WAIT_TIMEOUT {
            return Err(Failed::from(format!("the daemon grew from {} to {}", seen.before, seen.after)));
        }
        sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Plays these until each has come to what it has to.
async fn play_batch(node: &FakeNode, batch: &[&Attack], seen: &mut Measured) -> Result<(), Failed> {
    let folder = node.folder.path();
    for attack in batch {
        place(attack, folder)?;
    }
    node.remove("attacked")?;
    node.until("the pods of others are gone", |view| view.pods.len() == GOOD).await?;
    node.configure(&entries(batch, folder))?;
    // Pods that come before the attackers do meet none of them.
    let tried = |view: &NodeView, attack: &&&Attack| {
        view.plugin(attack.name).is_some_and(|plugin| plugin["state"] != "Loading")
    };
    node.until("the attackers are tried", |view| {
        batch.iter().filter(|attack| tried(view, attack)).count() == batch.len()
    })
    .await?;
    let pods: Vec<Value> = batch.iter().filter_map(|attack| attacked(attack)).collect();
    node.put("attacked", &pods)?;
    let names: Vec<&str> = batch.iter().map(|attack| attack.name).collect();
    let mut peak = seen.peak;
    // Not all at the same moment: a quarantine ends, and how long each takes until the next is a matter of the machine.
    let mut come = BTreeSet::new();
    node.until(&format!("what has to come of {names:?}"), |view| {
        if let Ok(now) = usage(node) {
            peak = peak.max(now);
        }
        come.extend(batch.iter().filter(|attack| has_come(attack, view)).map(|attack| attack.name));
        come.len() == batch.len()
    })
    .await
    .map_err(|failed| {
        let words = failed.message().unwrap_or_default().to_owned();
        Failed::from(format!("of {names:?}: {words}"))
    })?;
    seen.peak = peak;
    Ok(())
}

/// Whether it is known what came of an attack, and it is what should.
fn has_come(attack: &Attack, view: &NodeView) -> bool {
    let Some(plugin) = view.plugin(attack.name) else { return false };
    let text = |field: &str| plugin[field].as_str().unwrap_or_default().to_owned();
    let state = text("state");
    match attack.expected {
        Expected::Refused(words) => {
            state == "Failed" && words.iter().all(|words| text("detail").contains(words))
        }
        Expected::Fails(words) => {
            (state == "Quarantined" && text("lastError").contains(words))
                || view.has_event(attack.name, "PluginQuarantined", words)
        }
        Expected::Tells(_) => state == "Ready" && calls(plugin) > 0,
        Expected::Bounded => state == "Failed" || calls(plugin) > 0,
    }
}

fn calls(plugin: &Value) -> u64 {
    let roles = plugin["roles"].as_array().map(Vec::as_slice).unwrap_or_default();
    roles.iter().filter_map(|role| role["calls"].as_u64()).sum()
}

/// Whether the honest probe's own words were reported of a pod.
fn reported_good(view: &NodeView) -> bool {
    view.has_event("good-0-node1", "Unhealthy", "good")
}

/// The good pods have the containers that they had.
fn unharmed(view: &NodeView, running: &BTreeMap<String, String>) -> Result<(), Failed> {
    let now = view.running("good");
    if now != *running {
        return Err(Failed::from(format!("pods next to the attackers were {running:?} and are {now:?}")));
    }
    Ok(())
}

fn usage(node: &FakeNode) -> Result<Usage, Failed> {
    Ok(Usage::of(node.daemon.pid().ok_or("the daemon doesn't run")?)?)
}

async fn pause(node: &FakeNode) -> Result<Duration, Failed> {
    let client = LocalClient::new(&node.daemon.api_socket());
    let begun = Instant::now();
    let stats: Value = loop {
        match client.get("/stats").await {
            Ok(stats) => break stats,
            Err(error) if begun.elapsed() >= WAIT_TIMEOUT => return Err(failed(&error)),
            Err(_not_yet) => sleep(POLL_INTERVAL).await,
        }
    };
    let seconds = stats["longestPauseSeconds"].as_f64().ok_or("the daemon doesn't tell its longest pause")?;
    Ok(Duration::from_secs_f64(seconds))
}

/// Whether it meets no server of the test's.
fn needs_no_one(attack: &Attack) -> bool {
    let aimed = ["{server}", "{stream}", "{sink}", "{udp}", "{other}", "{host}", "{port}", "{folder}"];
    // Each would compile for as long as it may.
    let compiles = attack.name.starts_with("bomb-");
    !compiles && !aimed.iter().any(|aim| attack.config.contains(aim) || attack.grants.contains(aim))
}

fn place_common(folder: &Path) {
    for (name, bytes) in
        [("intruder.wasm", INTRUDER), ("sourcer.wasm", SOURCER), ("no-latest-tag.wasm", NO_LATEST_TAG)]
    {
        fs::write(folder.join(name), bytes).expect("the test's folder is writable");
    }
}

fn place(attack: &Attack, folder: &Path) -> Result<(), Failed> {
    let path = folder.join(format!("{}.wasm", attack.name));
    match attack.origin {
        Origin::Intruder | Origin::Sourcer => {}
        Origin::Written => {
            let mut all = HANDLERS.iter().chain(FORGERS);
            let (_, bytes) =
                all.find(|(name, _)| *name == attack.name).ok_or("the corpus names what isn't")?;
            fs::write(path, bytes)?;
        }
        Origin::Made(make) => fs::write(path, make())?,
        Origin::Sparse(make) => {
            let (head, length) = make();
            fs::write(&path, head)?;
            fs::OpenOptions::new().write(true).open(path)?.set_len(length)?;
        }
    }
    Ok(())
}

/// The configuration's entries: two honest plugins, and these.
fn entries(batch: &[&Attack], folder: &Path) -> Value {
    let mut entries = vec![
        json!({"name": "good-handler", "component": "./no-latest-tag.wasm", "admission": {"order": 1000}}),
        json!({"name": "good-probe", "component": "./intruder.wasm", "probe": {}, "config": "good"}),
    ];
    entries.extend(batch.iter().map(|attack| entry(attack, folder)));
    Value::Array(entries)
}

fn entry(attack: &Attack, folder: &Path) -> Value {
    let yaml = |text: &str| -> Value {
        serde_saphyr::from_str(&format!("{{{text}}}")).expect("the corpus is written in YAML")
    };
    let file = match attack.origin {
        Origin::Intruder => "intruder",
        Origin::Sourcer => "sourcer",
        Origin::Written | Origin::Made(_) | Origin::Sparse(_) => attack.name,
    };
    let config = match attack.origin {
        Origin::Intruder => json!(attack.config),
        Origin::Sourcer | Origin::Written | Origin::Made(_) | Origin::Sparse(_) => {
            yaml(&format!("config: {}", attack.config))["config"].take()
        }
    };
    let mut limits = json!({});
    if !attack.memory.is_empty() {
        limits["memory"] = json!(attack.memory);
    }
    if attack.role != Role::Probe {
        limits["timeout"] = json!(format!("{}ms", attack.timeout));
    }
    let role = match attack.role {
        Role::Admission => ("admission", json!({"match": {"namespaces": [attack.name]}})),
        Role::Probe => ("probe", json!({})),
        Role::PodSource => ("podSource", json!({"interval": "1s", "allow": {"namespaces": ["edge"]}})),
    };
    json!({
        "name": attack.name, "component": folder.join(format!("{file}.wasm")), role.0: role.1,
        "limits": limits, "grants": yaml(attack.grants), "config": config,
    })
}

/// The pod that meets an attack, if one has to.
fn attacked(attack: &Attack) -> Option<Value> {
    match attack.role {
        Role::Admission => Some(pod(attack.name, attack.name)),
        Role::Probe => {
            let check = json!({
                "type": attack.name, "periodMilliseconds": 1000, "timeoutMilliseconds": attack.timeout,
            });
            Some(probed(pod("probed", attack.name), &check))
        }
        Role::PodSource => None,
    }
}
