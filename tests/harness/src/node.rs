//! A node made of the real daemon.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{BUSYBOX_IMAGE, Containerd, Daemon, DaemonOptions, TestClock, WAIT_TIMEOUT, report};
use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Node, Pod};
use libtest_mimic::Failed;
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};
use witlet_core::runtime::RuntimePod;
use witlet_ports::Runtime;
use witlet_testkit::NOT_BEFORE_SECONDS;
use witlet_testkit::scenarios::{Programs, Role, Workload, World};

use crate::programs;

/// Which runtime is under the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Embedded,
    Containerd,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Containerd => "containerd",
        }
    }
}

/// A daemon with folders of its own, with the example handler `not-before` and the images of all roles.
pub struct DaemonWorld {
    kind: Kind,
    pub daemon: Daemon,
    pub runtime: Runtime,
    containerd: Arc<Mutex<Option<Containerd>>>,
    folder: tempfile::TempDir,
}

impl DaemonWorld {
    /// Starts a daemon, and waits until it answers.
    pub async fn start(kind: Kind, containerd: Arc<Mutex<Option<Containerd>>>) -> Result<Self, Failed> {
        // Short: socket paths have at most 107 bytes.
        let folder = tempfile::Builder::new().prefix("wtl").tempdir_in("/tmp")?;
        let root = folder.path().join("agent");
        let images = folder.path().join("images");
        std::fs::create_dir_all(&images)?;
        for (name, component) in witlet_test_guests::WORKLOADS {
            std::fs::write(images.join(format!("{name}.wasm")), component)?;
        }
        std::fs::write(folder.path().join("not-before.wasm"), witlet_test_guests::NOT_BEFORE)?;
        let plugins = folder.path().join("plugins.yaml");
        std::fs::write(
            &plugins,
            "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n  \
             - {name: not-before, component: ./not-before.wasm, admission: {}}\n",
        )?;
        let (endpoint, reported) = match (kind, &*containerd.lock().await) {
            (Kind::Containerd, Some(containerd)) => (containerd.endpoint(), containerd.daemon_arguments()),
            (Kind::Containerd, None) => return Err(Failed::from("containerd doesn't run")),
            (Kind::Embedded, _) => ("embedded".to_owned(), Vec::new()),
        };
        let mut options = DaemonOptions::below(
            folder.path(),
            crate::program::witlet().map_err(|error| Failed::from(report(&error)))?,
            &endpoint,
        );
        options.plugins = Some(plugins);
        options.arguments =
            vec!["--stop-pods-on-exit".into(), "--image-root".into(), images.display().to_string()];
        options.arguments.extend(reported);
        let address = match kind {
            Kind::Containerd => endpoint,
            Kind::Embedded => format!("unix://{}", root.join("runtime/runtime.sock").display()),
        };
        let daemon = Daemon::start(options).map_err(|error| Failed::from(report(&error)))?;
        let runtime =
            witlet_cri::connect(&address, Arc::new(TestClock)).map_err(|e| Failed::from(e.to_string()))?;
        let world = Self { kind, daemon, runtime, containerd, folder };
        world.answers().await?;
        Ok(world)
    }

    async fn answers(&self) -> Result<(), Failed> {
        let answered = self.daemon.wait_for_pods("the daemon answers", |_| true).await;
        answered.map(drop).map_err(|error| Failed::from(report(&error)))
    }

    /// What the daemon logged.
    pub fn log(&self) -> String {
        self.daemon.log()
    }

    /// The folder of the pods' logs.
    pub fn pod_logs(&self) -> PathBuf {
        self.folder.path().join("pod-logs")
    }

    /// Containerd, for what only it can show.
    pub async fn containerd(&self) -> MutexGuard<'_, Option<Containerd>> {
        self.containerd.lock().await
    }

    /// Ends the daemon with all its pods, and fails if anything is left of them.
    pub async fn end(mut self) -> Result<(), Failed> {
        let failed = |error| Failed::from(report(&error));
        let ended = self.daemon.stop().await.map_err(failed);
        if self.kind == Kind::Containerd {
            // The next scenario begins with nothing, whatever this one left.
            let left = self.runtime.view.list_pods().await?;
            for sandbox in left.iter().flat_map(|pod| &pod.sandboxes) {
                self.runtime.sandboxes.stop(&sandbox.id).await?;
                self.runtime.sandboxes.remove(&sandbox.id).await?;
            }
            let running: Vec<_> =
                left.iter().filter(|pod| is_alive(pod)).map(|pod| pod.name.clone()).collect();
            if !running.is_empty() {
                return Err(Failed::from(format!("the daemon ended and left {running:?} running")));
            }
        }
        ended
    }
}

