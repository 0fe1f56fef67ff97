//! The manager on a disk of its own: what a start goes on with, and what ends a set. A whole change, from the annotation on, is shown with
//! the daemon (`tests/cli/sets.rs`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::task::JoinSet;
use witlet_core::node::NodeFacts;
use witlet_core::node::plugin_set::{CHOICE, SetState};
use witlet_egress::Egress;
use witlet_harness::{LocalRegistry, WAIT_TIMEOUT};
use witlet_node::SystemClock;
use witlet_oci::{
    Client, Login, PLUGIN_FILE, PLUGIN_FILE_TYPE, RegistriesConfig, SetArtifact, SetFile, Target,
};
use witlet_ports::ComponentReference;
use witlet_wasm::attestation::SigningKey;
use witlet_wasm::attestation::cosign::ArtifactSigningKey;
use witlet_wasm::compile::CompilerConfig;

use super::*;

pub(super) const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIZEkyYXsYlcllWOfZF8F777/U9QikkTEVLr7IYygXbg
-----END PRIVATE KEY-----
";
pub(super) const PLUGINS: &str = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins: []\n";

/// Facts that never change.
struct Facts(watch::Sender<Arc<NodeFacts>>);

#[async_trait]
impl NodeWatch for Facts {
    fn watch(&self) -> watch::Receiver<Arc<NodeFacts>> {
        self.0.subscribe()
    }

    async fn read_again(&self) -> Arc<NodeFacts> {
        self.0.borrow().clone()
    }
}

/// Remembers which files were to serve.
struct Host(watch::Sender<Vec<PluginFile>>);

impl ServesFile for Host {
    fn use_file(&self, file: PluginFile) {
        self.0.send_modify(|files| files.push(file));
    }
}

/// Remembers reasons of events.
struct Reasons(watch::Sender<Vec<String>>);

impl EventSink for Reasons {
    fn record(&self, event: Event) {
        self.0.send_modify(|reasons| reasons.push(event.reason));
    }
}

/// A node on whose disk a set serves.
struct World {
    folder: tempfile::TempDir,
    reference: String,
    node: watch::Sender<Option<Arc<Node>>>,
    registries: Arc<Registries>,
    host: watch::Sender<Vec<PluginFile>>,
    reasons: watch::Sender<Vec<String>>,
    _registry: LocalRegistry,
}

fn annotated(set: Option<&str>) -> Option<Arc<Node>> {
    let annotations = set.map(|set| BTreeMap::from([(CHOICE.to_owned(), set.to_owned())]));
    let metadata = ObjectMeta { annotations, ..ObjectMeta::default() };
    Some(Arc::new(Node { metadata, ..Node::default() }))
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let registry = LocalRegistry::start().await.expect("a registry");
        let text = format!(
            "apiVersion: witlet.dev/v1alpha1\nkind: PluginSetPolicy\nrepositories: ['{}/*']\nkeys: [a.pub]\njitter: 0s\n",
            registry.address
        );
        fs::write(folder.path().join("policy.yaml"), text).expect("written");
        let public = SigningKey::from_pem(KEY.as_bytes()).expect("a key").public().to_pem();
        fs::write(folder.path().join("a.pub"), public).expect("written");
        fs::write(folder.path().join("plugins.yaml"), PLUGINS).expect("written");
        let plugins = SetFile {
            name: PLUGIN_FILE.to_owned(),
            media_type: PLUGIN_FILE_TYPE,
            bytes: PLUGINS.as_bytes().into(),
        };
        let created = "2026-01-02T03:04:05Z".parse().expect("a time");
        let set =
            SetArtifact { files: vec![plugins], code: Vec::new(), created, annotations: BTreeMap::new() };
        let target: Target = format!("{}/fleet:1", registry.address).parse().expect("a target");
        let client = Client::new(Egress::system(), Login::Anonymous, false);
        let pushed = client.push_set(&target, &set).await.expect("pushed");
        let registries = Registries::open(RegistriesConfig {
            folder: folder.path().join("components"),
            egress: Egress::system(),
            credentials: None,
            progress: Arc::new(|_progress| {}),
        });
        let registries = Arc::new(registries.expect("opened"));
        let reference = target.pinned(&pushed.digest);
        let sets = SetFolder::open(folder.path().join("sets")).expect("its own");
        let into = sets.begin(&pushed.digest).expect("a folder");
        let named: ComponentReference = reference.parse().expect("a reference");
        registries.fetch_set(&named, None, &into).await.expect("brought");
        sets.finish(&pushed.digest).expect("whole");
        let signed_by = ArtifactSigningKey::from_pem(KEY.as_bytes()).expect("a key").public().id();
        sets.keep(&KeptSet { reference: reference.clone(), signed_by }).expect("kept");
        let node = watch::Sender::new(annotated(Some(&reference)));
        let (host, reasons) = (watch::Sender::new(Vec::new()), watch::Sender::new(Vec::new()));
        Self { folder, reference, node, registries, host, reasons, _registry: registry }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn manager(&self) -> SetManager {
        let trial = Trial {
            compiler: CompilerConfig::new(self.path("code")),
            unsafe_sysctls: Vec::new(),
            registries: self.registries.clone(),
            node: Arc::new(Facts(watch::Sender::new(Arc::default()))),
            clock: Arc::new(SystemClock),
            in_cluster: true,
        };
        let steps = Steps {
            local: Some(self.path("plugins.yaml")),
            folder: SetFolder::open(self.path("sets")).expect("its own"),
            registries: self.registries.clone(),
            trial,
        };
        let parts = SetParts {
            node_name: "node1".to_owned(),
            policy_files: PolicyFiles { file: self.path("policy.yaml"), kept: self.path("kept-policy.yaml") },
            own: OwnFiles::below(self.folder.path()),
            steps,
            clock: Arc::new(SystemClock),
            events: Arc::new(Reasons(self.reasons.clone())),
            shown: Arc::default(),
        };
        SetManager::open(parts, self.node.subscribe()).await
    }

    /// Runs it on paused time, on which a wait costs nothing, until the second is dropped.
    fn run(&self, manager: SetManager) -> (Arc<ShownSet>, JoinSet<()>) {
        tokio::time::pause();
        let shown = manager.shown();
        let host = Arc::new(Host(self.host.clone()));
        (shown, JoinSet::from_iter([manager.run(host, CancellationToken::new())]))
    }

    fn local(&self, file: &Path) -> PluginFile {
        OwnFiles::below(self.folder.path()).local_plugin_file(Some(file.to_owned()))
    }

    async fn until_used(&self, file: &Path) {
        let mut files = self.host.subscribe();
        let used = files.wait_for(|files| files.last() == Some(&self.local(file)));
        tokio::time::timeout(WAIT_TIMEOUT, used).await.expect("it serves").expect("the host is there");
    }

    async fn until_said(&self, reason: &str) {
        let mut reasons = self.reasons.subscribe();
        let said = reasons.wait_for(|reasons| reasons.iter().any(|said| said == reason));
        tokio::time::timeout(WAIT_TIMEOUT, said).await.expect("it is said").expect("the events are there");
    }
}

