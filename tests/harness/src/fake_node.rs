//! A daemon on a runtime that answers at once, with plugins that tell over loopback which version of them was asked.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::program::CACHE_VARIABLE;
use crate::{Daemon, DaemonOptions, WAIT_TIMEOUT, report};
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use witlet_fake_cri::{FakeCri, now};
use witlet_server::LocalClient;

/// How often is checked.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Longest datagram.
const DATAGRAM_BYTES_MAX: usize = 512;

/// How many events are shown when something was waited for in vain.
const EVENTS_SHOWN: usize = 20;

/// What one call of the witness reported.
#[derive(Clone, Debug)]
pub struct WitnessCall {
    pub version: u64,
    /// When the call began, in nanoseconds since 1970.
    pub began: i64,
    /// `source`, or the pod and container that are probed.
    pub who: String,
}

impl WitnessCall {
    fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut words = text.splitn(3, ' ');
        Some(Self {
            version: words.next()?.parse().ok()?,
            began: words.next()?.parse().ok()?,
            who: words.next()?.to_owned(),
        })
    }
}

/// All that the daemon shows at one moment.
#[derive(Clone, Debug, Default)]
pub struct NodeView {
    pub pods: Vec<Value>,
    pub plugins: Vec<Value>,
    pub events: Vec<Value>,
}

impl NodeView {
    pub fn plugin(&self, name: &str) -> Option<&Value> {
        self.plugins.iter().find(|plugin| plugin["name"] == *name)
    }

    /// Those that the configuration names.
    pub fn configured(&self) -> impl Iterator<Item = &Value> {
        self.plugins.iter().filter(|plugin| plugin["builtin"] == false)
    }

    /// By the name in its manifest.
    pub fn pod(&self, name: &str) -> Option<&Value> {
        let full = format!("{name}-node1");
        self.pods.iter().find(|pod| pod["metadata"]["name"] == *full)
    }

    /// Ids of the containers that run in a namespace, by pod.
    pub fn running(&self, namespace: &str) -> BTreeMap<String, String> {
        let pods = self.pods.iter().filter(|pod| pod["metadata"]["namespace"] == *namespace);
        pods.filter(|pod| pod["status"]["phase"] == "Running")
            .filter_map(|pod| {
                let name = pod["metadata"]["name"].as_str()?;
                let id = pod["status"]["containerStatuses"][0]["containerID"].as_str()?;
                Some((name.to_owned(), id.to_owned()))
            })
            .collect()
    }

    /// Whether an event about this object has such words.
    pub fn has_event(&self, object: &str, reason: &str, words: &str) -> bool {
        self.events.iter().any(|event| {
            event["involvedObject"]["name"] == *object
                && event["reason"] == *reason
                && event["message"].as_str().unwrap_or_default().contains(words)
        })
    }

    fn shown(&self) -> String {
        let pods: BTreeMap<String, usize> = self.pods.iter().fold(BTreeMap::new(), |mut all, pod| {
            let (status, namespace) = (&pod["status"], &pod["metadata"]["namespace"]);
            let waiting = &status["containerStatuses"][0]["state"]["waiting"]["reason"];
            *all.entry(format!("{namespace} {} {} {waiting}", status["phase"], status["reason"]))
                .or_default() += 1;
            all
        });
        let plugins: Vec<String> = self
            .configured()
            .map(|plugin| {
                format!(
                    "{} {} {} {}",
                    plugin["name"], plugin["state"], plugin["pending"], plugin["lastError"]
                )
            })
            .collect();
        let events: Vec<String> = self.events[self.events.len().saturating_sub(EVENTS_SHOWN)..]
            .iter()
            .map(|event| {
                format!("{} {} {}", event["involvedObject"]["name"], event["reason"], event["message"])
            })
            .collect();
        format!("pods: {pods:?}\nplugins:\n{}\nevents:\n{}", plugins.join("\n"), events.join("\n"))
    }
}

