//! A node as scenarios see it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{ContainerStatus, Node, Pod};
use tokio::time::Instant;
use witlet_core::runtime::RuntimePod;
use witlet_ports::{AgentView, PodView};

use crate::{Behaviour, ContainerBuilder, FakeImage, FakeNode, container};

/// How often a scenario checks whether what it waits for has come.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// What a container is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Run until asked to stop.
    Sleeper,
    /// End at once with this exit code.
    Exits(i32),
    /// Run, and ignore being asked to stop.
    IgnoresStop,
}

/// One thing that a program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Wait, in milliseconds, without noticing anything.
    Sleep(u32),
    /// Wait until asked to stop, then end well.
    Wait,
    /// Make a file say this.
    Write(String, String),
    /// Add a line to a file.
    Append(String, String),
    /// Fail unless the file is there.
    Exists(String),
    /// Leave a termination message.
    Message(String),
    /// End with this code.
    Exit(u8),
}

/// Programs that really run, made of [`Deed`]s.
#[derive(Clone, Debug)]
pub struct Programs {
    /// A folder of the machine that pods may mount and all users may write to.
    pub folder: PathBuf,
    /// The container that does these things one after the other, until one fails.
    pub workload: fn(&[Deed]) -> Workload,
    /// The command in such a container that does these things.
    pub command: fn(&[Deed]) -> Vec<String>,
}

/// What plays a role in a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    pub image: String,
    /// Entry point; empty takes the image's.
    pub command: Vec<String>,
    /// Arguments; empty takes the image's.
    pub args: Vec<String>,
}

/// Why a scenario didn't pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfulfilled {
    /// This world can't show it.
    NotHere(String),
    /// It isn't as it should be.
    Wrong(String),
}

/// A node with an agent and a runtime that scenarios can do things to. Every call takes effect before it returns, but
/// its consequences come when they come.
#[async_trait]
pub trait World: Send + Sync {
    /// What plays this role here.
    fn workload(&self, role: Role) -> Workload;
    /// Programs to do anything; none where nothing really runs.
    fn programs(&self) -> Option<Programs>;
    /// The node's name, which the names of its pods end in.
    fn node_name(&self) -> String;
    /// How long anything may take before a scenario gives up on it. Long: only what fails waits for it.
    fn timeout(&self) -> Duration;
    /// Writes a manifest with these pods, in the place of what was there.
    async fn put(&mut self, manifest: &str, pods: Vec<Pod>);
    /// Removes a manifest.
    async fn remove(&mut self, manifest: &str);
    /// The pods as the agent shows them; none while it doesn't answer.
    async fn pods(&self) -> Option<Vec<Pod>>;
    /// The node as the agent shows it; none while the agent doesn't run.
    async fn node(&self) -> Option<Node>;
    /// What the runtime has of this world's pods; none while it doesn't answer.
    async fn runtime_pods(&self) -> Option<Vec<RuntimePod>>;
    /// Kills the agent as `kill -9` does.
    async fn kill_agent(&mut self);
    /// Starts the agent again.
    async fn start_agent(&mut self);
    /// Makes the runtime unreachable while containers go on; says why not if this world can't.
    async fn stop_runtime(&mut self) -> Result<(), String>;
    /// Makes the runtime reachable again.
    async fn start_runtime(&mut self);
    /// The pod changed so that admission defers it for these seconds after it is first seen; none if nothing here
    /// does that.
    fn deferred(&self, pod: Pod, seconds: u32) -> Option<Pod>;
}

/// A container of this name that plays the role.
pub(super) fn plays(world: &dyn World, name: &str, role: Role) -> ContainerBuilder {
    let Workload { image, command, args } = world.workload(role);
    container(name, &image).command(&command).args(&args)
}

/// Waits until all is as expected; else says what was there instead. While the agent doesn't answer nothing is.
pub(super) async fn eventually(
    world: &dyn World,
    what: &str,
    expected: impl Fn(&NodeSnapshot) -> bool,
) -> Result<NodeSnapshot, Unfulfilled> {
    let deadline = Instant::now() + world.timeout();
    loop {
        let seen = NodeSnapshot::now(world).await;
        if let Some(seen) = seen.as_ref().filter(|seen| expected(seen)) {
            return Ok(seen.clone());
        }
        if Instant::now() >= deadline {
            let seen = seen.map_or("no answer".to_owned(), |seen| seen.to_string());
            return Err(Unfulfilled::Wrong(format!("waited in vain until {what}; there is {seen}")));
        }
        tokio::time::sleep(POLL_EVERY).await;
    }
}

/// Fails unless the condition holds.
pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Unfulfilled> {
    if holds { Ok(()) } else { Err(Unfulfilled::Wrong(otherwise())) }
}

/// One check of a world: of the agent's pods first, and then at the others, so that they may be newer.
#[derive(Clone)]
pub(super) struct NodeSnapshot {
    node_name: String,
    pub(super) pods: Vec<Pod>,
    /// None while the runtime doesn't answer.
    pub(super) runtime: Option<Vec<RuntimePod>>,
    pub(super) node: Option<Node>,
}

impl NodeSnapshot {
    /// None while the agent doesn't answer.
    async fn now(world: &dyn World) -> Option<Self> {
        Some(Self {
            node_name: world.node_name(),
            pods: world.pods().await?,
            runtime: world.runtime_pods().await,
            node: world.node().await,
        })
    }

    /// The pod of this name in its manifest; the latest, if an old one still ends.
    pub(super) fn pod(&self, name: &str) -> Option<&Pod> {
        let full = format!("{name}-{}", self.node_name);
        self.pods.iter().rfind(|pod| pod.metadata.name.as_ref() == Some(&full))
    }

