//! What is lost, of what has to be there: from the manifests and a snapshot of the node.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use witlet_core::runtime::{ContainerRunState, ListedContainer, RuntimePod, SandboxState};

use crate::pods::{Character, ExpectedPod, Ids, Touch};
use crate::shape::{cpu_limit, cpu_limit_milli};

/// Of a pod's sandboxes the newest stays, and the one that holds the last dead container.
const SANDBOXES_MAX: usize = 2;

/// Of a container its newest instance stays, and the last that died.
const INSTANCES_MAX: usize = 2;

/// The name of the container that a pod of one container has, or that counts most.
const MAIN: &str = "app";

/// How containerd calls the end of a container that could not be started.
const START_ERROR: &str = "StartError";

/// What a node has at one moment.
#[derive(Clone, Debug, Default)]
pub struct NodeSnapshot {
    /// As the agent shows them.
    pub pods: Vec<Pod>,
    /// As the runtime lists them.
    pub runtime: Vec<RuntimePod>,
    /// UIDs with a folder below the agent's root.
    pub folders: BTreeSet<String>,
    /// UIDs with a folder of logs, and for each container of theirs the number of its log files.
    pub logs: BTreeMap<String, BTreeMap<String, usize>>,
    /// UIDs with something mounted below their folder.
    pub mounts: BTreeSet<String>,
    /// Names of pods with links to their containers' logs.
    pub links: BTreeSet<String>,
    /// How much of a processor the kernel lets containers have, in thousandths, by container id; where that is known.
    pub cpu_limits: BTreeMap<String, usize>,
}

/// Something that isn't as it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Name of the pod as the node has it; UID where no more is known.
    pub pod: String,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pod, self.what)
    }
}

/// The name of the pod on the node.
pub fn full_name(name: &str) -> String {
    format!("{name}-{}", crate::NODE_NAME)
}

/// Counts what is lost. Nothing is, if it is empty.
pub fn count(desired: &BTreeMap<String, ExpectedPod>, seen: &NodeSnapshot) -> Vec<Loss> {
    let mut found = Vec::new();
    for one in desired.values() {
        let name = full_name(&one.name);
        let lost = of_desired(one, &name, seen);
        found.extend(lost.into_iter().map(|what| Loss { pod: name.clone(), what }));
    }
    found.extend(left_over(desired, seen));
    found
}

/// What there is of a pod: the newest of each, and how often it was restarted.
pub fn ids(name: &str, seen: &NodeSnapshot) -> Ids {
    let name = full_name(name);
    let mut ids = Ids::default();
    if let Some(pod) = seen.runtime.iter().find(|pod| pod.name == name) {
        ids.sandbox = pod.sandboxes.first().map(|sandbox| sandbox.id.to_string());
        for container in pod.containers.iter().rev() {
            ids.containers.insert(container.name.clone(), container.id.to_string());
        }
    }
    if let Some(pod) = seen.pods.iter().find(|pod| pod.metadata.name.as_deref() == Some(&name)) {
        ids.restarts = statuses(pod).map(|status| (status.name.clone(), status.restart_count)).collect();
    }
    ids
}

/// Full names under which more than one sandbox is up or a container runs twice.
pub fn doubles(runtime: &[RuntimePod]) -> Vec<Loss> {
    let mut sandboxes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut containers: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for pod in runtime {
        let ready = pod.sandboxes.iter().filter(|sandbox| sandbox.state == SandboxState::Ready);
        *sandboxes.entry(&pod.name).or_default() += ready.count();
        for container in pod.containers.iter().filter(|container| runs(container)) {
            *containers.entry((&pod.name, &container.name)).or_default() += 1;
        }
    }
    let sandboxes = sandboxes.into_iter().filter(|(_, count)| *count > 1);
    let sandboxes = sandboxes
        .map(|(name, count)| Loss { pod: name.to_owned(), what: format!("{count} sandboxes are up") });
    let containers = containers.into_iter().filter(|(_, count)| *count > 1);
    let containers = containers.map(|((pod, name), count)| Loss {
        pod: pod.to_owned(),
        what: format!("container {name} runs {count} times"),
    });
    sandboxes.chain(containers).collect()
}

