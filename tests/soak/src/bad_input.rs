//! Pods that misuse what they are given, on containerd: each ends as Kubernetes 1.36 has it, pods next to them don't
//! notice, and nothing is left of any of them.

mod pods;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;
use witlet_harness::WAIT_TIMEOUT;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use witlet_core::status::termination_message::{FILE_BYTES_MAX, LOG_BYTES_MAX};
use witlet_loss_checks::{Kind, full_name};

use crate::world::{World, failed};

/// How much of the daemon's log is shown when something failed, in lines.
const LOG_TAIL_LINES: usize = 200;

/// How often is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// What is seen of one pod.
struct PodView<'a> {
    pod: &'a Value,
    events: &'a [Value],
}

impl PodView<'_> {
    fn phase(&self) -> &str {
        self.pod["status"]["phase"].as_str().unwrap_or_default()
    }

    fn container(&self) -> &Value {
        &self.pod["status"]["containerStatuses"][0]
    }

    fn is_ready(&self) -> bool {
        self.container()["ready"] == true
    }

    fn runs(&self) -> bool {
        self.container()["state"]["running"].is_object()
    }

    fn restarts(&self) -> i64 {
        self.container()["restartCount"].as_i64().unwrap_or_default()
    }

    fn waits_for(&self, reason: &str) -> bool {
        self.container()["state"]["waiting"]["reason"] == reason
    }

    /// Whether its container has ended, with a message of so many bytes that ends in [`pods::LAST_WORDS`].
    fn said(&self, bytes: usize) -> bool {
        let message = self.container()["state"]["terminated"]["message"].as_str().unwrap_or_default();
        message.len() == bytes && message.ends_with(pods::LAST_WORDS)
    }

    fn has_event(&self, reason: &str, words: &str) -> bool {
        let is_it = |event: &Value| {
            event["reason"] == reason && event["message"].as_str().unwrap_or_default().contains(words)
        };
        self.events.iter().any(is_it)
    }
}

/// A pod, and how one sees that it has come to what it has to.
type Case = (&'static str, fn(&PodView<'_>) -> bool);

/// Nothing of its status changes before the hook has returned. An agent that finds it running doesn't run the hook again.
const HOOK_AT_START: &str = "hook-at-start";

/// As upstream has it.
const CASES: &[Case] = &[
    (HOOK_AT_START, |seen| seen.phase() == "Pending" && seen.has_event("Started", "app") && !seen.is_ready()),
    ("hook-at-stop", |seen| seen.runs() && seen.is_ready()),
    ("slow-head", |seen| {
        seen.restarts() > 0
            && seen.has_event("Unhealthy", "Liveness probe failed: Get ")
            && seen.has_event("Killing", "liveness")
    }),
    // What can't be judged has no result.
    ("slow-body", |seen| {
        seen.runs()
            && !seen.is_ready()
            && seen.restarts() == 0
            && seen.has_event("Unhealthy", "Readiness probe errored")
    }),
    ("endless-body", |seen| seen.runs() && seen.is_ready()),
    ("hanging-command", |seen| {
        seen.runs()
            && !seen.is_ready()
            && seen.restarts() == 0
            && seen.has_event("Unhealthy", "Readiness probe ")
    }),
    ("huge-command", |seen| seen.runs() && seen.is_ready()),
    ("huge-message", |seen| seen.phase() == "Failed" && seen.said(FILE_BYTES_MAX)),
    ("huge-log", |seen| seen.phase() == "Failed" && seen.said(LOG_BYTES_MAX)),
    ("link-out", |seen| {
        seen.waits_for("CreateContainerConfigError") && seen.has_event("Failed", "failed to prepare subPath")
    }),
    ("link-left", |seen| seen.runs() && seen.is_ready()),
    ("no-folder", |seen| {
        let reported =
            seen.has_event("FailedMount", "MountVolume.SetUp failed for volume \"work\" : hostPath ");
        seen.phase() == "Pending" && seen.waits_for("ContainerCreating") && reported
    }),
];

/// Plays all of them at once.
pub(crate) async fn play() -> Result<(), Failed> {
    let mut stage = Stage { world: World::start(Kind::Containerd).await?, begun: Instant::now() };
    let outcome = stage.play().await;
    let log = stage.world.daemon.log();
    let ended = stage.world.end().await;
    outcome.map_err(|problem| {
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n");
        Failed::from(format!("{}\nthe daemon's log:\n{tail}", problem.message().unwrap_or_default()))
    })?;
    ended
}

struct Stage {
    world: World,
    begun: Instant,
}

impl Stage {
    #[allow(clippy::print_stderr, reason = "the figures are part of what this shows")]
    fn tell(&self, what: &str) {
        eprintln!("bad input: {what} after {:.1} s", self.begun.elapsed().as_secs_f64());
    }

