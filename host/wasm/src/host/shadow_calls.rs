//! Shadows of probe types and pod sources: asked after the plugin that counts, next to everything else, and compared.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};
use witlet_core::pod::PodFullName;
use witlet_core::probe::{ProbeOutcome, ProbeRequest};
use witlet_core::sources::compare::PodSetDigest;
use witlet_core::sources::plugin::{PollResponse, Snapshot};
use witlet_ports::ProbeError;

use super::{Shared, lock};
use crate::plugin::{Difference, Plugin};
use crate::role::Role;

/// Questions that wait to be put to shadows; while there are as many, others are skipped.
const QUEUE_MAX: usize = 64;
/// Questions that shadows answer at the same time, all together: a quarter of what calls may have.
const RUNNING_MAX: usize = 16;
/// Probes that one shadow answers at the same time.
const PROBES_MAX: usize = 4;
/// Pods of one comparison of sources that are reported; the others are counted.
const PODS_REPORTED_MAX: usize = 8;

/// A question that was answered, for a shadow.
pub(super) struct ShadowCall {
    plugin: Arc<Plugin>,
    asked: AnsweredQuestion,
}

enum AnsweredQuestion {
    Probe {
        request: Box<ProbeRequest>,
        outcome: ProbeOutcome,
    },
    /// The set of the source that counts.
    Poll(Arc<PodSetDigest>),
}

impl ShadowCall {
    fn role(&self) -> Role {
        match self.asked {
            AnsweredQuestion::Probe { .. } => Role::Probe,
            AnsweredQuestion::Poll(_) => Role::PodSource,
        }
    }
}

/// Where answered questions go, and what is known of sources that are compared.
pub(super) struct ShadowCalls {
    queue: mpsc::Sender<ShadowCall>,
    /// The newest set of each source that has a shadow, and of each shadow.
    sets: Mutex<BTreeMap<Arc<str>, KnownSet>>,
}

/// The newest set of a source.
#[derive(Clone, Default)]
struct KnownSet {
    /// Of the code and the configuration that it is of.
    version: (String, Arc<str>),
    pods: Option<Arc<PodSetDigest>>,
    /// Of a shadow, for its next poll.
    cursor: Option<String>,
}

/// Returns what the set of a plugin belongs to.
fn version(plugin: &Plugin) -> (String, Arc<str>) {
    let digest = plugin.code.ready().map(|loaded| loaded.digest.to_string()).unwrap_or_default();
    (digest, plugin.spec.config.clone())
}

/// The queue and its end.
pub(super) fn queue() -> (ShadowCalls, mpsc::Receiver<ShadowCall>) {
    let (queue, calls) = mpsc::channel(QUEUE_MAX);
    (ShadowCalls { queue, sets: Mutex::default() }, calls)
}

/// The shadows of a plugin in a role.
fn shadows_of<'a>(
    plugin: &'a Plugin,
    plugins: &'a [Arc<Plugin>],
    role: Role,
) -> impl Iterator<Item = &'a Arc<Plugin>> {
    plugins.iter().filter(move |shadow| shadow.spec.shadow_of(role) == Some(&*plugin.spec.name))
}

impl ShadowCalls {
    fn push(&self, plugin: &Arc<Plugin>, asked: AnsweredQuestion) {
        let call = ShadowCall { plugin: plugin.clone(), asked };
        if self.queue.try_send(call).is_err() {
            plugin.shadow_skipped();
        }
    }

    /// Has the shadows of a probe type asked what it was asked.
    pub(super) fn probed(
        &self,
        plugins: &[Arc<Plugin>],
        plugin: &Plugin,
        request: &ProbeRequest,
        result: &Result<ProbeOutcome, ProbeError>,
    ) {
        for shadow in shadows_of(plugin, plugins, Role::Probe) {
            match result {
                Ok(outcome) => {
                    let request = Box::new(request.clone());
                    self.push(shadow, AnsweredQuestion::Probe { request, outcome: outcome.clone() });
                }
                Err(_unknown) => shadow.shadow_skipped(),
            }
        }
    }

    /// Has the shadows of a pod source asked after it gave an answer.
    pub(super) fn polled(&self, plugins: &[Arc<Plugin>], plugin: &Plugin, answer: &PollResponse) {
        let mut shadows = shadows_of(plugin, plugins, Role::PodSource).peekable();
        if shadows.peek().is_none() {
            lock(&self.sets).remove(&plugin.spec.name);
            return;
        }
        let pods = self.newest(plugin, &answer.snapshot);
        for shadow in shadows {
            match &pods {
                Some(pods) => self.push(shadow, AnsweredQuestion::Poll(pods.clone())),
                // It says that its set is the one that it had before this program's start.
                None => shadow.shadow_skipped(),
            }
        }
    }

    /// Notes what a plugin's answer makes of its set, and returns the set.
    fn newest(&self, plugin: &Plugin, snapshot: &Snapshot) -> Option<Arc<PodSetDigest>> {
        let pods = match snapshot {
            Snapshot::Unchanged => None,
            Snapshot::Empty => Some(Arc::default()),
            Snapshot::Pods(manifests) => Some(Arc::new(PodSetDigest::of(manifests))),
        };
        let mut sets = lock(&self.sets);
        let known = sets.entry(plugin.spec.name.clone()).or_default();
        let version = version(plugin);
        if known.version != version {
            *known = KnownSet { version, ..KnownSet::default() };
        }
        if pods.is_some() {
            known.pods = pods;
        }
        known.pods.clone()
    }

    /// The cursor of a shadow's next poll.
    fn cursor(&self, plugin: &Plugin) -> Option<String> {
        let sets = lock(&self.sets);
        let known = sets.get(&plugin.spec.name)?;
        if known.version == version(plugin) { known.cursor.clone() } else { None }
    }

