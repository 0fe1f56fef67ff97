//! An API server that is unreachable for a minute.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Pod};
use libtest_mimic::Failed;
use serde_json::json;
use tokio::time::sleep;

use witlet_harness::cluster::Traffic;
use witlet_harness::cluster::{Cluster, container, exit_code, failed, is_true, phase};

/// A minute: connections fall silent, then the process is gone, then a listener in its place never answers.
const AWAY: [(Traffic, Duration); 3] = [
    (Traffic::Blocked, Duration::from_secs(15)),
    (Traffic::Cut, Duration::from_secs(20)),
    (Traffic::Blocked, Duration::from_secs(25)),
];
/// Pods of each kind.
const EACH: usize = 4;
/// How long nothing more may be reported, once all has been.
const CALM: Duration = Duration::from_secs(12);
/// Status PATCHes that a pod may cost after the return: a new one three, and on a busy machine steps between them are reported, too.
const PATCHES_MAX: usize = 5;
/// With what a job fails.
const CODE: i32 = 3;

/// What happens to a pod while the API server is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Nothing.
    Steady,
    /// Its container crashes, and is started again.
    Crashes,
    /// It ends well.
    Finishes,
    /// It ends badly.
    Fails,
    /// It is deleted with its grace.
    Deleted,
    /// Its object goes at once.
    Forced,
    /// It ends, and is deleted.
    FinishesAndGoes,
    /// Another pod takes its name.
    Replaced,
}

const FATES: [(Fate, &str, &str); 8] = [
    (Fate::Steady, "steady", "Always"),
    (Fate::Crashes, "crashes", "Always"),
    (Fate::Finishes, "finishes", "Never"),
    (Fate::Fails, "fails", "Never"),
    (Fate::Deleted, "deleted", "Always"),
    (Fate::Forced, "forced", "Always"),
    (Fate::FinishesAndGoes, "done", "OnFailure"),
    (Fate::Replaced, "replaced", "Always"),
];

/// Those that come while the node can't learn of them.
const NEW: &str = "new";
/// The mirror of a static pod that comes meanwhile.
const MIRROR: &str = "meanwhile-node1";

fn pods() -> impl Iterator<Item = (Fate, String, &'static str)> {
    FATES.into_iter().flat_map(|(fate, name, policy)| {
        (0..EACH).map(move |number| (fate, format!("{name}-{number}"), policy))
    })
}

fn new_pods() -> impl Iterator<Item = String> {
    (0..EACH).map(|number| format!("{NEW}-{number}"))
}

/// Before: which container each pod had.
type Before = BTreeMap<String, Option<(String, i32)>>;

/// What happens while the API server is away, unreported.
fn happens(cluster: &Cluster) -> Result<(), Failed> {
    for (fate, name, policy) in pods() {
        let exits = |code| match cluster.cri().exit(&name, code) {
            1 => Ok(()),
            others => Err(cluster.failure(&format!("{name} has {others} containers that run"))),
        };
        match fate {
            Fate::Steady => {}
            Fate::Crashes => exits(1)?,
            Fate::Finishes => exits(0)?,
            Fate::Fails => exits(CODE)?,
            Fate::Deleted => cluster.delete(&name, None)?,
            Fate::Forced => cluster.delete(&name, Some(0))?,
            Fate::FinishesAndGoes => {
                exits(0)?;
                cluster.delete(&name, None)?;
            }
            Fate::Replaced => {
                cluster.delete(&name, Some(0))?;
                cluster.create_with(&name, policy)?;
            }
        }
    }
    for name in new_pods() {
        cluster.create(&name)?;
    }
    let manifest = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "meanwhile"},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "registry.example.com/app:1.0"}],
        },
    });
    cluster.daemon.write_manifest("meanwhile.json", &manifest.to_string()).map_err(failed)
}

/// What isn't right yet, after the return.
fn missing(cluster: &Cluster, before: &Before) -> Vec<String> {
    let mut missing = Vec::new();
    for (fate, name, _) in pods() {
        let pod = cluster.pod(&name);
        let old = before.get(&name).cloned().flatten();
        let now = pod.as_ref().and_then(container);
        let ready = pod.as_ref().is_some_and(|pod| is_true(pod, "Ready"));
        let ended = |desired: &str, code| {
            pod.as_ref().is_some_and(|pod| phase(pod) == desired && exit_code(pod) == Some(code))
        };
        let is_right = match fate {
            Fate::Steady => ready && now == old,
            Fate::Crashes => ready && now.as_ref().is_some_and(|(_, restarts)| *restarts == 1),
            Fate::Finishes => ended("Succeeded", 0),
            Fate::Fails => ended("Failed", CODE),
            Fate::Deleted | Fate::Forced | Fate::FinishesAndGoes => pod.is_none(),
            Fate::Replaced => ready && now.as_ref().is_some_and(|(_, restarts)| *restarts == 0) && now != old,
        };
        if !is_right {
            missing.push(format!("{name}: {} {now:?}, before {old:?}", pod.as_ref().map_or("none", phase)));
        }
    }
    for name in new_pods().chain([MIRROR.to_owned()]) {
        if !cluster.pod(&name).is_some_and(|pod| is_true(&pod, "Ready")) {
            missing.push(name);
        }
    }
    let runs = cluster.cri().running();
    // Steady, crashed and replaced ones, new ones, and the static one.
    let expected = 4 * EACH + 1;
    if runs != expected {
        missing.push(format!("{runs} containers run, not {expected}"));
    }
    missing
}