    async fn play(&mut self) -> Result<(), Failed> {
        let answers = self.world.daemon.wait_for_pods("the daemon answers", |_| true).await;
        answers.map(drop).map_err(|error| failed(&error))?;
        let before = self.world.remains_before().await?;
        let host = PathBuf::from(self.world.host_folder());
        let missing = host.join("missing");
        let group = fs::metadata(&host)?.gid();

        self.begun = Instant::now();
        self.write("steady", &pods::healthy())?;
        for (name, _) in CASES {
            self.write(name, &pods::bad(name, &host, &missing)?)?;
        }
        self.wait("steady", |seen| seen.is_ready()).await?;
        self.tell("a pod that was begun with them is ready");
        self.all_come_to_what_they_have_to(false).await?;
        self.tell("each has come to what it has to");
        self.add_another("late").await?;
        self.write("cut", &pods::bad(HOOK_AT_START, &host, &missing)?)?;
        self.wait("cut", |seen| seen.has_event("Started", "app")).await?;
        fs::remove_file(self.world.manifest("cut"))?;
        let full = full_name("cut");
        let is_gone = |pods: &[Value], _: &[Value]| pods.iter().all(|pod| pod["metadata"]["name"] != *full);
        self.wait_until("a pod is gone though its hook hangs", is_gone).await?;
        self.tell("a pod is gone in the midst of its hook");

        // In the midst of hooks and probes that hang. Volumes with links that lead out of them are set up again.
        self.world.daemon.kill_and_restart().map_err(|error| failed(&error))?;
        self.add_another("later").await?;
        self.all_come_to_what_they_have_to(true).await?;
        fs::create_dir(&missing)?;
        self.wait("no-folder", |seen| seen.is_ready()).await?;
        self.tell("after a restart it is the same, and a folder that came is found");

        for name in CASES.iter().map(|(name, _)| *name).chain(["late", "later"]) {
            fs::remove_file(self.world.manifest(name))?;
        }
        self.wait_until("all bad pods are gone", |pods, _| pods.len() == 1).await?;
        self.tell("all are gone");
        let steady = self.wait("steady", |seen| seen.is_ready() && seen.restarts() == 0).await;
        steady.map_err(|problem| {
            Failed::from(format!("a healthy pod was hit: {}", problem.message().unwrap_or_default()))
        })?;
        fs::remove_file(self.world.manifest("steady"))?;
        self.nothing_remains(&before).await?;
        if fs::read(host.join("hello")).ok().as_deref() != Some(b"hello")
            || fs::metadata(&host)?.gid() != group
        {
            return Err(Failed::from("a link out of a volume was followed"));
        }
        Ok(())
    }

    fn write(&self, name: &str, spec: &Value) -> Result<(), Failed> {
        let metadata = json!({"name": name, "namespace": "default"});
        let manifest = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        let written = self.world.daemon.write_manifest(&format!("{name}.json"), &manifest.to_string());
        written.map_err(|error| failed(&error))
    }

    /// One more healthy pod starts next to all those that aren't.
    async fn add_another(&self, name: &str) -> Result<(), Failed> {
        let begun = Instant::now();
        self.write(name, &pods::healthy())?;
        self.wait(name, |seen| seen.is_ready()).await?;
        self.tell(&format!(
            "{name} is ready, {:.1} s after its manifest came,",
            begun.elapsed().as_secs_f64()
        ));
        Ok(())
    }

    async fn all_come_to_what_they_have_to(&self, restarted: bool) -> Result<(), Failed> {
        for (name, is_so) in CASES {
            match *name {
                HOOK_AT_START if restarted => self.wait(name, |seen| seen.runs() && seen.is_ready()).await?,
                _ => self.wait(name, *is_so).await?,
            }
        }
        Ok(())
    }

    /// Waits until the pod is so.
    async fn wait(&self, name: &str, is_so: fn(&PodView<'_>) -> bool) -> Result<(), Failed> {
        let full = full_name(name);
        let what = format!("{name} has come to what it has to");
        let found = self.wait_until(&what, |pods, events| {
            let pod = pods.iter().find(|pod| pod["metadata"]["name"] == *full);
            let of_it = events.iter().filter(|event| event["involvedObject"]["name"] == *full);
            let events: Vec<Value> = of_it.cloned().collect();
            pod.is_some_and(|pod| is_so(&PodView { pod, events: &events }))
        });
        found.await.map_err(|problem| {
            let log = self.world.log_of(&full);
            Failed::from(format!("{}\n{log}", problem.message().unwrap_or_default()))
        })
    }

    async fn wait_until(&self, what: &str, is_so: impl Fn(&[Value], &[Value]) -> bool) -> Result<(), Failed> {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        loop {
            let (mut pods, mut events) = (self.world.ask("/pods").await, self.world.ask("/events").await);
            let items =
                |answer: &mut Option<Value>| match answer.as_mut().map(|answer| answer["items"].take()) {
                    Some(Value::Array(items)) => Some(items),
                    _ => None,
                };
            let answers = (items(&mut pods), items(&mut events));
            if let (Some(pods), Some(events)) = &answers
                && is_so(pods, events)
            {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let status = |pod: &Value| format!("{}: {}", pod["metadata"]["name"], pod["status"]);
                let pods: Vec<String> = answers.0.iter().flatten().map(status).collect();
                return Err(Failed::from(format!(
                    "not within {WAIT_TIMEOUT:?}: {what}\n{}",
                    pods.join("\n")
                )));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    async fn nothing_remains(&self, before: &BTreeSet<String>) -> Result<(), Failed> {
        match self.world.left_since(before, WAIT_TIMEOUT).await {
            left if left.is_empty() => Ok(()),
            left => Err(Failed::from(format!("left:\n{}", left.join("\n")))),
        }
    }
}
