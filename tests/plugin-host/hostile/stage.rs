//! A node with honest plugins of every role, that the attackers are loaded next to.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use witlet_core::event::{Event, EventObject};
use witlet_harness::WAIT_TIMEOUT;
use witlet_harness::usage::Usage;
use witlet_ports::{Clock, EventSink, FilesError, Jitter, StateStore};
use witlet_test_guests::corpus::Attack;
use witlet_wasm::compile::{CompileLimits, CompilerConfig};
use witlet_wasm::host::{DataConfig, PluginHost, PluginHostConfig, SourcesConfig};
use witlet_wasm::plugin::PluginStatus;

use crate::entry;
use crate::neighbours::{self, Neighbours};
use crate::play;

use crate::servers::Servers;

/// What mustn't be read, other than the folders of the plugins.
pub(crate) const CANARY: &str = "CANARY-8f14e45f";
/// What may be more than before the attacks once they are over. Allocators keep a little; nothing else may stay.
const GROWTH_MAX: Usage = Usage { files: 4, threads: 8, memory_kib: 64 << 10 };
/// What may be more than before in the midst of it: instances have pages, sources sets.
const PEAK_KIB_MAX: u64 = 1 << 20;
/// How often honest plugins have answered before what that takes is checked: no thread, file or instance of theirs is new then.
const ROUNDS_MIN: usize = 4;
/// How often the main runtime is checked.
const BEAT: Duration = Duration::from_millis(5);

/// What compiling one attack may take. By the clock nearly as much as anything: the compiler gives way to all other programs.
const COMPILE_LIMITS: CompileLimits = CompileLimits {
    wall: Duration::from_secs(240),
    stall: Duration::from_secs(180),
    cpu: Duration::from_secs(10),
    memory_bytes: 1 << 30,
    output_bytes: 64 << 20,
};

/// Remembers events.
#[derive(Default)]
pub(crate) struct Events(Mutex<Vec<Event>>);

impl EventSink for Events {
    fn record(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

impl Events {
    /// Reason and message of all events about a plugin or its pods so far.
    pub(crate) fn about(&self, plugin: &str) -> Vec<(String, String)> {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let about = events.iter().filter(|event| match &event.object {
            EventObject::Plugin(name) | EventObject::Source { source: name, .. } => name == plugin,
            EventObject::Pod { .. } | EventObject::Node => false,
        });
        about.map(|event| (event.reason.clone(), event.message.clone())).collect()
    }
}

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

struct NoJitter;

impl Jitter for NoJitter {
    fn unit(&self) -> f64 {
        0.0
    }
}

/// Forgets everything.
struct NoState;

#[async_trait]
impl StateStore for NoState {
    async fn load(&self, _name: &str) -> Result<Option<Vec<u8>>, FilesError> {
        Ok(None)
    }

    async fn save(&self, _name: &str, _value: &[u8]) -> Result<(), FilesError> {
        Ok(())
    }
}

/// The node.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) host: Arc<PluginHost>,
    pub(crate) events: Arc<Events>,
    servers: Servers,
    neighbours: Neighbours,
    pause: Arc<Mutex<Duration>>,
    before: Usage,
    began: Instant,
    tasks: JoinSet<()>,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        let folder = TempDir::new().expect("a folder for the test");
        let at = |name: &str| folder.path().join(name);
        entry::place_common(folder.path());
        std::fs::write(at("canary"), CANARY).expect("the test's folder is writable");
        std::fs::create_dir(at("data")).expect("the test's folder is writable");
        write_configuration(folder.path(), "");
        let events = Arc::new(Events::default());
        let host = PluginHost::start(PluginHostConfig {
            tracer: witlet_ports::Tracer::off(),
            compiler: CompilerConfig { limits: COMPILE_LIMITS, ..crate::compiler(hostile_cache()) },
            plugins_file: Some(at("plugins.yaml")),
            builtins: Vec::new(),
            shipped: Vec::new(),
            fetcher: None,
            containers: None,
            state_folder: Some(at("state")),
            last_good_folder: None,
            data: DataConfig::default(),
            decision_log_folder: None,
            in_cluster: false,
            node: None,
            recorder: None,
            clock: Arc::new(SystemClock),
            events: events.clone(),
        })
        .await
        .expect("the host starts");
        let sources = host.pod_sources(SourcesConfig {
            node_name: "node-1".to_owned(),
            state: Arc::new(NoState),
            events: events.clone(),
            health: Arc::default(),
            clock: Arc::new(SystemClock),
            jitter: Arc::new(NoJitter),
        });
        let mut tasks = JoinSet::new();
        let pause = Arc::new(Mutex::new(Duration::ZERO));
        tasks.spawn(beat(pause.clone()));
        let neighbours = Neighbours::start(&mut tasks, &host, sources);
        let servers = Servers::start().await;
        let began = Instant::now();
        Self { folder, host, events, servers, neighbours, pause, before: Usage::default(), began, tasks }
    }

    /// Waits until everything honest has worked again and again, and checks what that takes.
    pub(crate) async fn settle(&mut self) {
        let works = self.until(|stage| stage.neighbours.rounds() >= ROUNDS_MIN).await;
        assert!(works, "honest plugins never worked: {:#?}", self.host.list());
        self.before = usage();
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = Duration::ZERO;
    }