fn runs(container: &ListedContainer) -> bool {
    container.state == ContainerRunState::Running
}

fn of_desired(desired: &ExpectedPod, name: &str, seen: &NodeSnapshot) -> Vec<String> {
    let shown: Vec<&Pod> =
        seen.pods.iter().filter(|pod| pod.metadata.name.as_deref() == Some(name)).collect();
    let [pod] = shown[..] else { return vec![format!("the agent shows it {} times", shown.len())] };
    if desired.character.is_never_tried_again() && was_cut_short(pod) {
        return Vec::new();
    }
    let mut lost = Vec::new();
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("none");
    if phase != desired.character.phase() {
        lost.push(format!("its phase is {phase}, not {}", desired.character.phase()));
    }
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let nothing = RuntimePod {
        uid: uid.into(),
        name: name.to_owned(),
        namespace: String::new(),
        sandboxes: Vec::new(),
        containers: Vec::new(),
    };
    let own = seen.runtime.iter().find(|pod| pod.name == name && pod.uid.as_str() == uid);
    let own = own.unwrap_or(&nothing);
    let up = own.sandboxes.iter().filter(|sandbox| sandbox.state == SandboxState::Ready).count();
    if up != usize::from(desired.character.has_sandbox()) {
        lost.push(format!("{up} of its sandboxes are up"));
    }
    for container in desired.character.runs() {
        let count = own.containers.iter().filter(|one| one.name == container && runs(one)).count();
        if count != 1 {
            lost.push(format!("its container {container} runs {count} times"));
        }
        lost.extend(not_ready(desired, pod, container));
    }
    lost.extend(wrong_message(desired, pod));
    lost.extend(wrong_limit(desired, pod, own, seen));
    lost.extend(replaced(desired, seen));
    lost.extend(too_many(own, seen));
    lost
}

/// Whether the agent was killed while the runtime started a container for it. The runtime then gives up, and that is the
/// container's end.
fn was_cut_short(pod: &Pod) -> bool {
    statuses(pod).any(|status| {
        let ended = status.state.as_ref().and_then(|state| state.terminated.as_ref());
        ended.is_some_and(|ended| ended.reason.as_deref() == Some(START_ERROR))
    })
}

/// What the agent says of a container that has to run.
fn not_ready(desired: &ExpectedPod, pod: &Pod, name: &str) -> Option<String> {
    let status = statuses(pod).find(|status| status.name == name);
    let Some(status) = status.filter(|status| status.ready == desired.character.is_ready(name)) else {
        let not = if desired.character.is_ready(name) { "isn't" } else { "is" };
        return Some(format!("its container {name} {not} ready"));
    };
    let settled = desired.settled.as_ref().filter(|_| desired.touch == Touch::None)?;
    let (before, now) = (settled.restarts.get(name).copied().unwrap_or_default(), status.restart_count);
    (now != before).then(|| format!("its container {name} had {before} restarts and has {now}"))
}

/// What the agent shows of the end of a pod's main container.
fn wrong_message(desired: &ExpectedPod, pod: &Pod) -> Option<String> {
    let expected = desired.character.message()?;
    let status = statuses(pod).find(|status| status.name == MAIN);
    let terminated = status.and_then(|status| status.state.as_ref()?.terminated.as_ref());
    let said = terminated.map(|terminated| terminated.message.as_deref().unwrap_or_default());
    (said != Some(expected)).then(|| format!("its container {MAIN} said {said:?}, not {expected:?}"))
}

/// The limit that the manifest asks for is in the status and in the kernel.
fn wrong_limit(desired: &ExpectedPod, pod: &Pod, own: &RuntimePod, seen: &NodeSnapshot) -> Option<String> {
    if !matches!(desired.character, Character::Varied(_)) {
        return None;
    }
    let container = own.containers.iter().find(|one| one.name == MAIN && runs(one))?;
    let (expected, shown) = (cpu_limit(desired.cpu), shown_limit(pod));
    if shown.as_ref() != Some(&expected) {
        return Some(format!("its limit is shown as {shown:?}, not {expected}"));
    }
    let (expected, real) =
        (cpu_limit_milli(desired.cpu), seen.cpu_limits.get(container.id.as_str()).copied());
    (real != Some(expected)).then(|| format!("its limit is {real:?} thousandths, not {expected}"))
}

