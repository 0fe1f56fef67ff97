//! The daemon is killed while it swaps, compiles and pulls plugins: it starts again, and nothing half is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use witlet_harness::WAIT_TIMEOUT;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use witlet_fake_cri::now;

use witlet_harness::fake_node::{FakeNode, NodeView, pod, variant};
use witlet_harness::usage;

/// Pods that run through all of it.
const PODS: usize = 10;

/// How often it is killed after a change of its plugins.
const KILLS: u64 = 12;

/// Changes are noticed within a second, so that kills up to here meet every part of a swap.
const KILL_WITHIN_MILLISECONDS: u64 = 1600;

/// How long a child may outlive the daemon that was killed.
const ORPHAN_TIME_MAX: Duration = Duration::from_secs(10);

const POLL_INTERVAL: Duration = Duration::from_millis(5);

fn judge(component: &str, version: u64) -> Value {
    json!([{
        "name": "judge", "component": component, "config": {"version": version}, "admission": {},
        "limits": {"timeout": "10s"},
    }])
}

fn asks(name: &str) -> Value {
    let mut pod = pod("asks", name);
    pod["metadata"]["annotations"] = json!({"witness.example.com/tell": "yes"});
    pod
}

async fn start() -> Result<FakeNode, Failed> {
    let node = FakeNode::start_with_own_cache(|_, _| judge("./witness-0.wasm", 0)).await?;
    let pods: Vec<Value> = (0..PODS).map(|number| pod("old", &format!("old-{number}"))).collect();
    node.put("old", &pods)?;
    node.until("all pods run", |view| view.running("old").len() == PODS).await?;
    Ok(node)
}

/// The judge is asked in this version, and nothing of what the daemon had begun to write is left.
async fn is_whole(node: &FakeNode, version: u64) -> Result<(), Failed> {
    let (name, reason) = (format!("asks-{version}"), format!("Version{version}"));
    node.put("asks", &[asks(&name)])?;
    node.until("the judge judges", |view| {
        view.running("old").len() == PODS
            && view.pod(&name).is_some_and(|pod| pod["status"]["reason"] == *reason)
            && view
                .plugin("judge")
                .is_some_and(|judge| judge["state"] == "Ready" && judge["pending"].is_null())
    })
    .await?;
    if node.cri.starts().len() != PODS || !node.cri.ends().is_empty() {
        return Err(Failed::from("a pod was restarted"));
    }
    let mut left = unfinished(&node.cache())?;
    left.extend(unfinished(&node.folder.path().join("agent/witlet"))?);
    if left.is_empty() { Ok(()) } else { Err(Failed::from(format!("half files are left: {left:?}"))) }
}

/// Files below a folder that are still being written, by their names.
fn unfinished(folder: &Path) -> Result<Vec<PathBuf>, Failed> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(unfinished(&path)?);
        } else if name.contains(".new-") || name.ends_with(".part") {
            found.push(path);
        }
    }
    Ok(found)
}

/// At other moments of a swap each time.
pub(crate) async fn while_it_swaps() -> Result<(), Failed> {
    let mut node = start().await?;
    for version in 1..=KILLS {
        // Every other time the code was compiled before.
        let number = u8::try_from(version).unwrap_or_default();
        let component =
            if version % 2 == 0 { "witness-0.wasm".to_owned() } else { format!("fresh-{version}.wasm") };
        if version % 2 == 1 {
            fs::write(node.folder.path().join(&component), variant(witlet_test_guests::WITNESS, number))?;
        }
        node.configure(&judge(&format!("./{component}"), version))?;
        sleep(Duration::from_millis(version * KILL_WITHIN_MILLISECONDS / KILLS)).await;
        node.daemon.kill_and_restart()?;
        is_whole(&node, version).await?;
    }
    node.end().await
}

/// Ids of the processes that compile for this daemon.
fn compilers(daemon: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let compiles = |process: &u32| {
        let parent = fs::read_to_string(format!("/proc/{process}/stat"))
            .ok()
            .and_then(|stat| stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok());
        let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        parent == Some(daemon) && words.split(|byte| *byte == 0).any(|word| word == b"compile-component")
    };
    processes.filter(compiles).collect()
}

