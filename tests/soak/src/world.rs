//! The daemon, its runtime, its manifests and plugin files, as things that can be hit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use witlet_harness::WAIT_TIMEOUT;

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};
use witlet_core::runtime::{ContainerRunState, RuntimePod};
use witlet_harness::{Containerd, Daemon, DaemonOptions, TestClock, report};
use witlet_loss_checks::{Kind, NODE_NAME, NodeSnapshot};
use witlet_ports::Runtime;
use witlet_server::LocalClient;

use crate::node;
use witlet_harness::usage::Usage;

/// How often something is checked that is waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How much of the daemon's log is shown of a pod, in lines.
const LOG_LINES: usize = 60;

/// What containerd 1.6 says of a container whose start was cancelled in the midst, because the agent that asked for it was
/// killed: it has forgotten the task that is there. It takes neither the container nor its sandbox away until it is restarted.
const FORGOTTEN_TASK: &str = "cannot delete running task";

/// The plugin that is replaced all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swapped {
    /// Admits every pod.
    Good,
    /// No component.
    Truncated,
    /// A component with code that doesn't validate.
    InvalidCode,
    /// It does this instead of answering.
    Hostile(&'static str),
}

impl Swapped {
    pub(crate) const ALL: [Self; 10] = [
        Self::Good,
        Self::Good,
        Self::Truncated,
        Self::InvalidCode,
        Self::Hostile("trap"),
        Self::Hostile("loop-in-admit"),
        Self::Hostile("memory-bomb"),
        Self::Hostile("log-flood"),
        Self::Hostile("huge-result"),
        Self::Hostile("loop-in-validate"),
    ];
}

/// What is under the daemon.
pub(crate) struct World {
    pub(crate) kind: Kind,
    pub(crate) daemon: Daemon,
    runtime: Runtime,
    pub(crate) containerd: Option<Containerd>,
    /// Ids of all sandboxes and containers that were seen.
    met: Mutex<BTreeSet<String>>,
    folder: tempfile::TempDir,
}

pub(crate) fn failed(error: &dyn std::error::Error) -> Failed {
    Failed::from(report(error))
}

impl World {
    /// Starts it all, without pods.
    pub(crate) async fn start(kind: Kind) -> Result<Self, Failed> {
        // Short: socket paths have at most 107 bytes.
        let folder = tempfile::Builder::new().prefix("wtl").tempdir_in("/tmp")?;
        let images = folder.path().join("images");
        fs::create_dir_all(&images)?;
        for (name, component) in witlet_test_guests::WORKLOADS {
            fs::write(images.join(format!("{name}.wasm")), component)?;
        }
        fs::write(folder.path().join("not-before.wasm"), witlet_test_guests::NOT_BEFORE)?;
        fs::create_dir(folder.path().join("shared"))?;
        fs::write(folder.path().join("shared/hello"), "hello")?;
        let containerd = match kind {
            Kind::Embedded => None,
            Kind::Containerd => Some(Containerd::start().await.map_err(|error| failed(&error))?),
        };
        let (endpoint, address) = match &containerd {
            Some(containerd) => (containerd.endpoint(), containerd.endpoint()),
            None => {
                let socket = folder.path().join("agent/runtime/runtime.sock");
                ("embedded".to_owned(), format!("unix://{}", socket.display()))
            }
        };
        let mut options = DaemonOptions::below(
            folder.path(),
            witlet_harness::program::witlet().map_err(|error| failed(&error))?,
            endpoint,
        );
        NODE_NAME.clone_into(&mut options.node_name);
        options.plugins = Some(folder.path().join("plugins.yaml"));
        // Where it can reach the pods that it probes.
        options.network_namespace = containerd.as_ref().map(Containerd::network_namespace);
        options.arguments =
            vec!["--stop-pods-on-exit".into(), "--image-root".into(), images.display().to_string()];
        swap(folder.path(), Swapped::Good)?;
        let daemon = Daemon::start(options).map_err(|error| failed(&error))?;
        let runtime =
            witlet_cri::connect(&address, Arc::new(TestClock)).map_err(|e| Failed::from(e.to_string()))?;
        Ok(Self { kind, daemon, runtime, containerd, met: Mutex::default(), folder })
    }

    /// Where a manifest is.
    pub(crate) fn manifest(&self, name: &str) -> PathBuf {
        self.folder.path().join("manifests").join(format!("{name}.json"))
    }

    /// Replaces the plugin.
    pub(crate) fn swap(&self, plugin: Swapped) -> Result<(), Failed> {
        swap(self.folder.path(), plugin)
    }

    /// Leaves half of the plugin configuration.
    pub(crate) fn break_plugin_file(&self) -> Result<(), Failed> {
        let path = self.folder.path().join("plugins.yaml");
        let text = fs::read_to_string(&path)?;
        // Cut in the middle of a line, or it might still mean something.
        fs::write(path, &text[..text.len() / 2])?;
        Ok(())
    }

