//! A node with plugins, for the tests to ask.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tempfile::TempDir;
use witlet_core::admission::{AdmissionRequest, Decision, Operation};
use witlet_core::event::Event;
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;
use witlet_harness::WAIT_TIMEOUT;
use witlet_harness::program::component_cache;
use witlet_ports::{ArtifactFetcher, Clock, CommandRunner, ComponentFetcher, EventSink, NodeWatch};
use witlet_wasm::compile::{CompileLimits, CompilerConfig};
use witlet_wasm::host::{DataConfig, PluginHost, PluginHostConfig, StartError};
use witlet_wasm::plugin::{Builtin, BuiltinRole, PluginStatus};
use witlet_wasm::record::RecorderConfig;

/// Where compiled code goes: once for all suites of this target folder.
pub(crate) fn cache() -> PathBuf {
    component_cache().expect("a test lies in a target folder")
}

/// Compiles in a child, as the daemon does; the child is this package's own program. It gives way to all other programs, so it has as long
/// by the clock as anything.
pub(crate) fn compiler(cache: impl Into<PathBuf>) -> CompilerConfig {
    let limits = CompileLimits { wall: WAIT_TIMEOUT, ..CompileLimits::default() };
    let program = env!("CARGO_BIN_EXE_compile-component").into();
    CompilerConfig { program, limits, ..CompilerConfig::new(cache) }
}

/// 2026-01-02T03:04:05.678Z
pub(crate) fn now() -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678).expect("a time in range")
}

pub(crate) struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        now()
    }
}

/// Remembers events.
#[derive(Default)]
pub(crate) struct Events(Mutex<Vec<Event>>);

impl EventSink for Events {
    fn record(&self, event: Event) {
        self.0.lock().expect("no test panics while it holds this").push(event);
    }
}

impl Events {
    /// Messages of all events so far.
    pub(crate) fn messages(&self) -> Vec<String> {
        self.0
            .lock()
            .expect("no test panics while it holds this")
            .iter()
            .map(|event| event.message.clone())
            .collect()
    }

    /// Reasons of all events so far.
    pub(crate) fn reasons(&self) -> Vec<String> {
        self.0
            .lock()
            .expect("no test panics while it holds this")
            .iter()
            .map(|event| event.reason.clone())
            .collect()
    }
}

/// A running plugin host and the folder that its configuration lies in.
pub(crate) struct Node {
    pub(crate) folder: TempDir,
    pub(crate) host: Arc<PluginHost>,
    pub(crate) events: Arc<Events>,
}

/// One entry of the configuration for the guest that does what its configuration says. Only loops are given the default timeout:
/// whatever else a guest does takes no time, but the machine may be busy, so it has the most that an entry may say.
pub(crate) fn hostile(name: &str, behaviour: &str, more: &str) -> String {
    let limits = if behaviour.starts_with("loop") { "" } else { "limits: {timeout: 10s}, " };
    format!(
        "- {{name: {name}, component: hostile.wasm, admission: {{{more}}}, {limits}config: {behaviour}}}\n"
    )
}

/// A built-in handler, with more time for an answer than a busy machine takes of it.
pub(crate) fn builtin(name: &'static str, component: &'static [u8]) -> Builtin {
    Builtin { role: BuiltinRole::Admission { timeout: WAIT_TIMEOUT }, ..Builtin::admission(name, component) }
}

/// The file with these entries.
pub(crate) fn configuration(entries: &str) -> String {
    let entries = if entries.is_empty() { "  []\n" } else { entries };
    format!("apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n{entries}")
}

/// Writes a file as careful programs do: next to it first, then in its place.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) {
    let temporary = path.with_extension("new");
    std::fs::write(&temporary, content).expect("the test's folder is writable");
    std::fs::rename(&temporary, path).expect("the test's folder is writable");
}

/// What a node has in addition to its configuration.
pub(crate) struct Setting {
    pub(crate) compiler: CompilerConfig,
    pub(crate) builtins: Vec<Builtin>,
    /// More files next to the configuration.
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
    pub(crate) node: Option<Arc<dyn NodeWatch>>,
    /// Runs commands in probed containers.
    pub(crate) containers: Option<Arc<dyn CommandRunner>>,
    /// Components that an entry may name.
    pub(crate) shipped: Vec<(&'static str, &'static [u8])>,
    /// Brings components from registries.
    pub(crate) fetcher: Option<Arc<dyn ComponentFetcher>>,
    /// Brings artifacts from registries.
    pub(crate) artifacts: Option<Arc<dyn ArtifactFetcher>>,
    /// Keeps the last set that was good.
    pub(crate) last_good_folder: Option<PathBuf>,
    /// Whether the node has an API server.
    pub(crate) in_cluster: bool,
}