/// The child ends as well, and the component is compiled again.
#[allow(clippy::print_stderr, reason = "the figure is part of what this shows")]
pub(crate) async fn while_it_compiles() -> Result<(), Failed> {
    /// Functions that take a compiler much longer than it takes to be at work.
    const FUNCTIONS: u32 = 400;
    /// Processor time of a child that has read the component and compiles it.
    const AT_WORK_CPU_SECONDS: f64 = 0.1;
    let mut node = start().await?;
    fs::write(node.folder.path().join("slow.wasm"), witlet_test_guests::compile_bomb(FUNCTIONS))?;
    node.configure(&judge("./slow.wasm", 1))?;
    let daemon = node.daemon.pid().ok_or("the daemon runs")?;
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let children = loop {
        let children = compilers(daemon);
        // It isn't killed while they only begin.
        let is_at_work =
            |process: &u32| usage::cpu_seconds(*process).is_ok_and(|used| used >= AT_WORK_CPU_SECONDS);
        if !children.is_empty() && children.iter().all(is_at_work) {
            break children;
        }
        if Instant::now() >= deadline {
            return Err(Failed::from("nothing is compiled"));
        }
        sleep(POLL_INTERVAL).await;
    };
    node.daemon.kill()?;
    let killed = Instant::now();
    let lives = |process: &u32| {
        let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let state = state.rsplit(')').next().unwrap_or_default().trim_start().to_owned();
        !state.is_empty() && !state.starts_with('Z')
    };
    while children.iter().any(lives) {
        if killed.elapsed() > ORPHAN_TIME_MAX {
            return Err(Failed::from(format!("a compiler outlives its daemon: {children:?}")));
        }
        sleep(POLL_INTERVAL).await;
    }
    eprintln!("the compiler ended {:.1} ms after its daemon", killed.elapsed().as_secs_f64() * 1e3);
    node.daemon.launch()?;
    let view = node.until("the plugin is compiled again", |view| {
        view.running("old").len() == PODS
            && view.plugin("judge").is_some_and(|judge| judge["state"] == "Loading")
    });
    view.await?;
    node.configure(&judge("./witness-1.wasm", 2))?;
    is_whole(&node, 2).await?;
    node.end().await
}

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// A registry with one component, that can stop in the midst of it.
struct Registry {
    manifest: Vec<u8>,
    blobs: Vec<Vec<u8>>,
    stalls: AtomicBool,
    /// Answers that were begun and are held back.
    held: AtomicUsize,
}

fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

impl Registry {
    fn new(component: Vec<u8>) -> Self {
        let config = json!({
            "created": "2026-01-01T00:00:00Z", "architecture": "wasm", "os": "wasip2",
            "layerDigests": [digest_of(&component)], "component": {"exports": [], "imports": []},
        });
        let config = config.to_string().into_bytes();
        let part = |kind: &str, bytes: &[u8]| json!({"mediaType": kind, "digest": digest_of(bytes), "size": bytes.len()});
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST_TYPE,
            "config": part("application/vnd.wasm.config.v0+json", &config),
            "layers": [part("application/wasm", &component)],
        });
        let manifest = manifest.to_string().into_bytes();
        let blobs = vec![config, component];
        Self { manifest, blobs, stalls: AtomicBool::new(true), held: AtomicUsize::new(0) }
    }

    async fn serve(self: Arc<Self>, listener: TcpListener) {
        let mut answers = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let registry = self.clone();
            answers.spawn(async move { drop(registry.answer(stream).await) });
        }
    }

    async fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split_whitespace().nth(1).unwrap_or_default();
        let (kind, body): (&str, &[u8]) = if path.contains("/manifests/") {
            (MANIFEST_TYPE, &self.manifest)
        } else {
            let blob = self.blobs.iter().find(|blob| path.ends_with(&digest_of(blob)));
            ("application/octet-stream", blob.map_or(b"{}".as_slice(), Vec::as_slice))
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        let is_component = self.blobs.last().is_some_and(|blob| blob.len() == length);
        if is_component && self.stalls.load(Ordering::Relaxed) {
            stream.write_all(body.get(..length / 2).unwrap_or_default()).await?;
            self.held.fetch_add(1, Ordering::Relaxed);
            // Until the client is gone.
            drop(stream.read_u8().await);
            return Ok(());
        }
        stream.write_all(body).await?;
        stream.shutdown().await
    }
}

/// The component is pulled again.
pub(crate) async fn while_it_pulls() -> Result<(), Failed> {
    let mut node = start().await?;
    // A digest that no cache on this machine has.
    let mut component = variant(witlet_test_guests::WITNESS, 0);
    component.extend([&[0, 10, 1, b'x'][..], &now().to_be_bytes()].concat());
    let registry = Arc::new(Registry::new(component));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let reference = format!("oci://{}/team/judge@{}", listener.local_addr()?, digest_of(&registry.manifest));
    let mut serving = JoinSet::new();
    serving.spawn(registry.clone().serve(listener));
    node.configure(&judge(&reference, 1))?;
    let pulls = node.until("half of it is pulled", |_| registry.held.load(Ordering::Relaxed) > 0);
    pulls.await?;
    node.daemon.kill_and_restart()?;
    let loading = |view: &NodeView| view.plugin("judge").is_some_and(|judge| judge["state"] == "Loading");
    let again = node.until("it is pulled again", |view| {
        registry.held.load(Ordering::Relaxed) > 1 && loading(view) && view.running("old").len() == PODS
    });
    again.await?;
    node.daemon.kill()?;
    registry.stalls.store(false, Ordering::Relaxed);
    node.daemon.launch()?;
    is_whole(&node, 1).await?;
    // It is there without the registry.
    serving.shutdown().await;
    node.daemon.kill_and_restart()?;
    node.put("more", &[asks("asks-more")])?;
    node.until("the judge judges without the registry", |view| {
        view.pod("asks-more").is_some_and(|pod| pod["status"]["reason"] == "Version1")
    })
    .await?;
    node.end().await
}