/// Each start was reported once, and nothing was reported in two objects.
fn unreported(cluster: &Cluster) -> Vec<String> {
    let names = pods().map(|(_, name, _)| name).chain(new_pods()).chain([MIRROR.to_owned()]);
    names
        .filter_map(|name| {
            let starts = cluster.cri().started(&name, "main");
            let reported = cluster.event_count(&name, "Started");
            (starts != reported)
                .then(|| format!("{name} was started {starts} times and reported {reported} times"))
        })
        .collect()
}

fn repeated(cluster: &Cluster) -> Vec<String> {
    let mut objects = BTreeMap::new();
    for event in cluster.api().list::<Event>() {
        let of = event.involved_object;
        // Of what was deleted and of the node the same may happen again, much later.
        let key = (of.uid, of.name, event.reason, event.message);
        *objects.entry(key).or_insert(0) += 1;
    }
    objects
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .map(|(key, count)| format!("{key:?} {count}"))
        .collect()
}

/// How many status PATCHes each pod cost since requests were counted.
fn patches(cluster: &Cluster) -> BTreeMap<String, usize> {
    let mut patches = BTreeMap::new();
    for request in cluster.api().requests() {
        if request.verb == "patch" && request.resource == "pods" && request.subresource == "status" {
            *patches.entry(request.name).or_default() += 1;
        }
    }
    patches
}

/// Pods go on meanwhile; after it every status is right, nothing stays on its way out, and nothing is reported twice.
pub(super) async fn a_minute() -> Result<(), Failed> {
    let cluster = Cluster::start().await?;
    cluster.node_ready().await?;
    for (_, name, policy) in pods() {
        cluster.create_with(&name, policy)?;
    }
    let mut before = Before::new();
    for (_, name, _) in pods() {
        let pod = cluster.ready(&name).await?;
        before.insert(name, container(&pod));
    }
    cluster.until_nothing_is_missing("all starts are reported", unreported).await?;

    let starts = cluster.cri().starts().len();
    let mut away = AWAY.into_iter();
    let (traffic, time) = away.next().ok_or("it is away")?;
    cluster.ground.road.set(traffic);
    cluster.api().clear_requests();
    happens(&cluster)?;
    sleep(time).await;
    for (traffic, time) in away {
        cluster.ground.road.set(traffic);
        sleep(time).await;
    }
    cluster
        .until("crashed pods and the static one run without it", |c| {
            (c.cri().starts().len() == starts + EACH + 1).then_some(())
        })
        .await?;
    let requests = cluster.api().requests().len();
    // What was on its way when the road was blocked may have arrived.
    if cluster.cri().running() != 5 * EACH + 1 || !cluster.api().list::<Pod>().iter().any(leaves) {
        return Err(cluster.failure(&format!("{requests} requests came over a road that was blocked")));
    }

    cluster.ground.road.set(Traffic::Open);
    cluster.until_nothing_is_missing("everything is right again", |c| missing(c, &before)).await?;
    cluster.until_nothing_is_missing("all starts are reported", unreported).await?;
    sleep(CALM).await;
    let (missing, unreported, repeated) =
        (missing(&cluster, &before), unreported(&cluster), repeated(&cluster));
    let storm: Vec<_> = patches(&cluster).into_iter().filter(|(_, count)| *count > PATCHES_MAX).collect();
    if !(missing.is_empty() && unreported.is_empty() && repeated.is_empty() && storm.is_empty()) {
        let wrong = format!("wrong: {missing:?} {unreported:?}\nrepeated: {repeated:#?}\nPATCHes: {storm:?}");
        return Err(cluster.failure(&wrong));
    }
    let gets = cluster.api().count("get pods");
    if gets > 0 {
        return Err(cluster.failure(&format!("statuses cost {gets} reads")));
    }
    cluster.end().await
}

fn leaves(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}
