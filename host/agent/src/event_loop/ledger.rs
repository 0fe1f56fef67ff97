//! What the agent has to remember of pods beyond its own end: whom it admitted, with which resources, with which ids.

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use witlet_core::admission::memory::AdmissionMemory;
use witlet_core::error::one_line;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::pod::PodUid;
use witlet_core::pod::allocation::{Allocation, Allocations};
use witlet_core::pod::ended::{EndedPart, EndedPods, PARTS};
use witlet_core::pod::user_namespace::{IdRange, UserNamespaceFileError, UserNamespaces, wants_own};
use witlet_ports::{EventSink, FilesError, PodFiles, StateStore};

use crate::agent::AgentError;
use crate::config::AgentConfig;

/// The names that its parts are saved under.
pub(crate) const ADMITTED_PODS: &str = "admitted-pods.json";
/// The kubelet's name, in its root folder.
pub(crate) const ALLOCATED_PODS: &str = "allocated_pods_state";
const USER_NAMESPACES: &str = "user-namespaces.json";
/// All of them, as earlier releases wrote it; read once, and empty from then on.
const ENDED_PODS: &str = "ended-pods.json";

const EMPTY_PAGE: &[u8] = b"{}";

/// Each part is a file, replaced whole when it changed.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    admitted: AdmissionMemory,
    allocations: Allocations,
    user_namespaces: UserNamespaces,
    /// The last statuses of pods that have ended.
    ended: EndedPods,
    /// They are still on disk in the form of earlier releases.
    ended_were_whole: bool,
    /// The pages that were taken last take them from there.
    whole_was_taken: bool,
    changed: Changed,
}

#[derive(Clone, Copy, Debug, Default)]
struct Changed {
    admitted: bool,
    allocations: bool,
    user_namespaces: bool,
}

/// What has to be written. It becomes bytes beside the loop, which waits for hundreds of pods' worth of it otherwise.
#[derive(Debug)]
pub(crate) struct Pages {
    allocations: Option<Allocations>,
    user_namespaces: Option<UserNamespaces>,
    ended: Vec<EndedPart>,
    empties_whole: bool,
    admitted: AdmissionMemory,
}

impl Ledger {
    /// What was saved before the restart. What can't be read is as if nothing had been saved, and told. But not the ids of
    /// pods that may run: others would get the same ones.
    pub(crate) async fn load(
        state: &dyn StateStore,
        files: &dyn PodFiles,
        events: &dyn EventSink,
        config: &AgentConfig,
    ) -> Result<Self, AgentError> {
        let mut ledger = Self::default();
        if !config.readmit_on_restart {
            let read = |bytes: &[u8]| AdmissionMemory::decode(bytes).map_err(|error| one_line(&error));
            let lost = ("AdmittedPodsLost", "All pods are judged again, for the admitted ones can't be read");
            ledger.admitted = load_checkpoint(state, events, ADMITTED_PODS, read, lost).await;
        }
        let read = |bytes: &[u8]| Allocations::decode(bytes).map_err(|error| one_line(&error));
        let lost = (
            "AllocatedResourcesLost",
            "Pods have the resources of their specs, for the allocated ones can't be read",
        );
        ledger.allocations = load_checkpoint(state, events, ALLOCATED_PODS, read, lost).await;
        ledger.user_namespaces = user_namespaces(state, files, config.user_namespace_ids).await?;
        ledger.load_ended(state, events).await;
        Ok(ledger)
    }

    async fn load_ended(&mut self, state: &dyn StateStore, events: &dyn EventSink) {
        let lost = (
            "EndedPodsLost",
            "Pods that had ended tell their containers' ends only, for their statuses can't be read",
        );
        let parts = (0..PARTS).map(ended_part);
        for name in parts.chain([ENDED_PODS.to_owned()]) {
            let read = |bytes: &[u8]| {
                let mut part = EndedPods::default();
                part.add_saved(bytes).map_err(|error| one_line(&error))?;
                Ok(bytes.to_vec())
            };
            let bytes = load_checkpoint(state, events, &name, read, lost).await;
            self.ended_were_whole |= name == ENDED_PODS && bytes.len() > EMPTY_PAGE.len();
            // It could be read a moment ago; of nothing saved there is nothing to add.
            let _added = self.ended.add_saved(&bytes);
        }
        if self.ended_were_whole {
            self.ended.set_changed();
        }
    }

