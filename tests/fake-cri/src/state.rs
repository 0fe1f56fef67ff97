//! What the fake runtime has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use witlet_proto::cri::{
    Container, ContainerConfig, ContainerResources, ContainerState, ContainerStatus, LinuxContainerResources,
    PodSandbox, PodSandboxConfig, PodSandboxNetworkStatus, PodSandboxState, PodSandboxStatus,
};

/// The label that agents ask for one pod by.
const POD_UID: &str = "io.kubernetes.pod.uid";

/// The labels that say whose container it is.
const POD_NAME: &str = "io.kubernetes.pod.name";
const CONTAINER_NAME: &str = "io.kubernetes.container.name";

/// A sandbox and its address.
#[derive(Debug)]
struct Sandbox {
    listed: PodSandbox,
    ip: String,
}

impl Sandbox {
    fn listed(&self) -> &PodSandbox {
        &self.listed
    }
}

/// Ids of what belongs to one pod or one sandbox.
type Ids = BTreeSet<String>;

/// All sandboxes and containers by id. What an agent asks for one pod by (an id, or the pod's UID) is found without a
/// check all others.
#[derive(Debug, Default)]
pub(crate) struct State {
    sandboxes: BTreeMap<String, Sandbox>,
    containers: BTreeMap<String, ContainerStatus>,
    /// The sandbox of each container.
    owners: BTreeMap<String, String>,
    /// The containers of each sandbox that has some.
    inside: BTreeMap<String, Ids>,
    /// By the pod's UID.
    sandboxes_of_pod: BTreeMap<String, Ids>,
    containers_of_pod: BTreeMap<String, Ids>,
    last_id: u32,
    /// When the first id was given: no two runtimes give the same ids.
    first_id_at: i64,
    /// How often containers were started, by pod and container.
    started: BTreeMap<(String, String), usize>,
    /// When containers were started, in order.
    pub(crate) starts: Vec<i64>,
    /// When sandboxes were stopped, in order.
    pub(crate) ends: Vec<i64>,
}

/// Nanoseconds since 1970.
#[allow(clippy::disallowed_methods, reason = "a runtime has a clock of its own")]
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

impl State {
    fn next_id(&mut self) -> String {
        if self.first_id_at == 0 {
            self.first_id_at = now();
        }
        self.last_id += 1;
        format!("{:016x}{:048x}", self.first_id_at, self.last_id)
    }

    pub(crate) fn running(&self) -> usize {
        self.containers.values().filter(|c| c.state == ContainerState::ContainerRunning as i32).count()
    }

    pub(crate) fn sandboxes(&self) -> usize {
        self.sandboxes.len()
    }

    pub(crate) fn run_sandbox(&mut self, config: PodSandboxConfig) -> String {
        let id = self.next_id();
        let [_, b, c, d] = self.last_id.to_be_bytes();
        let listed = PodSandbox {
            id: id.clone(),
            metadata: config.metadata,
            state: PodSandboxState::SandboxReady as i32,
            created_at: now(),
            labels: config.labels,
            annotations: config.annotations,
            runtime_handler: String::new(),
        };
        index(&mut self.sandboxes_of_pod, pod_uid(&listed.labels), &id);
        self.sandboxes.insert(id.clone(), Sandbox { listed, ip: format!("10.{b}.{c}.{d}") });
        id
    }

    pub(crate) fn stop_sandbox(&mut self, id: &str) {
        if let Some(sandbox) = self.sandboxes.get_mut(id)
            && sandbox.listed.state == PodSandboxState::SandboxReady as i32
        {
            sandbox.listed.state = PodSandboxState::SandboxNotready as i32;
            self.ends.push(now());
        }
        let inside: Vec<String> = self.containers_of(id);
        for container in inside {
            self.stop_container(&container, 137);
        }
    }

    pub(crate) fn remove_sandbox(&mut self, id: &str) {
        for container in self.containers_of(id) {
            self.remove_container(&container);
        }
        if let Some(sandbox) = self.sandboxes.remove(id) {
            unindex(&mut self.sandboxes_of_pod, pod_uid(&sandbox.listed.labels), id);
        }
    }