    /// Loads these next to the honest ones and plays them all at once. What was wrong.
    pub(crate) async fn play(&self, batch: &[&'static Attack]) -> Vec<String> {
        let mut entries = String::new();
        for attack in batch {
            entry::place(attack, self.folder.path());
            entries += &entry::entry(attack, self.folder.path(), &self.servers);
        }
        self.configure(&entries);
        let taken = self.until(|stage| batch.iter().all(|attack| stage.status(attack.name).is_some())).await;
        if !taken {
            return vec![format!("the configuration isn't taken: {:?}", self.host.file_error())];
        }
        let played = batch.iter().map(|attack| async move {
            let began = Instant::now();
            let result = play::play(self, attack).await;
            let took = began.elapsed().as_secs_f64();
            let end = result.as_ref().err().map_or("as expected", String::as_str);
            eprintln!("{}: {end} ({took:.1} s)", attack.name);
            result.err().map(|problem| format!("  {}: {problem}", attack.name))
        });
        let problems = join(played).await.into_iter().flatten().collect();
        eprintln!("after them: {}", usage());
        problems
    }

    /// Takes the attackers away, waits until what they took has come back, and prints the figures. What was wrong.
    pub(crate) async fn end(mut self, played: &[&Attack]) -> Vec<String> {
        self.configure("");
        let peak = peak_kib();
        let gone = |stage: &Self| stage.host.list().len() == neighbours::NAMES.len();
        let came_back =
            |stage: &Self| gone(stage) && usage().growth_since(stage.before).is_within(GROWTH_MAX);
        let came_back = self.until(came_back).await;
        let after = usage();
        let pause = *self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        eprintln!(
            "{} attacks in {:.0} s; longest pause of the main runtime {:.0} ms; before: {}; after: {after}; memory at its \
             peak {} MiB; next to them {}",
            played.len(),
            self.began.elapsed().as_secs_f64(),
            pause.as_secs_f64() * 1e3,
            self.before,
            peak / 1024,
            self.neighbours,
        );
        let mut problems = self.neighbours.problems();
        problems.extend(self.traces());
        if !came_back {
            problems.push(format!("what was taken didn't come back: {} before, {after} after", self.before));
        }
        if peak > self.before.memory_kib + PEAK_KIB_MAX {
            problems.push(format!("it took {} MiB at its peak", peak / 1024));
        }
        self.tasks.shutdown().await;
        problems
    }

    /// What attackers did to the node beyond their own folders and addresses.
    fn traces(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let canary = std::fs::read_to_string(self.folder.path().join("canary"));
        if canary.as_deref().ok() != Some(CANARY) {
            problems.push(format!("the canary is {canary:?}"));
        }
        for name in ["planted", "stolen", "data/planted", "state/planted", "state/stolen"] {
            if self.folder.path().join(name).exists() {
                problems.push(format!("{name} is there"));
            }
        }
        if self.servers.reached() > 0 {
            problems.push(format!("{} times a connection came to where none may", self.servers.reached()));
        }
        problems
    }

    /// The plugin's status, if it is part of the set.
    pub(crate) fn status(&self, name: &str) -> Option<PluginStatus> {
        self.host.list().into_iter().find(|status| status.name == name)
    }

    fn configure(&self, entries: &str) {
        write_configuration(self.folder.path(), entries);
        self.host.check_inputs();
    }

    /// Waits until it is so; false if it never is.
    pub(crate) async fn until(&self, so: impl Fn(&Self) -> bool) -> bool {
        let waiting = async {
            while !so(self) {
                sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(WAIT_TIMEOUT, waiting).await.is_ok()
    }
}

/// Compiled attacks lie apart from what other suites share: they would push that out.
fn hostile_cache() -> PathBuf {
    let shared = witlet_harness::program::component_cache().expect("a test lies in a target folder");
    shared.with_file_name("hostile-components")
}

fn write_configuration(folder: &Path, entries: &str) {
    let text = format!(
        "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n{}{entries}",
        neighbours::ENTRIES
    );
    let temporary = folder.join("plugins.new");
    std::fs::write(&temporary, text).expect("the test's folder is writable");
    std::fs::rename(&temporary, folder.join("plugins.yaml")).expect("the test's folder is writable");
}

/// Keeps the longest time that this task wasn't given its turn.
async fn beat(longest: Arc<Mutex<Duration>>) {
    loop {
        let began = Instant::now();
        sleep(BEAT).await;
        let pause = began.elapsed().saturating_sub(BEAT);
        let mut longest = longest.lock().unwrap_or_else(PoisonError::into_inner);
        *longest = pause.max(*longest);
    }
}

/// What this process takes.
fn usage() -> Usage {
    Usage::of(std::process::id()).expect("the kernel tells of the process that asks")
}

/// The most memory that this process had.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// Waits for all of them at the same time.
async fn join<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (Some(Box::pin(future)), None)).collect();
    std::future::poll_fn(|context| {
        for (future, output) in &mut running {
            if let Some(running) = future
                && let std::task::Poll::Ready(value) = running.as_mut().poll(context)
            {
                (*future, *output) = (None, Some(value));
            }
        }
        match running.iter().all(|(future, _)| future.is_none()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    running.into_iter().filter_map(|(_, output)| output).collect()
}
