//! The fake's ports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::time::Instant;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{
    CgroupDriver, ContainerId, ContainerRunState, ContainerSpec, ExecOutput, ImageAuth, ImageInfo,
    LinuxResources, ListedContainer, ListedSandbox, ObservedPod, RuntimeCondition, RuntimeEvent,
    RuntimeHandler, RuntimePod, RuntimeStatus, RuntimeVersion, SandboxId, SandboxSpec, SandboxState,
};
use witlet_ports::{Clock, CommandRunner, Containers, Images, PodView, RuntimeError, RuntimeInfo, Sandboxes};

use super::{FakeContainer, FakeImage, FakeRuntime, Inner, Sandbox, has_own_network};

/// A command that runs in a container. Unless it came to its own end, it counts as cut.
struct Exec<'a> {
    runtime: &'a FakeRuntime,
    what: String,
    has_ended: bool,
}

impl Drop for Exec<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            let at = self.runtime.clock.elapsed().as_secs_f64();
            self.runtime.lock().cut_execs.push(format!("{at:.3} {}", self.what));
        }
    }
}

impl FakeRuntime {
    /// Whether it implements `UpdatePodSandboxResources`.
    pub fn set_sizes_sandboxes(&self, does: bool) {
        self.lock().sizes_sandboxes = does;
    }

    /// Something else of the machine was done, to be seen in order with what the runtime does.
    pub(crate) fn note(&self, action: &str, object: &str) {
        self.record(&mut self.lock(), action, object);
    }
}

#[async_trait]
impl RuntimeInfo for FakeRuntime {
    async fn version(&self) -> Result<RuntimeVersion, RuntimeError> {
        drop(self.answer("Version")?);
        Ok(RuntimeVersion {
            runtime_name: "fake".to_owned(),
            runtime_version: "1".to_owned(),
            api_version: "v1".to_owned(),
        })
    }

    async fn status(&self) -> Result<RuntimeStatus, RuntimeError> {
        let (network_down, user_namespaces) = {
            let inner = self.answer("Status")?;
            (inner.network_down, !inner.no_user_namespaces)
        };
        let condition = |kind: &str, status| RuntimeCondition {
            kind: kind.to_owned(),
            status,
            reason: if status { String::new() } else { "AsScripted".to_owned() },
            message: if status { String::new() } else { "the test wants it so".to_owned() },
        };
        let conditions = vec![condition("RuntimeReady", true), condition("NetworkReady", !network_down)];
        let handlers = vec![RuntimeHandler { user_namespaces, ..RuntimeHandler::default() }];
        Ok(RuntimeStatus { conditions, handlers, ..RuntimeStatus::default() })
    }

    async fn cgroup_driver(&self) -> Result<Option<CgroupDriver>, RuntimeError> {
        let inner = self.answer("RuntimeConfig")?;
        Ok(Some(inner.cgroup_driver.unwrap_or(CgroupDriver::Cgroupfs)))
    }
}

#[async_trait]
impl PodView for FakeRuntime {
    async fn list_pods(&self) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        let inner = self.answer("ListPodSandbox")?;
        let mut pods: BTreeMap<String, RuntimePod> = BTreeMap::new();
        for sandbox in inner.sandboxes.values().rev() {
            let pod = pods.entry(sandbox.config.uid.clone()).or_insert_with(|| RuntimePod {
                uid: PodUid::from(sandbox.config.uid.as_str()),
                name: sandbox.config.name.clone(),
                namespace: sandbox.config.namespace.clone(),
                sandboxes: Vec::new(),
                containers: Vec::new(),
            });
            pod.sandboxes.push(ListedSandbox {
                id: sandbox.id.clone(),
                attempt: sandbox.config.attempt,
                state: sandbox.state,
                created_at: sandbox.created_at,
            });
        }
        for container in inner.containers.values().rev() {
            if let Some(pod) = pods.get_mut(&container.uid) {
                pod.containers.push(ListedContainer {
                    id: container.id.clone(),
                    name: container.config.name.clone(),
                    sandbox_id: container.sandbox.clone(),
                    state: container.state(),
                    created_at: container.created_at,
                });
            }
        }
        Ok(Arc::new(pods.into_values().collect()))
    }

    async fn pod_status(&self, uid: &PodUid) -> Result<ObservedPod, RuntimeError> {
        let observed_at = self.clock.now();
        let inspections_take = self.answer("PodSandboxStatus")?.inspections_take;
        if !inspections_take.is_zero() {
            tokio::time::sleep(inspections_take).await;
        }
        let inner = self.answer("PodSandboxStatus")?;
        let mine = |sandbox: &&Sandbox| sandbox.config.uid == uid.as_str();
        let sandboxes: Vec<_> = inner.sandboxes.values().rev().filter(mine).collect();
        let containers = inner.containers.values().rev().filter(|container| container.uid == uid.as_str());
        let Some(newest) = sandboxes.first() else {
            return Ok(ObservedPod::absent(uid.clone(), observed_at));
        };
        Ok(ObservedPod {
            uid: uid.clone(),
            name: newest.config.name.clone(),
            namespace: newest.config.namespace.clone(),
            ips: newest.ip.into_iter().collect(),
            sandboxes: sandboxes.iter().map(|sandbox| sandbox.observed()).collect(),
            containers: containers.map(FakeContainer::observed).collect(),
            observed_at,
        })
    }

    async fn events(&self, _: mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError> {
        let (call, message) = ("GetContainerEvents", "the fake doesn't tell".to_owned());
        Err(RuntimeError::Unimplemented { call, message })
    }
}