    /// What the runtime has; none while it can't be asked.
    pub(crate) async fn listed(&self) -> Option<Vec<RuntimePod>> {
        self.runtime.view.list_pods().await.ok().map(|pods| pods.to_vec())
    }

    /// The answer of the daemon's API; none while it gives none.
    pub(crate) async fn ask(&self, request: &str) -> Option<Value> {
        LocalClient::new(&self.daemon.api_socket()).get(request).await.ok()
    }

    /// One check of everything; none while one of them can't be asked.
    pub(crate) async fn view(&self) -> Option<NodeSnapshot> {
        let mut pods = self.ask("/pods").await?;
        let (folders, logs) = (self.pod_folders().ok()?, self.pod_logs().ok()?);
        let runtime = self.listed().await?;
        self.meet(&runtime);
        let containers = runtime.iter().flat_map(|pod| &pod.containers);
        let running = containers.filter(|container| container.state == ContainerRunState::Running);
        let limits = running.filter_map(|one| Some((one.id.to_string(), node::cpu_limit(one.id.as_str())?)));
        let below = node::mounts_below(&self.folder.path().join("agent/pods")).ok()?;
        Some(NodeSnapshot {
            pods: serde_json::from_value(pods["items"].take()).ok()?,
            folders,
            logs,
            mounts: below.iter().filter_map(|path| Some(path.iter().next()?.to_str()?.to_owned())).collect(),
            links: self.links().ok()?,
            cpu_limits: limits.collect(),
            runtime,
        })
    }