    /// Whom the agent admitted.
    pub(crate) fn admitted(&self) -> &AdmissionMemory {
        &self.admitted
    }

    /// What a pod was allocated.
    pub(crate) fn allocation(&self, uid: &PodUid) -> Option<&Allocation> {
        self.allocations.get(uid)
    }

    /// The ids of a pod that has some of its own.
    pub(crate) fn user_namespaces(&self) -> &UserNamespaces {
        &self.user_namespaces
    }

    /// The last status of a pod that has ended.
    pub(crate) fn ended(&self, uid: &PodUid) -> Option<&PodStatus> {
        self.ended.get(uid)
    }

    /// The pod has ended for good, with this status. Says whether anything has to be saved.
    pub(crate) fn end(&mut self, uid: &PodUid, status: &PodStatus) -> bool {
        self.ended.insert(uid, status);
        self.is_changed()
    }

    /// The pod was admitted, with what it has been allocated before if it ran, else with what it asks for.
    pub(crate) fn admit(&mut self, pod: &Pod) {
        let uid = PodUid::of(pod);
        self.changed.admitted |= self.admitted.remember(pod);
        self.changed.allocations |= self.allocations.revise(pod);
        self.ended.remove(&uid);
        self.give_ids(pod);
    }

    /// An admitted pod has another spec now. What it was allocated stays, but for containers that it has only now. Says
    /// whether anything has to be saved.
    pub(crate) fn revise(&mut self, pod: &Pod) -> bool {
        self.changed.admitted |= self.admitted.remember(pod);
        self.changed.allocations |= self.allocations.revise(pod);
        self.is_changed()
    }

    /// The pod has these resources from now on.
    pub(crate) fn allocate(&mut self, uid: &PodUid, allocation: Allocation) {
        self.changed.allocations |= self.allocations.set(uid, allocation);
    }

    /// Gives the pod ids of its own, if it wants some and has none. Says whether anything has to be saved. A pod that
    /// gets none fails to start, with words of its own.
    pub(crate) fn give_ids(&mut self, pod: &Pod) -> bool {
        let uid = PodUid::of(pod);
        if !wants_own(pod) || self.user_namespaces.of(&uid).is_some() {
            return false;
        }
        let given = self.user_namespaces.allocate(&uid);
        self.changed.user_namespaces |= given.is_ok();
        given.is_ok()
    }

    /// The pod is gone. Says whether anything has to be saved. Its ids are given up with the clean-up, once nothing of it
    /// runs for sure.
    pub(crate) fn forget(&mut self, uid: &PodUid) -> bool {
        self.changed.admitted |= self.admitted.forget(uid);
        self.changed.allocations |= self.allocations.retain(|known| known != uid);
        self.ended.remove(uid);
        self.is_changed()
    }

    /// Forgets all pods that aren't wanted. Says whether anything has to be saved.
    pub(crate) fn retain(&mut self, wanted: impl Fn(&PodUid) -> bool) -> bool {
        self.changed.admitted |= self.admitted.retain(&wanted);
        self.changed.allocations |= self.allocations.retain(&wanted);
        self.ended.retain(&wanted);
        self.is_changed()
    }

    /// Gives up the ids of all pods of which nothing can run. Says whether anything has to be saved.
    pub(crate) fn retain_ids(&mut self, may_run: impl Fn(&PodUid) -> bool) -> bool {
        let before = self.user_namespaces.clone();
        self.user_namespaces.retain(may_run);
        self.changed.user_namespaces |= before != self.user_namespaces;
        self.is_changed()
    }