#[async_trait]
impl Sandboxes for FakeRuntime {
    async fn update_resources(
        &self,
        id: &SandboxId,
        _: &LinuxResources,
        resources: &LinuxResources,
    ) -> Result<(), RuntimeError> {
        const CALL: &str = "UpdatePodSandboxResources";
        let mut inner = self.answer(CALL)?;
        if !inner.sizes_sandboxes {
            let message = "the fake sizes no sandboxes".to_owned();
            return Err(RuntimeError::Unimplemented { call: CALL, message });
        }
        let LinuxResources { cpu_shares, cpu_quota_us, memory_limit_bytes, .. } = resources;
        let figures = format!("shares {cpu_shares} quota {cpu_quota_us} memory {memory_limit_bytes}");
        self.record(&mut inner, "size sandbox", &format!("{id} {figures}"));
        Ok(())
    }

    async fn run(&self, config: &SandboxSpec) -> Result<SandboxId, RuntimeError> {
        const CALL: &str = "RunPodSandbox";
        let created_at = self.clock.now();
        let mut inner = self.answer(CALL)?;
        let taken = inner
            .sandboxes
            .values()
            .any(|other| (&other.config.uid, other.config.attempt) == (&config.uid, config.attempt));
        if taken {
            let message = format!("sandbox {}#{}", config.name, config.attempt);
            return Err(RuntimeError::AlreadyExists { call: CALL, message });
        }
        let number = inner.next_id();
        let id = SandboxId::from(format!("s{number}"));
        let ip = has_own_network(config).then(|| inner.free_ip());
        let sandbox =
            Sandbox { id: id.clone(), config: config.clone(), created_at, state: SandboxState::Ready, ip };
        let name = sandbox.name();
        inner.sandboxes.insert(number, sandbox);
        self.record(&mut inner, "run sandbox", &name);
        Ok(id)
    }

    async fn stop(&self, id: &SandboxId) -> Result<(), RuntimeError> {
        self.unless_cut(self.stop_sandbox(id)).await
    }

    async fn remove(&self, id: &SandboxId) -> Result<(), RuntimeError> {
        self.unless_cut(self.remove_sandbox(id)).await
    }
}

#[async_trait]
impl Containers for FakeRuntime {
    async fn create(
        &self,
        sandbox: &SandboxId,
        config: &ContainerSpec,
        sandbox_spec: &SandboxSpec,
    ) -> Result<ContainerId, RuntimeError> {
        const CALL: &str = "CreateContainer";
        let created_at = self.clock.now();
        let mut inner = self.answer(CALL)?;
        let ready = inner.sandbox_mut(sandbox).is_some_and(|sandbox| sandbox.state == SandboxState::Ready);
        if !ready {
            return Err(RuntimeError::NotFound { call: CALL, message: format!("sandbox {sandbox}") });
        }
        let Some(behaviour) = inner.images.get(&config.image).filter(|i| i.present).map(|i| i.behaviour)
        else {
            return Err(RuntimeError::NotFound { call: CALL, message: format!("image {}", config.image) });
        };
        let taken = inner.containers.values().any(|other| {
            other.uid == sandbox_spec.uid
                && (&other.config.name, other.config.attempt) == (&config.name, config.attempt)
        });
        if taken {
            let message = format!("container {}#{}", config.name, config.attempt);
            return Err(RuntimeError::AlreadyExists { call: CALL, message });
        }
        let number = inner.next_id();
        let id = ContainerId::from(format!("c{number}"));
        let container = FakeContainer {
            id: id.clone(),
            sandbox: sandbox.clone(),
            uid: sandbox_spec.uid.clone(),
            config: config.clone(),
            behaviour,
            created_at,
            started_at: None,
            runs_since: None,
            ended: None,
            is_unknown: false,
        };
        let name = container.name();
        inner.containers.insert(number, container);
        self.record(&mut inner, "create", &name);
        Ok(id)
    }

    async fn start(&self, id: &ContainerId) -> Result<(), RuntimeError> {
        const CALL: &str = "StartContainer";
        let now = self.clock.now();
        let mut inner = self.answer(CALL)?;
        let Some(container) = inner.container_mut(id) else {
            return Err(RuntimeError::NotFound { call: CALL, message: format!("container {id}") });
        };
        container.started_at = Some(now);
        container.runs_since = Some(Instant::now());
        let name = container.name();
        inner.note_start(id);
        self.record(&mut inner, "start", &name);
        Ok(())
    }