/// The daemon, its runtime, and what its plugins reported.
pub struct FakeNode {
    pub daemon: Daemon,
    pub cri: FakeCri,
    /// Where the plugins send to.
    pub port: u16,
    pub folder: tempfile::TempDir,
    calls: Arc<Mutex<Vec<WitnessCall>>>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

pub fn failed(error: &dyn std::error::Error) -> Failed {
    Failed::from(report(error))
}

/// A component with a section more that says nothing: other bytes, another digest, the same behaviour.
pub fn variant(component: &[u8], number: u8) -> Vec<u8> {
    // A custom section of two bytes: the length of its name, and the name.
    [component, &[0, 2, 1, b'a' + number]].concat()
}

impl FakeNode {
    /// The same without arguments, and with a cache of compiled code that no other test fills or checks.
    pub async fn start_with_own_cache(plugins: impl FnOnce(&Path, u16) -> Value) -> Result<Self, Failed> {
        Self::start_on(&[], true, plugins).await
    }

    /// Where a daemon with a cache of its own keeps compiled code.
    pub fn cache(&self) -> PathBuf {
        self.folder.path().join("compiled")
    }

    /// Starts it with the entries that `plugins` makes of the folder and the port, and two variants of the witness in it:
    /// `witness-0.wasm` and `witness-1.wasm`.
    pub async fn start(
        arguments: &[&str],
        plugins: impl FnOnce(&Path, u16) -> Value,
    ) -> Result<Self, Failed> {
        Self::start_on(arguments, false, plugins).await
    }

    async fn start_on(
        arguments: &[&str],
        own_cache: bool,
        plugins: impl FnOnce(&Path, u16) -> Value,
    ) -> Result<Self, Failed> {
        // Short: socket paths have at most 107 bytes.
        let folder = tempfile::Builder::new().prefix("wtl").tempdir_in("/tmp")?;
        for number in 0..2_u8 {
            let bytes = variant(witlet_test_guests::WITNESS, number);
            fs::write(folder.path().join(format!("witness-{number}.wasm")), bytes)?;
        }
        let (cri, stop, mut tasks) = (FakeCri::default(), CancellationToken::new(), JoinSet::new());
        let socket = folder.path().join("cri.sock");
        tasks.spawn({
            let (cri, socket, stop) = (cri.clone(), socket.clone(), stop.clone());
            async move { drop(cri.serve(&socket, stop).await) }
        });
        let listener = UdpSocket::bind("127.0.0.1:0").await?;
        let (port, calls) = (listener.local_addr()?.port(), Arc::<Mutex<Vec<WitnessCall>>>::default());
        tasks.spawn({
            let (calls, stop) = (calls.clone(), stop.clone());
            async move { stop.run_until_cancelled(listen(listener, calls)).await.unwrap_or_default() }
        });
        let endpoint = format!("unix://{}", socket.display());
        let mut options = DaemonOptions::below(
            folder.path(),
            crate::program::witlet().map_err(|error| failed(&error))?,
            endpoint,
        );
        options.plugins = Some(folder.path().join("plugins.yaml"));
        options.arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        if own_cache {
            let compiled = folder.path().join("compiled").display().to_string();
            options.environment.push((CACHE_VARIABLE.to_owned(), compiled));
        }
        configure(folder.path(), &plugins(folder.path(), port))?;
        let daemon = Daemon::start(options).map_err(|error| failed(&error))?;
        Ok(Self { daemon, cri, port, folder, calls, stop, tasks })
    }

    /// Kills the daemon and starts it again with other arguments.
    pub fn restart_with(&mut self, arguments: &[&str]) -> Result<(), Failed> {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        self.daemon.restart_with(arguments).map_err(|error| failed(&error))
    }

    /// Replaces the plugin configuration in one step.
    pub fn configure(&self, plugins: &Value) -> Result<(), Failed> {
        configure(self.folder.path(), plugins)
    }

    /// Writes what a source is to do from now on, in one step, where the folder `name` is its `/script`.
    pub fn script(&self, name: &str, script: &Value) -> Result<(), Failed> {
        write_script(self.folder.path(), name, script)
    }

    /// Has a manifest with these pods.
    pub fn put(&self, name: &str, pods: &[Value]) -> Result<(), Failed> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": pods}).to_string();
        self.daemon.write_manifest(&format!("{name}.json"), &list).map_err(|error| failed(&error))
    }