    fn keep_cursor(&self, plugin: &Plugin, cursor: Option<String>) {
        if let Some(known) = lock(&self.sets).get_mut(&plugin.spec.name) {
            known.cursor = cursor;
        }
    }

    /// Forgets sets of plugins that are gone.
    pub(super) fn retain(&self, plugins: &[Arc<Plugin>]) {
        lock(&self.sets).retain(|name, _| plugins.iter().any(|plugin| plugin.spec.name == *name));
    }
}

/// Asks until the host is gone.
pub(super) async fn run(shared: Weak<Shared>, mut calls: mpsc::Receiver<ShadowCall>) {
    let mut running = JoinSet::new();
    let mut of: Vec<(Id, Arc<str>, Role)> = Vec::new();
    loop {
        tokio::select! {
            call = calls.recv() => {
                let Some(call) = call else { return };
                let (plugin, role) = (call.plugin.clone(), call.role());
                let same = of.iter().filter(|(_, name, its)| *name == plugin.spec.name && *its == role).count();
                // The next poll of a source begins where the last one ended.
                let most = match role {
                    Role::Admission | Role::PodSource => 1,
                    Role::Probe => PROBES_MAX,
                };
                if same >= most || of.len() >= RUNNING_MAX {
                    plugin.shadow_skipped();
                    continue;
                }
                let shared = shared.clone();
                let task = running.spawn(async move {
                    if let Some(shared) = shared.upgrade() {
                        shared.compare_call(call).await;
                    }
                });
                of.push((task.id(), plugin.spec.name.clone(), role));
            }
            Some(ended) = running.join_next_with_id() => {
                let id = match &ended {
                    Ok((id, ())) => *id,
                    Err(error) => error.id(),
                };
                of.retain(|(running, ..)| *running != id);
            }
        }
    }
}

impl Shared {
    async fn compare_call(&self, call: ShadowCall) {
        let ShadowCall { plugin, asked } = call;
        match asked {
            AnsweredQuestion::Probe { request, outcome } => {
                self.compare_probe(&plugin, &request, &outcome).await
            }
            AnsweredQuestion::Poll(pods) => self.compare_poll(&plugin, &pods).await,
        }
    }

    async fn compare_probe(&self, plugin: &Plugin, request: &ProbeRequest, outcome: &ProbeOutcome) {
        if plugin.code.ready().is_none() {
            plugin.shadow_skipped();
            return;
        }
        let called = self.call_probe(plugin, request).await;
        let Ok(ours) = called.result.clone() else {
            self.record_probe(plugin, request, called);
            plugin.shadow_failed();
            return;
        };
        let agrees = has_passed(&ours) == has_passed(outcome);
        match &plugin.recorder {
            Some(recorder) if !agrees => recorder.differing_probe(request, called.execs, &ours, called.took),
            Some(_) | None => self.record_probe(plugin, request, called),
        }
        plugin.metrics().record_shadow(agrees);
        if agrees {
            plugin.shadow().agreed();
            return;
        }
        let difference = Difference {
            pod: format!("{}/{}", PodFullName::of(&request.pod), request.container),
            uid: request.pod.metadata.uid.clone().unwrap_or_default(),
            time: self.clock.now().to_string(),
            verdict: summary(&ours),
            decision: summary(outcome),
        };
        self.report_difference(plugin, difference, &says(plugin, Role::Probe));
    }

    async fn compare_poll(&self, plugin: &Plugin, theirs: &PodSetDigest) {
        if plugin.code.ready().is_none() {
            plugin.shadow_skipped();
            return;
        }
        let before = self.shadow_calls.cursor(plugin);
        let (result, took) = self.poll_measured(plugin, before.as_deref()).await;
        let Ok(Ok(answer)) = result else {
            plugin.shadow_failed();
            return;
        };
        let ours = self.shadow_calls.newest(plugin, &answer.snapshot);
        self.shadow_calls.keep_cursor(plugin, answer.cursor.clone());
        let Some(ours) = ours else {
            plugin.shadow_failed();
            return;
        };
        let differences = ours.differences(theirs);
        plugin.metrics().record_shadow(differences.is_empty());
        if differences.is_empty() {
            plugin.shadow().agreed();
            return;
        }
        if let Some(recorder) = &plugin.recorder {
            recorder.differing_poll(before.as_deref(), answer, took);
        }
        let by = says(plugin, Role::PodSource);
        let count = differences.len();
        for (pod, difference) in differences.into_iter().take(PODS_REPORTED_MAX) {
            let difference = Difference {
                pod,
                uid: String::new(),
                time: self.clock.now().to_string(),
                verdict: format!("it {difference}, one of {count} differences"),
                decision: format!("{} pods, where it has {}", theirs.len(), ours.len()),
            };
            self.report_difference(plugin, difference, &by);
        }
    }
}

/// Who it is compared with, for an event.
fn says(plugin: &Plugin, role: Role) -> String {
    format!("{} says", plugin.spec.shadow_of(role).unwrap_or_default())
}

fn has_passed(outcome: &ProbeOutcome) -> bool {
    match outcome {
        ProbeOutcome::Success(_) | ProbeOutcome::Warning(_) => true,
        ProbeOutcome::Failure(_) => false,
    }
}

/// Summarizes the outcome in a few words.
fn summary(outcome: &ProbeOutcome) -> String {
    let (word, text) = match outcome {
        ProbeOutcome::Success(text) | ProbeOutcome::Warning(text) => ("success", text),
        ProbeOutcome::Failure(text) => ("failure", text),
    };
    if text.is_empty() { word.to_owned() } else { crate::plugin::cut(format!("{word}: {text}")) }
}
