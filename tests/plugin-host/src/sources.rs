//! Pod sources as components: what they bring, what of it is let through, and what happens when they fail.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_core::pod::SourceName;
use witlet_core::sources::SourceUpdate;
use witlet_ports::{
    FilesError, Jitter, PodSourceSet, PodStatusUpdate, SOURCE_EVENTS_MAX, SourceEvent, StateStore,
};
use witlet_wasm::host::SourcesConfig;
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::node::{FixedClock, Node, Setting, cache, configuration};
use crate::servers::Server;

claims!(
    pods_of_a_source_are_named_and_those_beyond_its_allowance_left_out,
    a_source_that_does_not_load_keeps_its_name_and_says_nothing,
    a_source_that_traps_is_quarantined_and_its_last_set_stands,
    a_source_that_is_removed_loses_its_name,
    other_code_and_other_allowances_take_hold_at_once,
    sources_that_lie_are_reported_and_bring_nothing,
    compose_brings_the_services_of_a_granted_folder,
    a_bundle_comes_over_http_and_is_not_fetched_again_while_it_is_the_same,
    a_bundle_that_was_changed_on_its_way_is_refused,
    without_a_grant_neither_files_nor_servers_are_reached,
);

pub(crate) struct Certain;

impl Jitter for Certain {
    fn unit(&self) -> f64 {
        0.0
    }
}

#[derive(Default)]
pub(crate) struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

#[async_trait]
impl StateStore for Memory {
    async fn load(&self, name: &str) -> Result<Option<Vec<u8>>, FilesError> {
        Ok(self.0.lock().expect("no panic under the lock").get(name).cloned())
    }

    async fn save(&self, name: &str, value: &[u8]) -> Result<(), FilesError> {
        self.0.lock().expect("no panic under the lock").insert(name.to_owned(), value.to_vec());
        Ok(())
    }
}

/// The sources of a node, as its agent would receive them.
pub(crate) struct Sources {
    pub(crate) node: Node,
    set: Arc<dyn PodSourceSet>,
    snapshots: mpsc::Receiver<SourceEvent>,
    _tasks: JoinSet<()>,
}

impl Sources {
    async fn of(entries: &str) -> Self {
        let files = vec![
            ("sourcer.wasm", witlet_test_guests::SOURCER.to_vec()),
            ("more.wasm", witlet_test_guests::SOURCER.to_vec()),
        ];
        Self::with(entries, files).await
    }

    /// The same with these files next to the configuration.
    pub(crate) async fn with(entries: &str, files: Vec<(&'static str, Vec<u8>)>) -> Self {
        let shipped =
            witlet_plugins::SHIPPED.iter().map(|shipped| (shipped.name, shipped.component)).collect();
        let setting = Setting { files, shipped, ..Setting::new(crate::node::compiler(cache())) };
        let node = Node::begin(entries, setting).await.expect("the host starts");
        let set = node.host.pod_sources(SourcesConfig {
            node_name: "n1".to_owned(),
            state: Arc::new(Memory::default()),
            events: node.events.clone(),
            health: Arc::default(),
            clock: Arc::new(FixedClock),
            jitter: Arc::new(Certain),
        });
        let (sender, snapshots) = mpsc::channel(SOURCE_EVENTS_MAX);
        let mut tasks = JoinSet::new();
        tasks.spawn(set.clone().run(sender, CancellationToken::new()));
        Self { node, set, snapshots, _tasks: tasks }
    }

    /// The next set: `source: pods`.
    pub(crate) async fn next(&mut self) -> String {
        let next = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, self.snapshots.recv()).await;
        let snapshot = next.unwrap_or_else(|_| panic!("no set; reported {:?}", self.node.events.messages()));
        let SourceEvent { source, update } = snapshot.expect("the sources run");
        let (pods, incomplete) = match update {
            SourceUpdate::Replaced { pods, incomplete } => (pods, incomplete),
            SourceUpdate::Restored(pods) => (pods, None),
            other => panic!("{other:?}"),
        };
        let names: Vec<_> = pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect();
        format!("{source}: {}{}", names.join(" "), if incomplete.is_some() { " incomplete" } else { "" })
    }

    async fn until_reported(&self, words: &str) {
        self.node
            .until(words, |node| node.events.messages().iter().any(|message| message.contains(words)))
            .await;
    }

    fn names(&self) -> Vec<String> {
        self.set.names().borrow().iter().map(SourceName::to_string).collect()
    }
}

fn manifest(name: &str, more: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: a, image: b}}]{more}}}}}"
    )
}

/// A source that does what the case says.
fn sourcer(name: &str, behaviour: &str, text: &str) -> String {
    format!(
        "- {{name: {name}, component: sourcer.wasm, podSource: {{interval: 1s, allow: {{namespaces: [default]}}}}, \
         config: {{do: {behaviour}, text: {text:?}}}}}\n"
    )
}