    /// The same once all can be asked: on a busy machine one of them may be late.
    pub(crate) async fn seen(&self, wait_timeout: Duration) -> Result<NodeSnapshot, Failed> {
        let deadline = Instant::now() + wait_timeout;
        loop {
            match self.view().await {
                Some(seen) => return Ok(seen),
                None if Instant::now() >= deadline => return Err(Failed::from("the node doesn't answer")),
                None => sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// What there is before a test begins.
    pub(crate) async fn remains_before(&self) -> Result<BTreeSet<String>, Failed> {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        loop {
            match self.remains().await {
                Some(remains) => return Ok(remains),
                None if Instant::now() >= deadline => return Err(Failed::from("the node doesn't answer")),
                None => sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// Remembers what has a cgroup now.
    fn meet(&self, pods: &[RuntimePod]) {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        for pod in pods {
            met.extend(pod.sandboxes.iter().map(|sandbox| sandbox.id.to_string()));
            met.extend(pod.containers.iter().map(|container| container.id.to_string()));
        }
    }

    /// A folder of the host for pods to use.
    pub(crate) fn host_folder(&self) -> String {
        self.folder.path().join("shared").display().to_string()
    }

    /// Names of pods that links to logs are there of: `<name>_<namespace>_<container>-<id>.log`.
    fn links(&self) -> std::io::Result<BTreeSet<String>> {
        let links = names(&self.folder.path().join("containers"))?;
        Ok(links.iter().map(|link| link.split('_').next().unwrap_or(link).to_owned()).collect())
    }

    /// All that pods leave on a node if they aren't cleaned up after.
    pub(crate) async fn remains(&self) -> Option<BTreeSet<String>> {
        let folder = self.folder.path();
        let mut all = BTreeSet::new();
        let mut add =
            |what: &str, found: BTreeSet<String>| all.extend(found.iter().map(|one| format!("{what} {one}")));
        add(
            "mount",
            node::mounts_below(folder).ok()?.iter().map(|path| path.display().to_string()).collect(),
        );
        add("folder", self.pod_folders().ok()?);
        add("logs", names(&folder.join("pod-logs")).ok()?);
        add("link", names(&folder.join("containers")).ok()?);
        for pod in self.listed().await? {
            add("sandbox", pod.sandboxes.iter().map(|sandbox| sandbox.id.to_string()).collect());
            add("container", pod.containers.iter().map(|container| container.id.to_string()).collect());
        }
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner).clone();
        add("cgroup", node::cgroups_of(&met).ok()?);
        if let Some(containerd) = &self.containerd {
            all.extend(containerd.remains().ok()?);
        }
        Some(all)
    }

    fn pod_folders(&self) -> std::io::Result<BTreeSet<String>> {
        names(&self.folder.path().join("agent/pods"))
    }

    /// `<namespace>_<name>_<uid>/<container>/<number>.log`
    fn pod_logs(&self) -> std::io::Result<BTreeMap<String, BTreeMap<String, usize>>> {
        let root = self.folder.path().join("pod-logs");
        let mut logs = BTreeMap::new();
        for name in names(&root)? {
            let uid = name.rsplit('_').next().unwrap_or(&name).to_owned();
            let mut containers = BTreeMap::new();
            for container in names(&root.join(&name))? {
                let files = names(&root.join(&name).join(&container))?.len();
                containers.insert(container, files);
            }
            logs.insert(uid, containers);
        }
        Ok(logs)
    }

    /// What remains that wasn't there before, once nothing does or this has passed.
    pub(crate) async fn left_since(&self, before: &BTreeSet<String>, timeout: Duration) -> Vec<String> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = match self.remains().await {
                Some(now) => now.difference(before).cloned().collect(),
                None => vec!["the node doesn't answer".to_owned()],
            };
            if left.is_empty() || Instant::now() >= deadline {
                return left;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// What the daemon takes.
    pub(crate) fn daemon_usage(&self) -> Result<Usage, Failed> {
        let process = self.daemon.pid().ok_or("the daemon doesn't run")?;
        Ok(Usage::of(process)?)
    }

    /// What the embedded runtime takes, if there is one.
    pub(crate) async fn runtime_usage(&self) -> Option<Usage> {
        Usage::of(u32::try_from(self.embedded_process().await?).ok()?).ok()
    }

    /// The process behind the embedded runtime's socket.
    async fn embedded_process(&self) -> Option<i32> {
        if self.kind != Kind::Embedded {
            return None;
        }
        let socket = self.folder.path().join("agent/runtime/runtime.sock");
        UnixStream::connect(socket).await.ok()?.peer_cred().ok()?.pid()
    }

    /// Kills the daemon and the embedded runtime with its workloads, as the end of the machine's power would.
    pub(crate) async fn cut_power(&mut self) -> Result<(), Failed> {
        self.daemon.kill().map_err(|error| failed(&error))?;
        if let Some(process) = self.embedded_process().await.and_then(Pid::from_raw) {
            kill_process(process, Signal::KILL)?;
        }
        let deadline = Instant::now() + WAIT_TIMEOUT;
        while self.embedded_process().await.is_some() {
            if Instant::now() >= deadline {
                return Err(Failed::from("the embedded runtime was killed and still answers"));
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Restarts containerd if it holds on to a task that it has forgotten, and says whether that was so.
    pub(crate) async fn restart_stuck_containerd(&mut self) -> Result<bool, Failed> {
        let Some(containerd) = self.containerd.as_mut() else { return Ok(false) };
        if !self.daemon.log().contains(FORGOTTEN_TASK) {
            return Ok(false);
        }
        containerd.restart().await.map_err(|error| failed(&error))?;
        Ok(true)
    }

    /// Lines of the daemon's log that name the pod, the last of them.
    pub(crate) fn log_of(&self, pod: &str) -> String {
        let log = self.daemon.log();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(pod)).collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    /// Ends everything, and says what didn't end well.
    pub(crate) async fn end(mut self) -> Result<(), Failed> {
        // Only a daemon that runs can end what it has started.
        if self.ask("/stats").await.is_none() {
            self.daemon.kill().map_err(|error| failed(&error))?;
            self.daemon.launch().map_err(|error| failed(&error))?;
        }
        if let Some(containerd) = self.containerd.as_mut().filter(|containerd| !containerd.is_running()) {
            containerd.launch().await.map_err(|error| failed(&error))?;
        }
        let answers = self.daemon.wait_for_pods("the daemon answers", |_| true).await;
        let daemon = self.daemon.stop().await;
        let containerd = match self.containerd.take() {
            Some(containerd) => containerd.stop().await,
            None => Ok(()),
        };
        answers.map_err(|error| failed(&error))?;
        daemon.and(containerd).map_err(|error| failed(&error))
    }
}

/// Writes the component as its author would, over the old one in place, and then the configuration.
fn swap(folder: &Path, plugin: Swapped) -> Result<(), Failed> {
    let (component, config) = match plugin {
        Swapped::Good => (witlet_test_guests::HOSTILE.to_vec(), "admit"),
        Swapped::Truncated => (witlet_test_guests::truncated(), "admit"),
        Swapped::InvalidCode => (witlet_test_guests::invalid_code(), "admit"),
        Swapped::Hostile(what) => (witlet_test_guests::HOSTILE.to_vec(), what),
    };
    fs::write(folder.join("swapped.wasm"), component)?;
    fs::write(
        folder.join("plugins.yaml"),
        format!(
            "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n  \
             - {{name: not-before, component: ./not-before.wasm, admission: {{}}}}\n  \
             - {{name: swapped, component: ./swapped.wasm, admission: {{}}, config: {config}}}\n"
        ),
    )?;
    Ok(())
}

/// Names in a folder; none if there is no folder.
fn names(folder: &Path) -> std::io::Result<BTreeSet<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(error),
    };
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}