    pub(super) fn phase(&self, name: &str) -> &str {
        let status = self.pod(name).and_then(|pod| pod.status.as_ref());
        status.and_then(|status| status.phase.as_deref()).unwrap_or("none")
    }

    pub(super) fn is_ready(&self, name: &str) -> bool {
        let status = self.pod(name).and_then(|pod| pod.status.as_ref());
        let conditions = status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    }

    pub(super) fn container(&self, pod: &str, container: &str) -> Option<&ContainerStatus> {
        let status = self.pod(pod)?.status.as_ref()?;
        status.container_statuses.iter().flatten().find(|status| status.name == container)
    }

    /// Whether admission let the pod in: it has a status then that isn't of admission's own.
    pub(super) fn is_admitted(&self, pod: &str, container: &str) -> bool {
        let is_known = self.container(pod, container).is_some();
        is_known && self.phase(pod) != "Failed" && self.waiting_reason(pod, container) != Some("Blocked")
    }

    pub(super) fn waiting_reason(&self, pod: &str, container: &str) -> Option<&str> {
        self.container(pod, container)?.state.as_ref()?.waiting.as_ref()?.reason.as_deref()
    }

    pub(super) fn restarts(&self, pod: &str, container: &str) -> i32 {
        self.container(pod, container).map_or(0, |status| status.restart_count)
    }

    /// Everything that the runtime has under this pod's name, whatever the UID; nothing while it doesn't answer.
    pub(super) fn in_runtime(&self, name: &str) -> Vec<&RuntimePod> {
        let full = format!("{name}-{}", self.node_name);
        self.runtime.iter().flatten().filter(|pod| pod.name == full).collect()
    }

    /// Whether the runtime answers, and has nothing under this pod's name.
    pub(super) fn runtime_has_nothing_of(&self, name: &str) -> bool {
        self.runtime.is_some() && self.in_runtime(name).is_empty()
    }

    pub(super) fn node_ready(&self) -> Option<bool> {
        let conditions = self.node.as_ref()?.status.as_ref()?.conditions.as_ref()?;
        let ready = conditions.iter().find(|condition| condition.type_ == "Ready")?;
        Some(ready.status == "True")
    }
}

impl std::fmt::Display for NodeSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut lines = Vec::new();
        for pod in &self.pods {
            let name = pod.metadata.name.as_deref().unwrap_or("?");
            lines.push(format!("pod {name}: {}", serde_json::to_string(&pod.status).unwrap_or_default()));
        }
        for pod in self.runtime.iter().flatten() {
            lines.push(format!("runtime {}: {:?} {:?}", pod.name, pod.sandboxes, pod.containers));
        }
        write!(f, "node ready {:?}, pods:\n{}", self.node_ready(), lines.join("\n"))
    }
}

/// The world of fakes.
pub struct FakeWorld {
    pub node: FakeNode,
}

impl FakeWorld {
    /// A world with the images of all roles, whose agent runs.
    pub fn started() -> Self {
        let mut node = FakeNode::new();
        for (name, behaviour) in [
            ("sleeper:1", Behaviour::Sleeps),
            ("ignores-stop:1", Behaviour::IgnoresStop),
            ("exits-0:1", Behaviour::Exits { code: 0, after: Duration::ZERO }),
            ("exits-3:1", Behaviour::Exits { code: 3, after: Duration::ZERO }),
        ] {
            node.runtime.add_image(name, FakeImage::present(behaviour));
        }
        node.start();
        Self { node }
    }
}

#[async_trait]
impl World for FakeWorld {
    fn workload(&self, role: Role) -> Workload {
        let image = match role {
            Role::Sleeper => "sleeper:1".to_owned(),
            Role::Exits(code) => format!("exits-{code}:1"),
            Role::IgnoresStop => "ignores-stop:1".to_owned(),
        };
        Workload { image, command: Vec::new(), args: Vec::new() }
    }

    fn programs(&self) -> Option<Programs> {
        None
    }

    fn node_name(&self) -> String {
        crate::NODE_NAME.to_owned()
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(3600)
    }

    async fn put(&mut self, manifest: &str, pods: Vec<Pod>) {
        self.node.source.put(manifest, pods);
    }

    async fn remove(&mut self, manifest: &str) {
        self.node.source.remove(manifest);
    }

    async fn pods(&self) -> Option<Vec<Pod>> {
        let pods = self.node.agent_if_running()?.pods();
        Some(pods.into_iter().map(Arc::unwrap_or_clone).collect())
    }

    async fn node(&self) -> Option<Node> {
        self.node.agent_if_running().map(|agent| Arc::unwrap_or_clone(agent.node()))
    }

    async fn runtime_pods(&self) -> Option<Vec<RuntimePod>> {
        self.node.runtime.list_pods().await.ok().map(Arc::unwrap_or_clone)
    }

    async fn kill_agent(&mut self) {
        self.node.kill();
    }

    async fn start_agent(&mut self) {
        self.node.start();
    }

    async fn stop_runtime(&mut self) -> Result<(), String> {
        self.node.runtime.set_down(true);
        Ok(())
    }

    async fn start_runtime(&mut self) {
        self.node.runtime.set_down(false);
    }

    fn deferred(&self, mut pod: Pod, seconds: u32) -> Option<Pod> {
        let annotations = pod.metadata.annotations.get_or_insert_default();
        annotations.insert(crate::NOT_BEFORE_SECONDS.to_owned(), seconds.to_string());
        Some(pod)
    }
}