fn is_alive(pod: &RuntimePod) -> bool {
    use witlet_core::runtime::{ContainerRunState, SandboxState};
    pod.sandboxes.iter().any(|s| s.state == SandboxState::Ready)
        || pod.containers.iter().any(|c| c.state == ContainerRunState::Running)
}

#[async_trait]
impl World for DaemonWorld {
    fn workload(&self, role: Role) -> Workload {
        let (image, command, args) = match (self.kind, role) {
            (Kind::Embedded, Role::Sleeper) => ("file:http-server.wasm", vec![], vec!["0".into()]),
            (Kind::Embedded, Role::Exits(code)) => {
                ("file:worker.wasm", vec![], vec![code.to_string(), "1".into(), "1".into()])
            }
            (Kind::Embedded, Role::IgnoresStop) => ("file:stubborn.wasm", vec![], vec![]),
            (Kind::Containerd, Role::Sleeper) => {
                (BUSYBOX_IMAGE, shell("trap 'exit 0' TERM; while :; do sleep 0.1; done"), vec![])
            }
            (Kind::Containerd, Role::Exits(code)) => (BUSYBOX_IMAGE, shell(&format!("exit {code}")), vec![]),
            (Kind::Containerd, Role::IgnoresStop) => {
                (BUSYBOX_IMAGE, shell("trap '' TERM; sleep 600"), vec![])
            }
        };
        Workload { image: image.to_owned(), command, args }
    }

    fn programs(&self) -> Option<Programs> {
        let folder = self.folder.path().join("shared");
        Some(match self.kind {
            Kind::Embedded => Programs {
                folder,
                workload: programs::embedded_workload,
                command: programs::embedded_command,
            },
            Kind::Containerd => {
                Programs { folder, workload: programs::busybox_workload, command: programs::busybox_command }
            }
        })
    }

    fn node_name(&self) -> String {
        "node1".to_owned()
    }

    fn timeout(&self) -> Duration {
        WAIT_TIMEOUT
    }

    async fn put(&mut self, manifest: &str, pods: Vec<Pod>) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": pods}).to_string();
        self.daemon.write_manifest(&format!("{manifest}.json"), &list).expect("the folder is the test's own");
    }

    async fn remove(&mut self, manifest: &str) {
        self.daemon.remove_manifest(&format!("{manifest}.json")).expect("it was put there");
    }

    async fn pods(&self) -> Option<Vec<Pod>> {
        let pods = self.daemon.pods().await.ok()?;
        Some(pods.into_iter().map(|pod| serde_json::from_value(pod).expect("a pod")).collect())
    }

    async fn node(&self) -> Option<Node> {
        serde_json::from_value(self.daemon.get("node").await.ok()?).ok()
    }

    async fn runtime_pods(&self) -> Option<Vec<RuntimePod>> {
        Some(self.runtime.view.list_pods().await.ok()?.to_vec())
    }

    async fn kill_agent(&mut self) {
        self.daemon.kill().expect("the daemon is the test's own");
    }

    async fn start_agent(&mut self) {
        self.daemon.launch().expect("it started before");
    }

    async fn stop_runtime(&mut self) -> Result<(), String> {
        match (self.kind, &mut *self.containerd.lock().await) {
            (Kind::Containerd, Some(containerd)) => {
                containerd.terminate().await.map_err(|error| report(&error))
            }
            (Kind::Containerd, None) => Err("containerd doesn't run".to_owned()),
            (Kind::Embedded, _) => Err("its workloads live in its process".to_owned()),
        }
    }

    async fn start_runtime(&mut self) {
        if let Some(containerd) = &mut *self.containerd.lock().await {
            containerd.launch().await.expect("it started before");
        }
    }

    fn deferred(&self, mut pod: Pod, seconds: u32) -> Option<Pod> {
        let annotations = pod.metadata.annotations.get_or_insert_default();
        annotations.insert(NOT_BEFORE_SECONDS.to_owned(), seconds.to_string());
        Some(pod)
    }
}

pub fn shell(script: &str) -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()]
}