async fn pods_of_a_source_are_named_and_those_beyond_its_allowance_left_out() {
    let entries = [
        sourcer("good", "pods", &manifest("web", "")),
        sourcer("evil", "pods", &manifest("root", ", hostPID: true")),
    ];
    let mut sources = Sources::of(&entries.concat()).await;
    let mut sets = [sources.next().await, sources.next().await];
    sets.sort();
    assert_eq!(sets, ["evil: ", "good: web-n1"]);
    sources
        .until_reported("was not admitted: violates PodSecurity baseline: spec.hostPID may not be true")
        .await;
    assert_eq!(sources.names(), ["evil", "good"]);
}

async fn a_source_that_does_not_load_keeps_its_name_and_says_nothing() {
    let broken = "- {name: broken, component: invalid-code.wasm, podSource: {allow: {namespaces: ['*']}}}\n";
    let entries = [broken.to_owned(), sourcer("good", "empty", "")];
    let mut sources = Sources::of(&entries.concat()).await;
    assert_eq!(sources.next().await, "good: ");
    sources.until_reported("NotLoaded").await;
    assert_eq!(sources.names(), ["broken", "good"], "its pods are safe");
    assert!(!sources.node.events.messages().iter().any(|message| message.contains("Loading")));
    let silence = tokio::time::timeout(Duration::from_secs(2), sources.snapshots.recv()).await;
    assert!(silence.is_err(), "no one says that it has none");
}

async fn a_source_that_traps_is_quarantined_and_its_last_set_stands() {
    let mut sources = Sources::of(&sourcer("edge", "pods", &manifest("web", ""))).await;
    assert_eq!(sources.next().await, "edge: web-n1");
    sources.node.configure(&configuration(&sourcer("edge", "trap", "")));
    sources.until_reported("Trapped").await;
    sources
        .node
        .until("it is in quarantine", |node| node.status("edge").state == PluginState::Quarantined)
        .await;
    assert!(sources.snapshots.try_recv().is_err(), "no other set was sent");
    sources.node.configure(&configuration(&sourcer("edge", "pods", &manifest("db", ""))));
    assert_eq!(sources.next().await, "edge: db-n1");
    sources.until_reported("Resynced").await;
}

async fn a_source_that_is_removed_loses_its_name() {
    let both = [sourcer("a", "pods", &manifest("web", "")), sourcer("b", "empty", "")].concat();
    let mut sources = Sources::of(&both).await;
    sources.next().await;
    sources.next().await;
    let mut names = sources.set.names();
    sources.node.configure(&configuration(&sourcer("b", "empty", "")));
    let gone =
        tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, names.wait_for(|names| names.len() == 1)).await;
    assert!(gone.is_ok_and(|names| names.is_ok()));
    sources.until_reported("is no longer a pod source, its pods are removed").await;
}

async fn other_code_and_other_allowances_take_hold_at_once() {
    let mut sources = Sources::of(&sourcer("edge", "pods", &manifest("web", ""))).await;
    assert_eq!(sources.next().await, "edge: web-n1");
    let stricter = sourcer("edge", "pods", &manifest("web", "")).replace("[default]", "[other]");
    sources.node.configure(&configuration(&stricter));
    assert_eq!(sources.next().await, "edge: ");
    sources.until_reported("namespace default is not in podSource.allow.namespaces").await;
    sources.node.configure(&configuration(&sourcer("edge", "pods", &manifest("web", ""))));
    assert_eq!(sources.next().await, "edge: web-n1");
}

async fn sources_that_lie_are_reported_and_bring_nothing() {
    let entries = [
        sourcer("never", "unchanged", ""),
        sourcer("nothing", "no-pods", ""),
        sourcer("cursor", "long-cursor", ""),
        sourcer("words", "bad-error", "x"),
        sourcer("hangs", "error", "the link is down"),
        sourcer("speaks", "empty", ""),
    ];
    let mut sources = Sources::of(&entries.concat()).await;
    assert_eq!(sources.next().await, "speaks: ");
    sources.until_reported("Unavailable: the link is down").await;
    sources.until_reported("the first answer must not be `unchanged`").await;
    sources
        .node
        .until("each was reported", |node| {
            let failed = node.events.reasons();
            failed.iter().filter(|reason| *reason == "PodSourceFailed").count() >= 5
        })
        .await;
    assert!(sources.snapshots.try_recv().is_err());
}

