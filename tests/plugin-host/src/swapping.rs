//! Probe types whose code and secrets change while they are asked.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use witlet_core::probe::{ProbeKind, ProbeOutcome, ProbeRequest};
use witlet_core::runtime::ContainerId;
use witlet_ports::ProbeError;
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::node::{Node, Setting, cache, configuration, pod};

claims!(
    swaps_under_a_hundred_probes_lose_no_call,
    a_secret_that_is_replaced_is_seen_by_the_next_call,
    a_secret_that_others_can_read_is_not_used_and_reported,
);

async fn node(compiler: CompilerConfig, entries: &str) -> Node {
    let files = vec![("prober.wasm", witlet_test_guests::PROBER.to_vec())];
    let setting = Setting { files, ..Setting::new(compiler) };
    let node = Node::begin(entries, setting).await.expect("the host starts");
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready())
        .await
        .expect("every plugin is tried in time");
    node
}

fn request(parameters: &str) -> ProbeRequest {
    ProbeRequest {
        probe_type: "guest".into(),
        parameters: parameters.into(),
        pod: Arc::new(pod("web")),
        container: "main".to_owned(),
        container_id: ContainerId::from("c0ffee"),
        restarts: 0,
        pod_ips: vec![IpAddr::from([127, 0, 0, 1])],
        host_ips: Vec::new(),
        kind: ProbeKind::Readiness,
        timeout: witlet_harness::WAIT_TIMEOUT,
    }
}

/// How many swaps: fifty, or what `SOAK_SWAPS` says. The more there are the clearer memory shows, so that it counts then.
fn swaps() -> (usize, bool) {
    let desired = std::env::var("SOAK_SWAPS").ok().and_then(|text| text.parse().ok());
    (desired.unwrap_or(50), desired.is_some())
}

/// The component with a section more that says nothing: other bytes, another digest, the same behaviour.
fn variant(name: &str) -> Vec<u8> {
    let length = u8::try_from(name.len()).expect("names are short");
    [witlet_test_guests::PROBER, &[0, length + 1, length], name.as_bytes()].concat()
}

/// Memory of this process that is its own, in bytes.
fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process may check itself");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number of kilobytes") << 10
}

/// Mappings of this process that are code from this folder.
fn mapped(folder: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("a process may check itself");
    maps.lines().filter(|line| line.contains(&*folder.to_string_lossy())).count()
}

async fn swaps_under_a_hundred_probes_lose_no_call() {
    const PROBES: usize = 100;
    /// How much more memory the last swap may leave behind than the tenth did, when that is measured. With one arena of
    /// the allocator's, as the agent has it (`MALLOC_ARENA_MAX=1`); with more it shows theirs.
    const GROWTH_BYTES_MAX: u64 = 8 << 20;
    let (swaps, measured) = swaps();
    let entry = |version: usize| {
        format!(
            "- {{name: guest, component: prober.wasm, probe: {{}}, instances: {{warm: {{max: 4}}}}, \
               grants: {{secrets: [password], exec: true}}, config: version-{version}}}\n\
             secrets:\n- {{name: password, file: password}}\n"
        )
    };
    let cache = tempfile::TempDir::new().expect("a folder");
    let compiler = crate::node::compiler(cache.path().join("compiled"));
    let node = node(compiler, &entry(0)).await;
    assert!(mapped(cache.path()) > 0, "code is mapped from the cache");
    let probes = Probes::start(&node, PROBES);
    let calls = &probes.calls;
    let mut memory = 0;
    for swap in 1..=swaps {
        // By turns another configuration and other bytes.
        if swap % 2 == 0 {
            node.put("prober.wasm", variant(if swap % 4 == 0 { "even" } else { "odd" }));
        } else {
            node.configure(&configuration(&entry(swap)));
        }
        node.until("the swap took place", |node| {
            node.status("guest").pending.is_none() && replaced(node) >= swap
        })
        .await;
        let before = calls.load(Ordering::Relaxed);
        node.until("calls go on", |_| calls.load(Ordering::Relaxed) > before).await;
        if swap == 10 {
            memory = own_memory();
        }
    }
    let (calls, wrong) = probes.end().await;
    assert_eq!(wrong, [], "of {calls} calls");
    let status = node.status("guest");
    assert_eq!((status.errors(), status.state), (0, PluginState::Ready), "{:?}", status.last_error);
    assert_eq!(status.calls(), calls as u64, "each was asked once");
    assert_eq!(replaced(&node), swaps);
    node.configure(&configuration(""));
    node.until("no version's code is mapped", |_| mapped(cache.path()) == 0).await;
    if measured {
        let after = own_memory();
        let (before, after_kib) = (memory >> 10, after >> 10);
        print(&format!(
            "{swaps} swaps, {calls} calls: {before} KiB after ten, {after_kib} KiB after the last"
        ));
        assert!(after < memory + GROWTH_BYTES_MAX, "{memory} bytes, then {after}");
    }
}