    fn containers_of(&self, sandbox: &str) -> Vec<String> {
        self.inside.get(sandbox).into_iter().flatten().cloned().collect()
    }

    pub(crate) fn list_sandboxes(&self, id: &str, labels: &BTreeMap<String, String>) -> Vec<PodSandbox> {
        let expected =
            |listed: &&PodSandbox| (id.is_empty() || listed.id == id) && contains(&listed.labels, labels);
        match (id, labels.get(POD_UID)) {
            ("", None) => self.sandboxes.values().map(Sandbox::listed).filter(expected).cloned().collect(),
            ("", Some(uid)) => {
                let ids = self.sandboxes_of_pod.get(uid).into_iter().flatten();
                ids.filter_map(|id| self.sandboxes.get(id))
                    .map(Sandbox::listed)
                    .filter(expected)
                    .cloned()
                    .collect()
            }
            (id, _) => {
                self.sandboxes.get(id).map(Sandbox::listed).filter(expected).cloned().into_iter().collect()
            }
        }
    }

    pub(crate) fn sandbox_status(&self, id: &str) -> Option<PodSandboxStatus> {
        let Sandbox { listed, ip } = self.sandboxes.get(id)?;
        Some(PodSandboxStatus {
            id: listed.id.clone(),
            metadata: listed.metadata.clone(),
            state: listed.state,
            created_at: listed.created_at,
            network: Some(PodSandboxNetworkStatus { ip: ip.clone(), additional_ips: Vec::new() }),
            linux: None,
            labels: listed.labels.clone(),
            annotations: listed.annotations.clone(),
            runtime_handler: String::new(),
        })
    }

    pub(crate) fn create_container(
        &mut self,
        sandbox: &str,
        config: ContainerConfig,
        logs: &str,
    ) -> Option<String> {
        self.sandboxes.get(sandbox)?;
        let id = self.next_id();
        let image = config.image.clone().unwrap_or_default();
        let status = ContainerStatus {
            id: id.clone(),
            metadata: config.metadata,
            state: ContainerState::ContainerCreated as i32,
            created_at: now(),
            image_ref: image.image.clone(),
            image_id: image.image.clone(),
            image: config.image,
            labels: config.labels,
            annotations: config.annotations,
            log_path: format!("{logs}/{}", config.log_path),
            mounts: config.mounts,
            resources: config.linux.and_then(|linux| linux.resources).map(reported),
            stop_signal: config.stop_signal,
            ..ContainerStatus::default()
        };
        index(&mut self.containers_of_pod, pod_uid(&status.labels), &id);
        self.inside.entry(sandbox.to_owned()).or_default().insert(id.clone());
        self.containers.insert(id.clone(), status);
        self.owners.insert(id.clone(), sandbox.to_owned());
        Some(id)
    }

    pub(crate) fn start_container(&mut self, id: &str) -> Option<()> {
        let status = self.containers.get_mut(id)?;
        status.state = ContainerState::ContainerRunning as i32;
        status.started_at = now();
        // As any runtime does; without one the agent asks for it again and again.
        drop(std::fs::File::create(&status.log_path));
        self.starts.push(status.started_at);
        let label = |key| status.labels.get(key).cloned().unwrap_or_default();
        *self.started.entry((label(POD_NAME), label(CONTAINER_NAME))).or_default() += 1;
        Some(())
    }

    /// How often this container of a pod was started.
    pub(crate) fn started(&self, pod: &str, container: &str) -> usize {
        self.started.get(&(pod.to_owned(), container.to_owned())).copied().unwrap_or_default()
    }

    /// Ends all containers of a pod that run; how many those were.
    pub(crate) fn exit_pod(&mut self, pod: &str, exit_code: i32) -> usize {
        let runs = |c: &ContainerStatus| {
            c.state == ContainerState::ContainerRunning as i32
                && c.labels.get(POD_NAME).is_some_and(|name| name == pod)
        };
        let ids: Vec<String> =
            self.containers.iter().filter(|(_, c)| runs(c)).map(|(id, _)| id.clone()).collect();
        ids.iter().for_each(|id| self.stop_container(id, exit_code));
        ids.len()
    }