impl Setting {
    /// Nothing but a compiler.
    pub(crate) fn new(compiler: CompilerConfig) -> Self {
        Self {
            compiler,
            builtins: Vec::new(),
            files: Vec::new(),
            node: None,
            containers: None,
            shipped: Vec::new(),
            fetcher: None,
            artifacts: None,
            last_good_folder: None,
            in_cluster: false,
        }
    }
}

/// A folder with these entries in the configuration and all guests next to it.
fn folder(entries: &str, setting: &Setting) -> TempDir {
    let folder = TempDir::new().expect("a folder for the test");
    for (name, bytes) in [
        ("hostile.wasm", witlet_test_guests::HOSTILE),
        ("loop-at-start.wasm", witlet_test_guests::LOOP_AT_START),
        ("no-latest-tag.wasm", witlet_test_guests::NO_LATEST_TAG),
    ] {
        write(&folder.path().join(name), bytes);
    }
    for (name, bytes) in [
        ("core-module.wasm", witlet_test_guests::core_module()),
        ("invalid-code.wasm", witlet_test_guests::invalid_code()),
        ("truncated.wasm", witlet_test_guests::truncated()),
        ("wrong-world.wasm", witlet_test_guests::wrong_world()),
        ("unknown-imports.wasm", witlet_test_guests::unknown_imports()),
        ("giant-memory.wasm", witlet_test_guests::giant_memory()),
        ("giant-table.wasm", witlet_test_guests::giant_table()),
        ("many-memories.wasm", witlet_test_guests::many_memories()),
        ("text.wasm", b"(component)".to_vec()),
        ("empty.wasm", Vec::new()),
    ] {
        write(&folder.path().join(name), bytes);
    }
    for (name, bytes) in &setting.files {
        write(&folder.path().join(name), bytes);
    }
    write(&folder.path().join("plugins.yaml"), configuration(entries));
    folder
}

fn host_config(folder: &TempDir, setting: Setting, events: &Arc<Events>) -> PluginHostConfig {
    PluginHostConfig {
        tracer: witlet_ports::Tracer::off(),
        compiler: setting.compiler,
        plugins_file: Some(folder.path().join("plugins.yaml")),
        builtins: setting.builtins,
        shipped: setting.shipped,
        fetcher: setting.fetcher,
        containers: setting.containers,
        state_folder: None,
        last_good_folder: setting.last_good_folder,
        data: DataConfig {
            folder: Some(folder.path().join("kept-data")),
            artifacts: setting.artifacts,
            ..DataConfig::default()
        },
        decision_log_folder: Some(folder.path().join("decisions")),
        in_cluster: setting.in_cluster,
        node: setting.node,
        recorder: Some(RecorderConfig {
            folder: folder.path().join("recorded"),
            clock: Arc::new(FixedClock),
        }),
        clock: Arc::new(FixedClock),
        events: events.clone(),
    }
}

impl Node {
    /// With these entries in the configuration and all guests next to it; no built-ins.
    pub(crate) async fn with(entries: &str) -> Self {
        Self::start(entries, &[], compiler(cache())).await.expect("the host starts")
    }

    /// With these entries and built-ins; every plugin was tried when this returns.
    pub(crate) async fn start(
        entries: &str,
        builtins: &[Builtin],
        compiler: CompilerConfig,
    ) -> Result<Self, StartError> {
        let node =
            Self::begin(entries, Setting { builtins: builtins.to_vec(), ..Setting::new(compiler) }).await?;
        let ready = tokio::time::timeout(WAIT_TIMEOUT, node.host.ready()).await;
        assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
        Ok(node)
    }

    /// As soon as the host has started, whatever is still being loaded.
    pub(crate) async fn begin(entries: &str, setting: Setting) -> Result<Self, StartError> {
        let folder = folder(entries, &setting);
        Self::in_folder(folder, setting).await
    }