#[allow(clippy::print_stdout, reason = "the figures are what a long run is for")]
fn print(line: &str) {
    println!("{line}");
}

/// Probes that are asked until they are ended.
struct Probes {
    tasks: JoinSet<Vec<Result<ProbeOutcome, ProbeError>>>,
    stop: Arc<AtomicBool>,
    calls: Arc<AtomicUsize>,
}

impl Probes {
    /// Each with an answer of its own.
    fn start(node: &Node, count: usize) -> Self {
        /// Of each probe.
        const PERIOD: Duration = Duration::from_millis(100);
        let mut probes = Self { tasks: JoinSet::new(), stop: Arc::default(), calls: Arc::default() };
        for number in 0..count {
            let (types, stop, calls) = (node.host.probes(), probes.stop.clone(), probes.calls.clone());
            let expected = Ok(ProbeOutcome::Success(number.to_string()));
            let request = request(&format!(r#"{{"do": "succeed", "text": "{number}"}}"#));
            probes.tasks.spawn(async move {
                let mut wrong = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let result = types.probe(&request).await;
                    if result != expected {
                        wrong.push(result);
                    }
                    calls.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(PERIOD).await;
                }
                wrong
            });
        }
        probes
    }

    /// How many calls there were, and which answers weren't as expected.
    async fn end(self) -> (usize, Vec<Result<ProbeOutcome, ProbeError>>) {
        self.stop.store(true, Ordering::Relaxed);
        let wrong = self.tasks.join_all().await.into_iter().flatten().collect();
        (self.calls.load(Ordering::Relaxed), wrong)
    }
}

/// How often a newer version took an older one's place.
fn replaced(node: &Node) -> usize {
    node.events.reasons().iter().filter(|reason| *reason == "PluginReplaced").count()
}

/// Replaces the secret's file as careful programs do.
fn put_secret(node: &Node, value: &str, mode: u32) {
    let (temporary, file) = (node.folder.path().join("new"), node.folder.path().join("password"));
    std::fs::write(&temporary, value).expect("the folder is writable");
    std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(mode))
        .expect("it is the test's file");
    std::fs::rename(&temporary, &file).expect("the folder is writable");
    node.host.check_inputs();
}

/// With a secret whose file isn't there yet.
async fn node_with_secret() -> Node {
    let entries = "- {name: guest, component: prober.wasm, probe: {}, instances: {warm: {max: 2}}, \
                     grants: {secrets: [password], exec: true}}\n\
                   secrets:\n- {name: password, file: password}\n";
    node(crate::node::compiler(cache()), entries).await
}

/// Asks until the guest says this.
async fn until_reported(node: &Node, expected: ProbeOutcome) {
    let types = node.host.probes();
    let request = request(r#"{"do": "secret", "text": "password"}"#);
    let asking = async {
        while types.probe(&request).await != Ok(expected.clone()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, asking)
        .await
        .unwrap_or_else(|_| panic!("never reported: {expected:?}"));
}

async fn a_secret_that_is_replaced_is_seen_by_the_next_call() {
    let node = node_with_secret().await;
    for value in ["first", "second", "third"] {
        put_secret(&node, value, 0o600);
        until_reported(&node, ProbeOutcome::Success(value.to_owned())).await;
    }
    let status = node.status("guest");
    assert_eq!(status.pending, None);
    assert!(!node.events.reasons().contains(&"PluginReplaced".to_owned()), "no code was touched");
}

async fn a_secret_that_others_can_read_is_not_used_and_reported() {
    let node = node_with_secret().await;
    assert_eq!(node.events.reasons(), ["SecretNotRead"], "it isn't there yet");
    put_secret(&node, "open", 0o644);
    node.until("it is reported", |node| node.events.reasons().len() == 2).await;
    let types = node.host.probes();
    let reported = types.probe(&request(r#"{"do": "secret", "text": "password"}"#)).await;
    assert!(matches!(&reported, Ok(ProbeOutcome::Failure(_))), "{reported:?}");
    assert_eq!(node.events.reasons(), ["SecretNotRead", "SecretNotRead"]);
    let message = node.events.messages().pop().unwrap_or_default();
    assert!(message.contains("must have mode 0600 or 0400, found 0644"), "{message}");
    assert!(!message.contains("open"), "{message}");
    put_secret(&node, "closed", 0o600);
    until_reported(&node, ProbeOutcome::Success("closed".to_owned())).await;
}
