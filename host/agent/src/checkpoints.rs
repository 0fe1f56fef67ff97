//! What the agent has to remember of pods beyond its own end: whom it admitted, how pods ended, and which ids they have. Each pod's is a
//! file in its own folder, so that nothing grows with their number, and one that can't be read costs one pod.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use thiserror::Error;
use witlet_core::error::one_line;
use witlet_core::event::{Event, EventObject};
use witlet_core::pod::PodUid;
use witlet_core::pod::checkpoint::{CheckpointError, EndReport, OlderCheckpoints, PodCheckpoint};
use witlet_core::pod::edit::AcceptedContainers;
use witlet_core::pod::user_namespace::{IdRange, UserNamespaceFileError, UserNamespaces, to_file, wants_own};
use witlet_core::status::StartedContainers;
use witlet_ports::{EventSink, PodFiles, StateStore};

use crate::settings::AgentSettings;

/// What earlier builds wrote of all pods together. It is taken over once, and empty from then on.
const ADMITTED_PODS: &str = "admitted-pods.json";
const NONE_ADMITTED: &[u8] = br#"{"version":1,"admitted":{}}"#;
const ENDED_PODS: &str = "ended-pods.json";
const NONE_ENDED: &[u8] = b"{}";
const ENDED_PARTS: u8 = 32;
const USER_NAMESPACES: &str = "user-namespaces.json";

/// Which ids of user namespaces pods have that may run isn't known.
#[derive(Debug, Error)]
#[error("read which ids of user namespaces are in use, from {of}: {problem}")]
pub struct IdsUnknown {
    /// Path of the file.
    of: String,
    /// What is wrong with it.
    problem: String,
}

/// What was saved before the start.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) checkpoints: BTreeMap<PodUid, Checkpoint>,
    /// The ids of pods that have some of their own.
    pub(crate) user_namespaces: UserNamespaces,
}

/// One pod's checkpoint, as it is to be and as it is on disk.
#[derive(Debug, Default)]
pub(crate) struct Checkpoint {
    /// None if a restarted agent has nothing to know of the pod.
    content: Option<Arc<PodCheckpoint>>,
    /// None if nothing is on disk.
    on_disk: Option<Arc<PodCheckpoint>>,
}

impl Checkpoint {
    /// Whether the verdict on this pod stands, of which something was here before.
    pub(crate) fn is_remembered(&self, pod: &Pod, was_here: bool) -> bool {
        self.content.as_ref().is_some_and(|content| content.is_remembered(pod, was_here))
    }

    /// Whether it would but for edits that admission is asked about apart.
    pub(crate) fn is_edited(&self, pod: &Arc<Pod>, was_here: bool) -> bool {
        self.content.as_ref().is_some_and(|content| content.is_edited(pod, was_here))
    }

    /// Whether an earlier build saved it, which saves less of an admitted pod.
    pub(crate) fn is_of_earlier_build(&self) -> bool {
        self.content.as_ref().is_some_and(|content| !content.is_whole())
    }

    /// Images and ephemeral containers that were admitted; none if that isn't known.
    pub(crate) fn accepted(&self) -> Option<&AcceptedContainers> {
        self.content.as_ref()?.accepted()
    }

    /// The last status of a pod that has ended.
    pub(crate) fn ended(&self) -> Option<&PodStatus> {
        self.content.as_ref()?.ended()
    }

    /// How many seconds the containers of an evicted pod have to end.
    pub(crate) fn grace_seconds(&self) -> Option<i64> {
        self.content.as_ref()?.grace_seconds()
    }

    /// The pod as it is to be known after a restart; none if nothing has to be known of it.
    pub(crate) fn content(&self) -> Option<Arc<PodCheckpoint>> {
        self.content.clone()
    }

    /// Probes have found this of the containers of an admitted pod.
    pub(crate) fn set_started(&mut self, started: StartedContainers) {
        if let Some(content) = self.content.as_mut().filter(|content| *content.started() != started) {
            Arc::make_mut(content).set_started(started);
        }
    }

    /// Whether that isn't on disk.
    pub(crate) fn is_unsaved(&self) -> bool {
        self.content.is_some() && self.on_disk != self.content
    }