    pub(crate) fn stop_container(&mut self, id: &str, exit_code: i32) {
        if let Some(status) = self.containers.get_mut(id)
            && status.state == ContainerState::ContainerRunning as i32
        {
            status.state = ContainerState::ContainerExited as i32;
            status.finished_at = now();
            status.exit_code = exit_code;
            status.reason = if exit_code == 0 { "Completed" } else { "Error" }.into();
        }
    }

    pub(crate) fn remove_container(&mut self, id: &str) {
        if let Some(status) = self.containers.remove(id) {
            unindex(&mut self.containers_of_pod, pod_uid(&status.labels), id);
        }
        if let Some(sandbox) = self.owners.remove(id) {
            unindex(&mut self.inside, Some(&sandbox), id);
        }
    }

    /// Takes over what isn't 0.
    pub(crate) fn update_resources(&mut self, id: &str, new: &LinuxContainerResources) -> Option<()> {
        let status = self.containers.get_mut(id)?;
        let now = status.resources.get_or_insert_default().linux.get_or_insert_default();
        let keep = |new: i64, old: &mut i64| *old = if new == 0 { *old } else { new };
        keep(new.cpu_shares, &mut now.cpu_shares);
        keep(new.cpu_quota, &mut now.cpu_quota);
        keep(new.cpu_period, &mut now.cpu_period);
        keep(new.memory_limit_in_bytes, &mut now.memory_limit_in_bytes);
        Some(())
    }

    pub(crate) fn has_container(&self, id: &str) -> bool {
        self.containers.contains_key(id)
    }

    pub(crate) fn container_status(&self, id: &str) -> Option<ContainerStatus> {
        self.containers.get(id).cloned()
    }

    pub(crate) fn list_containers(
        &self,
        id: &str,
        sandbox: &str,
        labels: &BTreeMap<String, String>,
    ) -> Vec<Container> {
        let owner = |id: &str| self.owners.get(id).cloned().unwrap_or_default();
        let expected = |c: &&ContainerStatus| {
            (id.is_empty() || c.id == id)
                && (sandbox.is_empty() || owner(&c.id) == sandbox)
                && contains(&c.labels, labels)
        };
        let listed = |c: &ContainerStatus| Container {
            id: c.id.clone(),
            pod_sandbox_id: owner(&c.id),
            metadata: c.metadata.clone(),
            image: c.image.clone(),
            image_ref: c.image_ref.clone(),
            state: c.state,
            created_at: c.created_at,
            labels: c.labels.clone(),
            annotations: c.annotations.clone(),
            image_id: c.image_id.clone(),
        };
        let of = |ids: Option<&Ids>| -> Vec<Container> {
            let known = ids.into_iter().flatten().filter_map(|id| self.containers.get(id));
            known.filter(expected).map(listed).collect()
        };
        match (id, sandbox, labels.get(POD_UID)) {
            ("", "", None) => self.containers.values().filter(expected).map(listed).collect(),
            ("", "", Some(uid)) => of(self.containers_of_pod.get(uid)),
            ("", sandbox, _) => of(self.inside.get(sandbox)),
            (id, ..) => self.containers.get(id).filter(expected).map(listed).into_iter().collect(),
        }
    }
}

fn reported(linux: LinuxContainerResources) -> ContainerResources {
    ContainerResources { linux: Some(linux), windows: None }
}

fn pod_uid(labels: &BTreeMap<String, String>) -> Option<&str> {
    labels.get(POD_UID).map(String::as_str)
}

fn index(ids: &mut BTreeMap<String, Ids>, key: Option<&str>, id: &str) {
    if let Some(key) = key {
        ids.entry(key.to_owned()).or_default().insert(id.to_owned());
    }
}

fn unindex(ids: &mut BTreeMap<String, Ids>, key: Option<&str>, id: &str) {
    if let Some((key, of_key)) = key.and_then(|key| Some((key, ids.get_mut(key)?))) {
        of_key.remove(id);
        if of_key.is_empty() {
            ids.remove(key);
        }
    }
}

/// Whether every desired label is there.
fn contains(have: &BTreeMap<String, String>, expected: &BTreeMap<String, String>) -> bool {
    expected.iter().all(|(key, value)| have.get(key) == Some(value))
}

#[cfg(test)]
mod tests;