    /// With what lies in this folder: a start after the one that made it.
    pub(crate) async fn in_folder(folder: TempDir, setting: Setting) -> Result<Self, StartError> {
        let events = Arc::new(Events::default());
        let host = PluginHost::start(host_config(&folder, setting, &events)).await?;
        Ok(Self { folder, host, events })
    }

    /// A host for trying handlers out, with these entries and all guests; every plugin was tried when this returns.
    pub(crate) async fn trial(entries: &str, setting: Setting) -> Self {
        let (folder, events) = (folder(entries, &setting), Arc::new(Events::default()));
        let started = PluginHost::start_trial(host_config(&folder, setting, &events)).await;
        let node = Self { folder, host: started.expect("the host starts"), events };
        let ready = tokio::time::timeout(WAIT_TIMEOUT, node.host.ready()).await;
        assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
        node
    }

    /// Asks about a pod; again where a handler had no thread within its time, which a busy machine decides and no handler.
    pub(crate) async fn admit(&self, pod: Pod) -> Decision {
        let admission = self.host.admission();
        let asking = async {
            loop {
                match admission.admit(request(pod.clone())).await {
                    Decision::Defer { reason, .. } if reason == "HandlerNotAsked" => {}
                    decision => return decision,
                }
            }
        };
        tokio::time::timeout(WAIT_TIMEOUT, asking).await.expect("admission answers in time")
    }

    /// Asks about a pod that this plugin refuses. Returns the decision without the plugin's name and digest, which it must end with.
    pub(crate) async fn refused_by(&self, plugin: &str, pod: Pod) -> Decision {
        self.unsigned(plugin, self.admit(pod).await)
    }

    /// A refusal without the plugin's name and digest, which it must end with, and which a rejection must name.
    pub(crate) fn unsigned(&self, plugin: &str, decision: Decision) -> Decision {
        let digest = self.status(plugin).digest.expect("it is loaded");
        let by = format!("(plugin {plugin}, sha256:{})", &digest[..12]);
        let own = |message: String| match message.strip_suffix(&by) {
            Some(own) => own.trim_end().to_owned(),
            None => panic!("{message:?} doesn't end with {by:?}"),
        };
        match decision {
            Decision::Reject { reason, message, handler } => {
                assert_eq!(handler.as_deref(), Some(plugin), "the rejection names its handler");
                Decision::Reject { reason, message: own(message), handler: None }
            }
            Decision::Defer { reason, message, retry_after } => {
                Decision::Defer { reason, message: own(message), retry_after }
            }
            other @ (Decision::Admit | Decision::Preempt { .. }) => {
                panic!("{plugin} refuses nothing: {other:?}")
            }
        }
    }

    /// The status of the plugin with this name.
    pub(crate) fn status(&self, name: &str) -> PluginStatus {
        self.host.list().into_iter().find(|status| status.name == name).expect("the plugin is listed")
    }

    /// Writes the configuration again.
    pub(crate) fn configure(&self, text: &str) {
        self.put("plugins.yaml", text);
    }

    /// Writes a file next to the configuration, and has the host check.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        write(&self.folder.path().join(name), content);
        self.host.check_inputs();
    }

    /// Waits until it is so.
    pub(crate) async fn until(&self, what: &str, so: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !so(self) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(WAIT_TIMEOUT, waiting).await;
        assert!(waited.is_ok(), "never happened: {what}; plugins: {:#?}", self.host.list());
    }
}

/// A pod in a namespace.
pub(crate) fn pod_in(namespace: &str, name: &str) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            uid: Some(format!("uid-of-{name}")),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "main".to_owned(),
                image: Some("registry.example.com/app:1.2".to_owned()),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
        ..Pod::default()
    }
}

/// A pod in the namespace `default`.
pub(crate) fn pod(name: &str) -> Pod {
    pod_in("default", name)
}

/// A question on an empty node.
pub(crate) fn request(pod: Pod) -> AdmissionRequest {
    AdmissionRequest {
        operation: Operation::Add,
        now: now(),
        pod: Arc::new(pod),
        old_pod: None,
        image: None,
        source: SourceName::file(),
        node: Arc::new(NodeFacts { name: "node-1".to_owned(), ..NodeFacts::default() }),
        other_pods: Arc::new([]),
    }
}