    /// Marks this content as written.
    pub(crate) fn saved(&mut self, content: Arc<PodCheckpoint>) {
        if self.content.is_some() {
            self.on_disk = Some(content);
        }
    }

    /// That the node ended the pod was reported.
    pub(crate) fn reported(&mut self, report: &EndReport) {
        if let Some(content) = &mut self.content {
            Arc::make_mut(content).reported(report);
        }
    }

    /// Returns what a restarted agent has to know, to be changed.
    pub(crate) fn content_mut(&mut self) -> &mut PodCheckpoint {
        Arc::make_mut(self.content.get_or_insert_default())
    }

    /// The pod is gone. Says whether something of it may be on disk.
    pub(crate) fn forget(&mut self) -> bool {
        std::mem::take(self).content.is_some()
    }
}

/// Gives the pod ids of its own, if it wants some and has none. They are on disk before its sandbox is made. A pod that gets none
/// fails to start, with words of its own.
pub(crate) fn give_ids(user_namespaces: &mut UserNamespaces, pod: &Pod) {
    let uid = PodUid::of(pod);
    if wants_own(pod) && user_namespaces.of(&uid).is_none() {
        _ = user_namespaces.allocate(&uid);
    }
}

/// Returns what was saved before the restart. What can't be read is as if nothing had been saved, and reported. But not the ids of pods that
/// may run: others would get the same ones.
pub(crate) async fn load(
    state: &dyn StateStore,
    files: &dyn PodFiles,
    events: &dyn EventSink,
    settings: &AgentSettings,
) -> Result<Loaded, IdsUnknown> {
    let user_namespaces = user_namespaces(state, files, settings.user_namespace_ids).await?;
    let mut checkpoints = take_over(state, files, events).await;
    let on_disk = files.list().await.unwrap_or_else(|error| {
        let what = "Admission is repeated for all pods: failed to list pod directories";
        report(events, "CheckpointsLost", format!("{what}: {}", one_line(&error)));
        Vec::new()
    });
    for uid in on_disk {
        let content = match files.checkpoint(&uid).await {
            Ok(None) => continue,
            Ok(Some(bytes)) => PodCheckpoint::decode(&bytes).map_err(|error| one_line(&error)),
            Err(error) => Err(one_line(&error)),
        };
        match content {
            Ok(content) => {
                let content = Some(Arc::new(content));
                checkpoints.insert(uid, Checkpoint { on_disk: content.clone(), content });
            }
            Err(error) => {
                let what =
                    format!("Admission is repeated for pod {uid}: failed to read its checkpoint: {error}");
                report(events, "CheckpointLost", what);
            }
        }
    }
    if settings.readmit_on_restart {
        checkpoints.values_mut().for_each(|checkpoint| checkpoint.content_mut().forget_admission());
    }
    Ok(Loaded { checkpoints, user_namespaces })
}

fn report(events: &dyn EventSink, reason: &str, message: String) {
    events.record(Event::warning(EventObject::Node, reason, message));
}

