//! What the cases are written with: pods of their own, and ways to wait and to fail.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{
    ContainerId, ContainerRunState, ContainerSpec, NamespaceMode, ObservedContainer, ObservedPod, RuntimePod,
    SandboxId, SandboxSpec, labels,
};
use witlet_ports::{Runtime, RuntimeError};

use crate::environment::{Environment, Workload};

/// How often something is checked that is waited for.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Namespace of all pods of the suite.
const NAMESPACE: &str = "contract";

/// Tells pods of one process apart; the process id tells processes apart.
static NEXT_POD: AtomicU32 = AtomicU32::new(0);

/// A broken promise, in words.
#[derive(Debug)]
pub(crate) struct Violation(String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<RuntimeError> for Violation {
    fn from(error: RuntimeError) -> Self {
        Self(error.to_string())
    }
}

impl From<std::io::Error> for Violation {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<String> for Violation {
    fn from(words: String) -> Self {
        Self(words)
    }
}

/// What a case returns.
pub(crate) type Verdict<T = ()> = Result<T, Violation>;

/// Breaks the case off unless this holds.
macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err($crate::fixture::Violation::from(format!($($words)+)));
        }
    };
}
pub(crate) use ensure;

/// The runtime under test, and the pods that this case made.
pub(crate) struct Fixture<'a> {
    case: &'static str,
    pub(crate) runtime: &'a Runtime,
    pub(crate) environment: &'a Environment,
    pods: std::sync::Mutex<Vec<PodUid>>,
}

/// A pod that a case made up. Its sandbox runs only once it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct TestPod {
    pub(crate) uid: PodUid,
    pub(crate) sandbox: SandboxSpec,
}

impl TestPod {
    /// A container for this pod.
    pub(crate) fn container(&self, name: &str, attempt: u32, workload: &Workload) -> ContainerSpec {
        let mut labels = self.sandbox.labels.clone();
        labels.insert(labels::CONTAINER_NAME.to_owned(), name.to_owned());
        ContainerSpec {
            name: name.to_owned(),
            attempt,
            image: workload.image.clone(),
            user_specified_image: workload.image.clone(),
            command: workload.command.clone(),
            args: workload.args.clone(),
            labels,
            annotations: BTreeMap::from([
                (labels::CONTAINER_HASH.to_owned(), "c0ffee".to_owned()),
                (labels::CONTAINER_RESTART_COUNT.to_owned(), attempt.to_string()),
                (labels::POD_TERMINATION_GRACE_PERIOD.to_owned(), "42".to_owned()),
            ]),
            log_path: PathBuf::from(name).join(format!("{attempt}.log")),
            ..ContainerSpec::default()
        }
    }
}

impl<'a> Fixture<'a> {
    pub(crate) fn new(case: &'static str, runtime: &'a Runtime, environment: &'a Environment) -> Self {
        Self { case, runtime, environment, pods: std::sync::Mutex::default() }
    }

    /// A pod that doesn't exist yet.
    pub(crate) fn pod(&self) -> TestPod {
        let number = NEXT_POD.fetch_add(1, Ordering::Relaxed);
        let uid = format!("{}-{number}-{}", std::process::id(), self.case.replace('_', "-"));
        let name = format!("pod-{number}");
        if let Ok(mut pods) = self.pods.lock() {
            pods.push(PodUid::from(uid.as_str()));
        }
        let sandbox = SandboxSpec {
            name: name.clone(),
            namespace: NAMESPACE.to_owned(),
            uid: uid.clone(),
            hostname: name.clone(),
            log_directory: self.environment.log_root.join(format!("{NAMESPACE}_{name}_{uid}")),
            labels: BTreeMap::from([
                (labels::POD_UID.to_owned(), uid.clone()),
                (labels::POD_NAME.to_owned(), name),
                (labels::POD_NAMESPACE.to_owned(), NAMESPACE.to_owned()),
            ]),
            annotations: BTreeMap::from([("witlet.dev/contract".to_owned(), self.case.to_owned())]),
            pid: NamespaceMode::Container,
            ..SandboxSpec::default()
        };
        TestPod { uid: PodUid::from(uid), sandbox }
    }

    /// Runs the pod's sandbox, with the log folders that the agent makes.
    pub(crate) async fn run(&self, pod: &TestPod) -> Verdict<SandboxId> {
        tokio::fs::create_dir_all(&pod.sandbox.log_directory).await?;
        Ok(self.runtime.sandboxes.run(&pod.sandbox).await?)
    }

    /// Creates a container, with the log folder that the agent makes.
    pub(crate) async fn create(
        &self,
        sandbox: &SandboxId,
        pod: &TestPod,
        config: &ContainerSpec,
    ) -> Verdict<ContainerId> {
        tokio::fs::create_dir_all(pod.sandbox.log_directory.join(&config.name)).await?;
        Ok(self.runtime.containers.create(sandbox, config, &pod.sandbox).await?)
    }

    /// Creates a container and starts it.
    pub(crate) async fn start(
        &self,
        sandbox: &SandboxId,
        pod: &TestPod,
        config: &ContainerSpec,
    ) -> Verdict<ContainerId> {
        let id = self.create(sandbox, pod, config).await?;
        self.runtime.containers.start(&id).await?;
        Ok(id)
    }

    /// Checks closely at a pod.
    pub(crate) async fn inspect(&self, pod: &TestPod) -> Verdict<ObservedPod> {
        Ok(self.runtime.view.pod_status(&pod.uid).await?)
    }

    /// Checks closely at one container.
    pub(crate) async fn inspect_container(
        &self,
        pod: &TestPod,
        id: &ContainerId,
    ) -> Verdict<ObservedContainer> {
        let found = self.inspect(pod).await?.containers.into_iter().find(|c| c.id == *id);
        found.ok_or_else(|| Violation(format!("container {id} isn't in the status of its pod")))
    }

    /// The pod as the list shows it.
    pub(crate) async fn listed(&self, pod: &TestPod) -> Verdict<Option<RuntimePod>> {
        Ok(self.runtime.view.list_pods().await?.iter().find(|listed| listed.uid == pod.uid).cloned())
    }

    /// Waits until the container's process has ended.
    pub(crate) async fn exited(&self, pod: &TestPod, id: &ContainerId) -> Verdict<ObservedContainer> {
        let deadline = Instant::now() + self.environment.timeout;
        loop {
            let seen = self.inspect_container(pod, id).await?;
            if seen.state == ContainerRunState::Exited {
                return Ok(seen);
            }
            ensure!(Instant::now() < deadline, "container {id} should have ended and is {:?}", seen.state);
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Stops and removes whatever the case left of its pods.
    pub(crate) async fn clean_up(&self) -> Verdict {
        let mine = self.pods.lock().map(|pods| pods.clone()).unwrap_or_default();
        for pod in self.runtime.view.list_pods().await?.iter() {
            if mine.contains(&pod.uid) {
                for sandbox in &pod.sandboxes {
                    self.runtime.sandboxes.stop(&sandbox.id).await?;
                    self.runtime.sandboxes.remove(&sandbox.id).await?;
                }
            }
        }
        let left = self.runtime.view.list_pods().await?;
        let left: Vec<_> = left.iter().filter(|pod| mine.contains(&pod.uid)).collect();
        ensure!(left.is_empty(), "removing all sandboxes of a pod leaves {left:?}");
        Ok(())
    }
}