    async fn stop(&self, id: &ContainerId, grace: Duration) -> Result<(), RuntimeError> {
        self.unless_cut(self.stop_container(id, grace)).await
    }

    async fn remove(&self, id: &ContainerId) -> Result<(), RuntimeError> {
        self.unless_cut(self.remove_container(id)).await
    }

    async fn update_resources(
        &self,
        id: &ContainerId,
        resources: &LinuxResources,
    ) -> Result<(), RuntimeError> {
        const CALL: &str = "UpdateContainerResources";
        let mut inner = self.answer(CALL)?;
        let name = inner.container_name(id);
        let Some(container) = inner.container_mut(id) else {
            return Err(RuntimeError::NotFound { call: CALL, message: format!("container {id}") });
        };
        let now = &mut container.config.resources;
        let keep = |new: i64, old: &mut i64| *old = if new == 0 { *old } else { new };
        keep(resources.cpu_shares, &mut now.cpu_shares);
        keep(resources.cpu_quota_us, &mut now.cpu_quota_us);
        keep(resources.cpu_period_us, &mut now.cpu_period_us);
        keep(resources.memory_limit_bytes, &mut now.memory_limit_bytes);
        let what = format!("update cpu {} memory {}", now.cpu_quota_us, now.memory_limit_bytes);
        self.record(&mut inner, &what, &name);
        Ok(())
    }

    async fn reopen_log(&self, id: &ContainerId) -> Result<(), RuntimeError> {
        const CALL: &str = "ReopenContainerLog";
        let mut inner = self.answer(CALL)?;
        let name = inner.container_name(id);
        if inner.container_mut(id).is_none() {
            return Err(RuntimeError::NotFound { call: CALL, message: format!("container {id}") });
        }
        self.record(&mut inner, "reopen log of", &name);
        Ok(())
    }
}

#[async_trait]
impl CommandRunner for FakeRuntime {
    async fn exec_sync(
        &self,
        id: &ContainerId,
        command: &[String],
        timeout: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        const CALL: &str = "ExecSync";
        let command = command.join(" ");
        let (script, mut exec) = {
            let mut inner = self.answer(CALL)?;
            let name = inner.container_name(id);
            let Some(container) = inner.container_mut(id) else {
                return Err(RuntimeError::NotFound { call: CALL, message: format!("container {id}") });
            };
            if container.state() != ContainerRunState::Running {
                let message = format!("container {id} isn't running");
                return Err(RuntimeError::failed(CALL, message));
            }
            self.record(&mut inner, &format!("exec {command:?} in"), &name);
            let exec = Exec { runtime: self, what: format!("{command:?} in {name}"), has_ended: false };
            (inner.execs.get(&command).cloned().unwrap_or_default(), exec)
        };
        match timeout.filter(|timeout| *timeout < script.takes) {
            Some(limit) => {
                tokio::time::sleep(limit).await;
                Err(RuntimeError::DeadlineExceeded { call: CALL, limit })
            }
            None => {
                tokio::time::sleep(script.takes).await;
                exec.has_ended = true;
                let (stdout, stderr) = (script.stdout.into_bytes(), script.stderr.into_bytes());
                Ok(ExecOutput { stdout, stderr, exit_code: script.exit_code })
            }
        }
    }
}

#[async_trait]
impl Images for FakeRuntime {
    async fn status(&self, image: &str) -> Result<Option<ImageInfo>, RuntimeError> {
        let inner = self.answer("ImageStatus")?;
        let present = inner.images.get(image).filter(|image| image.present);
        Ok(present.map(|found| info(image, found)))
    }

    async fn pull(
        &self,
        image: &str,
        auth: Option<&ImageAuth>,
        _: &SandboxSpec,
    ) -> Result<String, RuntimeError> {
        const CALL: &str = "PullImage";
        let takes = {
            let inner: &mut Inner = &mut *self.answer(CALL)?;
            let action = auth.map_or("pull".to_owned(), |auth| format!("pull as {}", auth.username));
            self.record(inner, &action, image);
            inner.images.get(image).map(|image| image.pull_takes).unwrap_or_default()
        };
        tokio::time::sleep(takes).await;
        let mut inner = self.answer(CALL)?;
        match inner.images.get_mut(image) {
            Some(found) if !found.is_for(auth) => Err(RuntimeError::failed(CALL, "authorization failed")),
            None => Err(RuntimeError::NotFound { call: CALL, message: format!("image {image}") }),
            Some(found) if found.pulls_fail > 0 => {
                found.pulls_fail -= 1;
                Err(RuntimeError::failed(CALL, "registry says no"))
            }
            Some(found) => {
                found.present = true;
                Ok(image.to_owned())
            }
        }
    }
}

fn info(image: &str, found: &FakeImage) -> ImageInfo {
    ImageInfo {
        uid: None,
        username: String::new(),
        pinned: found.pinned,
        id: image.to_owned(),
        repo_tags: vec![image.to_owned()],
        repo_digests: Vec::new(),
        size_bytes: found.size,
    }
}