/// Gives each pod its own of what earlier builds wrote of all. What can't be written now is taken over again at the next start.
async fn take_over(
    state: &dyn StateStore,
    files: &dyn PodFiles,
    events: &dyn EventSink,
) -> BTreeMap<PodUid, Checkpoint> {
    type Add = fn(&mut OlderCheckpoints, &[u8]) -> Result<(), CheckpointError>;
    let parts = (0..ENDED_PARTS).map(|number| format!("ended-pods-{number:02}.json"));
    let ended = parts.chain([ENDED_PODS.to_owned()]);
    let ended = ended.map(|name| (name, OlderCheckpoints::add_ended as Add, NONE_ENDED));
    let admitted = (ADMITTED_PODS.to_owned(), OlderCheckpoints::add_admitted as Add, NONE_ADMITTED);
    let (mut older, mut found) = (OlderCheckpoints::default(), Vec::new());
    for (name, add, none) in std::iter::once(admitted).chain(ended) {
        let added = match state.load(&name).await {
            Ok(None) => continue,
            Ok(Some(bytes)) if bytes == none => continue,
            Ok(Some(bytes)) => add(&mut older, &bytes).map_err(|error| one_line(&error)),
            Err(error) => Err(one_line(&error)),
        };
        if let Err(error) = added {
            let what = format!("Admission is repeated for pods: failed to read {name}: {error}");
            report(events, "CheckpointsLost", what);
        }
        found.push((name, none));
    }
    let mut entries = BTreeMap::new();
    let mut all_written = true;
    for (uid, content) in older.into_pods() {
        let is_there = files.checkpoint(&uid).await.is_ok_and(|known| known.is_some());
        let written = is_there || files.write_checkpoint(&uid, &content.encode()).await.is_ok();
        all_written &= written;
        let content = Some(Arc::new(content));
        let on_disk = content.clone().filter(|_| written && !is_there);
        entries.insert(uid, Checkpoint { content, on_disk });
    }
    // An earlier build that comes back can read what is left behind.
    for (name, none) in found.into_iter().filter(|_| all_written) {
        if let Err(error) = state.save(&name, none).await {
            tracing::warn!(
                file = name,
                error = one_line(&error),
                "Failed to empty a checkpoint file of an earlier release"
            );
        }
    }
    entries
}

/// The ids that pods have from before, as this agent or a kubelet noted them.
async fn user_namespaces(
    state: &dyn StateStore,
    files: &dyn PodFiles,
    range: IdRange,
) -> Result<UserNamespaces, IdsUnknown> {
    let failed =
        |of: &str, error: &dyn std::error::Error| IdsUnknown { of: of.to_owned(), problem: one_line(error) };
    let mut all = UserNamespaces::of_range(range);
    let bytes = state.load(USER_NAMESPACES).await.map_err(|e| failed(USER_NAMESPACES, &e))?;
    let none = serde_json::to_vec(&UserNamespaces::default());
    let none = none.expect("a map of texts and numbers always has a JSON form");
    let bytes = bytes.filter(|bytes| *bytes != none);
    if let Some(bytes) = &bytes {
        let saved: UserNamespaces =
            serde_json::from_slice(bytes).map_err(|error| failed(USER_NAMESPACES, &error))?;
        all = saved.within(range).map_err(|error| failed(USER_NAMESPACES, &error))?;
    }
    let on_disk = files.list().await.map_err(|error| failed("the folders of pods", &error))?;
    for uid in on_disk {
        let of = || format!("pods/{uid}/userns");
        if let Some(content) = files.user_namespace(&uid).await.map_err(|error| failed(&of(), &error))? {
            match all.restore_from_file(&uid, &content) {
                // What is left of a pod whose ids were given to another one, which are known to be in use.
                Err(UserNamespaceFileError::Range(error)) if all.of(&uid).is_none() => {
                    tracing::warn!(pod_uid = %uid, %error, "User namespace IDs of the pod directory belong to another pod");
                }
                restored => restored.map_err(|error| failed(&of(), &error))?,
            }
        } else if let Some(ids) = all.of(&uid) {
            // It was in the checkpoint of all pods only.
            let written = files.write_user_namespace(&uid, &to_file(&ids)).await;
            written.map_err(|error| failed(&of(), &error))?;
        }
    }
    if bytes.is_some() {
        state.save(USER_NAMESPACES, &none).await.map_err(|error| failed(USER_NAMESPACES, &error))?;
    }
    Ok(all)
}

/// Reads what was saved. What can't be read is as if nothing had been saved, with an event of this reason and message.
pub(crate) async fn load_checkpoint<T: Default>(
    state: &dyn StateStore,
    events: &dyn EventSink,
    name: &str,
    read: impl Fn(&[u8]) -> Result<T, String>,
    (reason, what): (&str, &str),
) -> T {
    let loaded = match state.load(name).await {
        Ok(None) => return T::default(),
        Ok(Some(bytes)) => read(&bytes),
        Err(error) => Err(one_line(&error)),
    };
    loaded.unwrap_or_else(|error| {
        report(events, reason, format!("{what}: {error}"));
        T::default()
    })
}