    fn is_changed(&self) -> bool {
        let Changed { admitted, allocations, user_namespaces } = self.changed;
        admitted || allocations || user_namespaces || self.ended.is_changed()
    }

    /// What changed since this was asked for last, as it is to be written. The page of admitted pods comes last: a pod that
    /// is known as admitted has its other facts on disk.
    pub(crate) fn take_pages(&mut self) -> Pages {
        let Changed { admitted: _, allocations, user_namespaces } = std::mem::take(&mut self.changed);
        self.whole_was_taken = std::mem::take(&mut self.ended_were_whole);
        Pages {
            allocations: allocations.then(|| self.allocations.clone()),
            user_namespaces: user_namespaces.then(|| self.user_namespaces.clone()),
            ended: self.ended.take_changed(),
            empties_whole: self.whole_was_taken,
            // Also if it didn't change: what is on disk may be older than what is remembered.
            admitted: self.admitted.clone(),
        }
    }

    /// The last pages could not be written.
    pub(crate) fn not_written(&mut self) {
        self.changed = Changed { admitted: true, allocations: true, user_namespaces: true };
        self.ended.not_saved();
        self.ended_were_whole |= self.whole_was_taken;
    }
}

/// Writes pages, in their order.
pub(crate) async fn write(state: &dyn StateStore, pages: Pages) -> Result<(), FilesError> {
    let Pages { allocations, user_namespaces, ended, empties_whole, admitted } = pages;
    if let Some(allocations) = allocations {
        state.save(ALLOCATED_PODS, &allocations.encode()).await?;
    }
    if let Some(user_namespaces) = user_namespaces {
        let encoded = serde_json::to_vec(&user_namespaces);
        let page = encoded.expect("a map of texts and numbers always has a JSON form");
        state.save(USER_NAMESPACES, &page).await?;
    }
    for part in ended {
        let name = ended_part(part.number);
        state.save(&name, &part.encode()).await?;
    }
    if empties_whole {
        state.save(ENDED_PODS, EMPTY_PAGE).await?;
    }
    state.save(ADMITTED_PODS, &admitted.encode()).await
}

/// The name that a part of the ended pods is saved under.
fn ended_part(number: u8) -> String {
    format!("ended-pods-{number:02}.json")
}

/// The ids that pods have from before, as this agent or a kubelet noted them.
async fn user_namespaces(
    state: &dyn StateStore,
    files: &dyn PodFiles,
    range: IdRange,
) -> Result<UserNamespaces, AgentError> {
    let failed = |of: &str, error: &dyn std::error::Error| AgentError::UserNamespaces {
        of: of.to_owned(),
        problem: one_line(error),
    };
    let mut all = UserNamespaces::of_range(range);
    if let Some(bytes) = state.load(USER_NAMESPACES).await.map_err(|e| failed(USER_NAMESPACES, &e))? {
        let saved: UserNamespaces =
            serde_json::from_slice(&bytes).map_err(|error| failed(USER_NAMESPACES, &error))?;
        all = saved.within(range).map_err(|error| failed(USER_NAMESPACES, &error))?;
    }
    let on_disk = files.list().await.map_err(|error| failed("the folders of pods", &error))?;
    for uid in on_disk {
        let of = || format!("pods/{uid}/userns");
        if let Some(content) = files.user_namespace(&uid).await.map_err(|error| failed(&of(), &error))? {
            match all.restore_from_file(&uid, &content) {
                // What is left of a pod whose ids were given to another one, which are known to be in use.
                Err(UserNamespaceFileError::Range(error)) if all.of(&uid).is_none() => {
                    tracing::warn!(%uid, %error, "the ids of a pod's folder are another pod's");
                }
                restored => restored.map_err(|error| failed(&of(), &error))?,
            }
        }
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
        let (object, kind) = (EventObject::Node, EventType::Warning);
        events.record(Event { object, kind, reason: reason.to_owned(), message: format!("{what}: {error}") });
        T::default()
    })
}