fn shown_limit(pod: &Pod) -> Option<String> {
    let status = statuses(pod).find(|status| status.name == MAIN)?;
    Some(status.resources.as_ref()?.limits.as_ref()?.get("cpu")?.0.clone())
}

fn statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    pod.status.iter().flat_map(|status| {
        let init = status.init_container_statuses.iter().flatten();
        status.container_statuses.iter().flatten().chain(init)
    })
}

/// Whether what wasn't touched is another one than it was.
fn replaced(desired: &ExpectedPod, seen: &NodeSnapshot) -> Vec<String> {
    let Some(settled) = &desired.settled else { return Vec::new() };
    let now = ids(&desired.name, seen);
    let mut lost = Vec::new();
    if desired.touch <= Touch::Containers && settled.sandbox != now.sandbox {
        lost.push(format!("its sandbox was {:?} and is {:?}", settled.sandbox, now.sandbox));
    }
    let kept = |ids: &Ids| -> BTreeMap<String, String> {
        let kept = ids.containers.iter().filter(|(name, _)| desired.character.keeps(name));
        kept.map(|(name, id)| (name.clone(), id.clone())).collect()
    };
    let (before, after) = (kept(settled), kept(&now));
    if desired.touch == Touch::None && before != after {
        lost.push(format!("its containers were {before:?} and are {after:?}"));
    }
    lost
}

/// Dead things, and logs of them, that should have been cleaned up.
fn too_many(pod: &RuntimePod, seen: &NodeSnapshot) -> Vec<String> {
    let mut lost = Vec::new();
    if pod.sandboxes.len() > SANDBOXES_MAX {
        lost.push(format!("it has {} sandboxes", pod.sandboxes.len()));
    }
    let mut instances: BTreeMap<&str, usize> = BTreeMap::new();
    for container in &pod.containers {
        *instances.entry(&container.name).or_default() += 1;
    }
    for (name, count) in instances.iter().filter(|(_, count)| **count > INSTANCES_MAX) {
        lost.push(format!("its container {name} has {count} instances"));
    }
    for (name, count) in seen.logs.get(pod.uid.as_str()).into_iter().flatten() {
        let instances = instances.get(name.as_str()).copied().unwrap_or_default();
        // The last log of a pod that has ended stays with it, also when its container is gone.
        if *count > instances.max(1) {
            lost.push(format!("its container {name} has {count} logs of {instances} instances"));
        }
    }
    lost
}

/// What is there and belongs to no manifest.
fn left_over(desired: &BTreeMap<String, ExpectedPod>, seen: &NodeSnapshot) -> Vec<Loss> {
    let names: BTreeSet<String> = desired.keys().map(|name| full_name(name)).collect();
    let mut uids = BTreeSet::new();
    let mut found = doubles(&seen.runtime);
    let mut lost = |pod: &str, what: &str| found.push(Loss { pod: pod.to_owned(), what: what.to_owned() });
    for pod in &seen.pods {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        if names.contains(name) {
            uids.insert(pod.metadata.uid.as_deref().unwrap_or_default());
        } else {
            lost(name, "the agent shows it, and no manifest has it");
        }
    }
    for pod in seen.runtime.iter().filter(|pod| !uids.contains(pod.uid.as_str())) {
        lost(&pod.name, &format!("the runtime has it with UID {}, and no manifest does", pod.uid));
    }
    for uid in seen.folders.iter().filter(|uid| !uids.contains(uid.as_str())) {
        lost(uid, "its folder is left");
    }
    for uid in seen.logs.keys().filter(|uid| !uids.contains(uid.as_str())) {
        lost(uid, "its logs are left");
    }
    for uid in seen.mounts.iter().filter(|uid| !uids.contains(uid.as_str())) {
        lost(uid, "its mounts are left");
    }
    for name in seen.links.iter().filter(|name| !names.contains(name.as_str())) {
        lost(name, "links to its logs are left");
    }
    found
}