    /// Has it no more.
    pub fn remove(&self, name: &str) -> Result<(), Failed> {
        self.daemon.remove_manifest(&format!("{name}.json")).map_err(|error| failed(&error))
    }

    /// What the plugins reported since the last time.
    pub fn take_reported(&self) -> Vec<WitnessCall> {
        std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn items(&self, path: &str) -> Option<Vec<Value>> {
        let mut answer: Value = LocalClient::new(&self.daemon.api_socket()).get(path).await.ok()?;
        serde_json::from_value(answer["items"].take()).ok()
    }

    /// All that it shows now; none while it doesn't answer.
    pub async fn view(&self) -> Option<NodeView> {
        Some(NodeView {
            pods: self.items("/pods").await?,
            plugins: self.items("/plugins").await?,
            events: self.items("/events").await?,
        })
    }

    /// Waits until all is as expected.
    pub async fn until(
        &self,
        what: &str,
        mut expected: impl FnMut(&NodeView) -> bool,
    ) -> Result<NodeView, Failed> {
        let begun = Instant::now();
        loop {
            let view = self.view().await;
            if let Some(view) = view.as_ref().filter(|view| expected(view)) {
                return Ok(view.clone());
            }
            if begun.elapsed() >= WAIT_TIMEOUT {
                let shown = view.map_or("the daemon doesn't answer".to_owned(), |view| view.shown());
                let log = self.daemon.log();
                let lines: Vec<&str> = log.lines().collect();
                let tail = lines[lines.len().saturating_sub(EVENTS_SHOWN)..].join("\n");
                return Err(Failed::from(format!("{what}: not within {WAIT_TIMEOUT:?}\n{shown}\n{tail}")));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Ends everything.
    pub async fn end(mut self) -> Result<(), Failed> {
        let ended = self.daemon.stop().await.map_err(|error| failed(&error));
        self.stop.cancel();
        self.tasks.join_all().await;
        ended
    }
}

/// Writes what a source is to do, where the folder `name` is its `/script`.
pub fn write_script(folder: &Path, name: &str, script: &Value) -> Result<(), Failed> {
    let folder = folder.join(name);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("next.json"), script.to_string())?;
    fs::rename(folder.join("next.json"), folder.join("now.json"))?;
    Ok(())
}

async fn listen(socket: UdpSocket, calls: Arc<Mutex<Vec<WitnessCall>>>) {
    let mut buffer = [0; DATAGRAM_BYTES_MAX];
    while let Ok(length) = socket.recv(&mut buffer).await {
        let read = WitnessCall::read(buffer.get(..length).unwrap_or_default());
        calls.lock().unwrap_or_else(PoisonError::into_inner).extend(read);
    }
}

fn configure(folder: &Path, plugins: &Value) -> Result<(), Failed> {
    let file =
        json!({"apiVersion": "witlet.dev/v1alpha1", "kind": "PluginConfiguration", "plugins": plugins});
    let (next, place): (PathBuf, PathBuf) = (folder.join("plugins.new"), folder.join("plugins.yaml"));
    fs::write(&next, file.to_string())?;
    fs::rename(next, place)?;
    Ok(())
}

/// A pod that runs until it is stopped.
pub fn pod(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "app", "image": "registry.example.com/app:1"}],
        },
    })
}

/// The same with a readiness probe of a plugin's type in place of what the spec says.
pub fn probed(mut pod: Value, readiness: &Value) -> Value {
    let containers = pod["spec"]["containers"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let probed = containers.into_iter().map(|mut container| {
        container["readinessProbe"] =
            json!({"tcpSocket": {"port": 80}, "periodSeconds": 1, "timeoutSeconds": 10});
        let annotation = format!("probe.witlet.dev/{}", container["name"].as_str().unwrap_or_default());
        pod["metadata"]["annotations"][annotation] = json!(json!({"readiness": readiness}).to_string());
        container
    });
    let probed: Vec<Value> = probed.collect();
    pod["spec"]["containers"] = json!(probed);
    pod
}

/// Nanoseconds since 1970.
pub fn moment() -> i64 {
    now()
}