async fn compose_brings_the_services_of_a_granted_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    // The source may read at any moment, so no file is ever half written.
    let write = |text: &str| crate::node::write(&folder.path().join("shop.yaml"), text);
    write("services: {web: {image: 'a:${TAG}', restart: always}, db: {image: b}}");
    let entry = format!(
        "- name: compose\n  component: builtin:compose\n  podSource: {{interval: 1s, allow: {{namespaces: [shop]}}}}\n  \
         grants: {{files: [{{path: {}, guestPath: /compose}}]}}\n  config: {{folder: /compose, variables: {{TAG: '1'}}}}\n",
        folder.path().display()
    );
    let mut sources = Sources::of(&entry).await;
    assert_eq!(sources.next().await, "compose: shop-db-n1 shop-web-n1");
    write("services: {web: {image: a}, db: {image: b, build: .}}");
    sources.until_reported("service db: build isn't supported").await;
    write("services: {web: {image: a}}");
    assert_eq!(sources.next().await, "compose: shop-web-n1");
    std::fs::remove_file(folder.path().join("shop.yaml")).expect("removed");
    assert_eq!(sources.next().await, "compose: ");
}

async fn a_bundle_comes_over_http_and_is_not_fetched_again_while_it_is_the_same() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heads = asked.clone();
    let server = Server::http(move |head: &str| {
        let known = head.to_lowercase().contains("if-none-match: \"e1\"");
        heads.lock().expect("no panic under the lock").push(known);
        let body = format!("[{}]", manifest("web", ""));
        let body = body.replace("{name:", "{ name:");
        match known {
            true => "HTTP/1.1 304 Not Modified\r\n\r\n".to_owned(),
            false => {
                format!("HTTP/1.1 200 OK\r\nETag: \"e1\"\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            }
        }
    })
    .await;
    let address = server.address;
    let entry = format!(
        "- name: fleet\n  component: builtin:http-bundle\n  podSource: {{interval: 1s, allow: {{namespaces: [default]}}}}\n  \
         grants: {{network: ['{address}']}}\n  config: {{url: 'http://{address}/n1.yaml'}}\n"
    );
    let mut sources = Sources::of(&entry).await;
    assert_eq!(sources.next().await, "fleet: web-n1");
    sources.node.until("it was asked for again", |_| asked.lock().expect("no panic").len() >= 3).await;
    assert_eq!(asked.lock().expect("no panic under the lock")[..3], [false, true, true]);
    assert!(sources.snapshots.try_recv().is_err());
}

/// A bundle, who signed it, and the signature, as OpenSSL makes it (`pkeyutl -sign -rawin`).
const SIGNED: &str = r#"{"apiVersion":"witlet.dev/v1alpha1","kind":"PodBundle","version":3,"items":[{"metadata":{"name":"web"},"spec":{"containers":[{"name":"a","image":"b"}]}}]}"#;
const SIGNER: &str = "gKtuukMivf0NutGW8B385DCk+Jugcu/n5WvQz1t3aYU=";
const SIGNATURE: &str =
    "9G3n5hAE+hV7KN3w0UgTHdVK2+K+Zr88JsxQSAeADURp+0kwHl8iZ9KtROEKjCuIxAPLimCskVkM6+X6RTMJBA==";

async fn a_bundle_that_was_changed_on_its_way_is_refused() {
    let forged = Arc::new(AtomicBool::new(false));
    let forges = forged.clone();
    let server = Server::http(move |head: &str| {
        let body = match (head.contains(".sig "), forges.load(Ordering::Relaxed)) {
            (true, _) => SIGNATURE.to_owned(),
            (false, false) => SIGNED.to_owned(),
            (false, true) => SIGNED.replace("web", "evil"),
        };
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    })
    .await;
    let address = server.address;
    let entry = format!(
        "- name: fleet\n  component: builtin:http-bundle\n  podSource: {{interval: 1s, allow: {{namespaces: [default]}}}}\n  \
         grants: {{network: ['{address}']}}\n  config: {{url: 'http://{address}/n1', publicKeys: ['{SIGNER}']}}\n"
    );
    let mut sources = Sources::of(&entry).await;
    assert_eq!(sources.next().await, "fleet: web-n1");
    forged.store(true, Ordering::Relaxed);
    sources.until_reported("none of the configured keys has signed the bundle").await;
    assert!(sources.snapshots.try_recv().is_err(), "the last set stands");
}

async fn without_a_grant_neither_files_nor_servers_are_reached() {
    let server = Server::http(|_: &str| "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]".to_owned()).await;
    let source = "podSource: {interval: 1s, allow: {namespaces: ['*']}}";
    let entries = format!(
        "- {{name: fleet, component: 'builtin:http-bundle', {source}, config: {{url: 'http://{}/'}}}}\n\
         - {{name: files, component: 'builtin:compose', {source}, config: {{folder: /etc}}}}\n\
         - {{name: deaf, component: more.wasm, {source}, config: {{do: empty}}}}\n",
        server.address
    );
    let mut sources = Sources::of(&entries).await;
    assert_eq!(sources.next().await, "deaf: ");
    sources.until_reported(&format!("asking {} isn't granted", server.address)).await;
    sources.until_reported("/etc: ").await;
    assert!(sources.set.listeners().contains(&SourceName::from("deaf")), "the guest has the optional export");
    let unknown = sources.set.tell(&SourceName::from("no-one"), Vec::<PodStatusUpdate>::new()).await;
    assert!(unknown.is_err());
}