#[tokio::test]
async fn a_start_goes_on_with_the_set_only_if_each_byte_is_there_and_its_key_counts() {
    let world = World::new().await;
    let manager = world.manager().await;
    assert_eq!(manager.shown().report().running.as_ref(), Some(&world.reference));
    let of_set = manager.plugin_file();
    let (file, local) = (of_set.path.clone().expect("the set's"), world.local(&world.path("plugins.yaml")));
    assert_ne!(
        of_set.last_good_folder, local.last_good_folder,
        "a set never comes back as the local file's last good plugins"
    );
    assert!(file.starts_with(world.path("sets")), "{}", file.display());

    let text = fs::read(&file).expect("there");
    fs::write(&file, &text[..text.len() - 1]).expect("cut short, as by a loss of power");
    let damaged = world.manager().await;
    assert_eq!(damaged.plugin_file(), local);
    fs::write(&file, text).expect("as it was");
    assert_eq!(world.manager().await.plugin_file(), of_set);

    fs::write(world.path("policy.yaml"), "kind: Nonsense\n").expect("written");
    assert_eq!(world.manager().await.plugin_file(), of_set, "the last policy that was taken stands");
    world.until_said("PluginSetPolicyInvalid").await;

    fs::remove_file(world.path("a.pub")).expect("removed");
    assert_eq!(world.manager().await.plugin_file(), local);
}

#[tokio::test]
async fn a_set_whose_key_is_taken_out_of_the_policy_is_left_while_the_agent_runs() {
    let world = World::new().await;
    let (shown, _running) = world.run(world.manager().await);
    fs::remove_file(world.path("a.pub")).expect("removed");
    world.until_used(&world.path("plugins.yaml")).await;
    world.until_said("PluginSetLeft").await;
    // It is still chosen, and asked for again in vain.
    world.until_said("PluginSetRefused").await;
    assert_eq!(shown.report().running, None);
    assert!(shown.report().message.is_some_and(|message| message.starts_with(&world.reference)));
    let sets = SetFolder::open(world.path("sets")).expect("its own");
    assert_eq!(sets.kept(), None, "nor does the next start go on with it");
}

#[tokio::test]
async fn a_policy_that_makes_no_sense_is_said_and_the_one_before_goes_on() {
    let world = World::new().await;
    let (shown, _running) = world.run(world.manager().await);
    fs::write(world.path("policy.yaml"), "kind: Nonsense\n").expect("written");
    world.until_said("PluginSetPolicyInvalid").await;
    assert_eq!(shown.report().running.as_ref(), Some(&world.reference));
    assert!(world.host.borrow().is_empty());
}

#[tokio::test]
async fn a_set_goes_on_and_says_so_until_the_local_file_can_be_taken() {
    let world = World::new().await;
    let (shown, _running) = world.run(world.manager().await);
    let local = world.path("plugins.yaml");
    fs::write(&local, "plugins: [").expect("an edit that isn't done");
    world.node.send_replace(annotated(None));
    world.until_said("PluginSetNotLeft").await;
    assert_eq!(shown.report().running.as_ref(), Some(&world.reference));
    assert_eq!(shown.to_json()["state"], SetState::NotLeft.as_str());
    assert!(world.host.borrow().is_empty());
    fs::write(&local, PLUGINS).expect("done");
    world.until_used(&local).await;
    assert_eq!(shown.to_json()["state"], SetState::Local.as_str());
}
