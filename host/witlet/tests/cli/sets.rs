//! A set of plugins from the annotation of a Node to the rules by which its pods are judged, with the daemon, an API server and a registry.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{Event, Node, Pod};
use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_api_server::Admission;
use witlet_core::node::plugin_set::{CHOICE, MESSAGE, RUNNING};
use witlet_harness::cluster::{Cluster, Ground, NODE, phase, refused};
use witlet_harness::{LocalRegistry, poll_until};
use witlet_server::LocalClient;
use witlet_wasm::attestation::SigningKey;
use witlet_wasm::compile::component_digest;

use crate::daemon::START_TIMEOUT;
use crate::witlet;

pub(crate) const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIZEkyYXsYlcllWOfZF8F777/U9QikkTEVLr7IYygXbg
-----END PRIVATE KEY-----
";

/// A plugin file with one handler, which rejects pods whose names begin so.
fn rules(begin: &str) -> String {
    file(begin, &format!("!object.metadata.name.startsWith('{begin}-')"))
}

/// The same with this expression.
fn file(name: &str, expression: &str) -> String {
    format!(
        "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n- name: {name}\n  component: builtin:cel\n  admission: {{}}\n  \
         config:\n    validations:\n    - {{expression: \"{expression}\", message: no pods of {name}}}\n"
    )
}

/// What the operator of the node allows.
fn policy_of(registry: &LocalRegistry, compiled_code: &str) -> String {
    let policy = json!({
        "apiVersion": "witlet.dev/v1alpha1", "kind": "PluginSetPolicy",
        "repositories": [format!("{}/fleet/*", registry.address)], "keys": ["sets.pub"], "jitter": "0s",
        "compiledCode": compiled_code,
    });
    policy.to_string()
}

/// A folder of compiled code of a daemon's own, with what the suites' has of the components that ship: others search that one, too.
fn own_cache(folder: &Path) -> Result<(), Failed> {
    const BYTES_MAX: u64 = 4 << 20;
    fs::DirBuilder::new().mode(0o700).create(folder)?;
    // Without one all is compiled.
    let shared = fs::read_dir(witlet_harness::program::component_cache()?);
    for entry in shared.into_iter().flatten().flatten() {
        let is_code = entry.path().extension().is_some_and(|end| end == "cwasm" || end == "sha256");
        if is_code && entry.metadata().is_ok_and(|file| file.len() <= BYTES_MAX) {
            // One that has just gone is compiled.
            let _ = fs::copy(entry.path(), folder.join(entry.file_name()));
        }
    }
    Ok(())
}

/// A node of a cluster that may take sets from a registry.
struct Fleet {
    cluster: Cluster,
    registry: LocalRegistry,
    key: PathBuf,
}

impl Fleet {
    async fn start() -> Result<Self, Failed> {
        Self::start_with("Never", |_ground| Ok(Vec::new())).await
    }

    /// With this said of compiled code in its policy, and these flags.
    async fn start_with(
        compiled_code: &str,
        flags: impl FnOnce(&Ground) -> Result<Vec<String>, Failed>,
    ) -> Result<Self, Failed> {
        let registry = LocalRegistry::start().await?;
        let ground = Ground::new(Admission { node_rules: true, ..Admission::default() }).await?;
        let (key, policy, local) =
            (ground.path("sets.pem"), ground.path("sets.yaml"), ground.path("plugins.yaml"));
        fs::write(&key, KEY)?;
        let public = SigningKey::from_pem(KEY.as_bytes()).map_err(|error| error.to_string())?.public();
        fs::write(ground.path("sets.pub"), public.to_pem())?;
        fs::write(&policy, policy_of(&registry, compiled_code))?;
        fs::write(&local, rules("local"))?;
        let mut more = flags(&ground)?;
        more.push(format!("--plugins={}", local.display()));
        more.push(format!("--plugin-sets={}", policy.display()));
        let cluster = Cluster::start_with_token(ground, Ipv4Addr::LOCALHOST, more).await?;
        cluster.node_ready().await?;
        Ok(Self { cluster, registry, key })
    }

    /// Pushes a plugin file as a set; its reference.
    fn push(&self, name: &str, text: &str, more: &[&str]) -> Result<String, Failed> {
        let file = self.cluster.ground.path(&format!("{name}.yaml"));
        fs::write(&file, text)?;
        let to = format!("{}/fleet/plugins:{name}", self.registry.address);
        let pushed = witlet(&[&["plugin", "push-set", &file.display().to_string(), &to], more].concat());
        if pushed.code != 0 {
            return Err(pushed.err.into());
        }
        Ok(pushed.out.trim().to_owned())
    }

    fn push_signed(&self, name: &str, text: &str, more: &[&str]) -> Result<String, Failed> {
        let reference = self.push(name, text, more)?;
        let signed = witlet(&["plugin", "sign", &reference, "--key", &self.key.display().to_string()]);
        if signed.code == 0 { Ok(reference) } else { Err(signed.err.into()) }
    }

    /// Has the Node choose a set, or none.
    fn choose(&self, set: Option<&str>) -> Result<(), Failed> {
        let patch = json!({"metadata": {"annotations": {CHOICE: set}}});
        self.cluster.api().patch::<Node>("", NODE, "", patch).map(drop).map_err(refused)
    }

    fn annotation(&self, key: &str) -> Option<String> {
        self.cluster.api().get::<Node>("", NODE)?.metadata.annotations?.remove(key)
    }

    /// Waits until the Node's annotations say this of its set: the agent looks for news of them once a second.
    async fn says(&self, running: Option<&str>, message: Option<&str>) -> Result<(), Failed> {
        let what = format!("the node runs {running:?}, and says {message:?}");
        let said = self.cluster.until(&what, |_| {
            let found = self.annotation(MESSAGE);
            let is_said = match (message, &found) {
                (Some(words), Some(found)) => found.contains(words),
                (None, None) => true,
                (None, Some(_)) | (Some(_), None) => false,
            };
            (is_said && self.annotation(RUNNING).as_deref() == running).then_some(())
        });
        said.await.map_err(|error| format!("it says {:?}\n{error:?}", self.annotation(MESSAGE)).into())
    }

    /// What the local API has of plugins; null while it doesn't answer.
    async fn shown(&self) -> Value {
        LocalClient::new(&self.cluster.daemon.api_socket()).get("/plugins").await.unwrap_or_default()
    }

    /// Waits until this is the plugin that is configured, and is loaded, and the set is in this state, with these words in its message.
    async fn serves(&self, plugin: &str, state: &str, words: &str) -> Result<(), Failed> {
        let is_so = |shown: &Value| {
            let items = shown["items"].as_array().into_iter().flatten();
            let configured: Vec<_> = items
                .filter(|item| item["builtin"] == false)
                .map(|item| (item["name"].clone(), item["state"].clone()))
                .collect();
            let set = &shown["set"];
            configured == [(json!(plugin), json!("Ready"))]
                && set["state"] == state
                && set["message"].as_str().unwrap_or_default().contains(words)
        };
        let so = poll_until(START_TIMEOUT, async || is_so(&self.shown().await).then_some(())).await;
        if so.is_some() {
            return Ok(());
        }
        let shown = self.shown().await;
        Err(self.cluster.failure(&format!("never: {plugin}, {state} and {words:?}; {shown}")))
    }

    /// A new pod of each name is judged: those of `refuses` are rejected, others run.
    async fn judges(&self, refuses: &str, round: &str) -> Result<(), Failed> {
        for begin in ["local", "a"] {
            let name = format!("{begin}-{round}");
            self.cluster.create(&name)?;
            let expected = if begin == refuses { "Failed" } else { "Running" };
            let what = format!("{name} is {expected}");
            let judged = self.cluster.until(&what, |cluster| {
                cluster.pod(&name).filter(|pod: &Pod| phase(pod) == expected).map(drop)
            });
            judged.await?;
        }
        Ok(())
    }

    async fn reported(&self, reason: &str, words: &str) -> Result<(), Failed> {
        let what = format!("the event {reason}");
        let reported = self.cluster.until(&what, |cluster| {
            let events = cluster.api().list::<Event>();
            let is_it = |event: &Event| {
                event.reason.as_deref() == Some(reason)
                    && event.message.as_deref().unwrap_or_default().contains(words)
            };
            events.iter().any(is_it).then_some(())
        });
        reported.await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_is_taken_from_an_annotation_kept_against_bad_ones_and_over_a_restart_and_left()
-> Result<(), Failed> {
    let mut fleet = Fleet::start().await?;
    fleet.serves("local", "Local", "").await?;
    fleet.judges("local", "first").await?;

    let good = fleet.push_signed("a", &rules("a"), &[])?;
    fleet.choose(Some(&good))?;
    fleet.serves("a", "Running", "").await?;
    fleet.says(Some(&good), None).await?;
    fleet.reported("PluginSetTaken", "in place of the local plugin file").await?;
    fleet.judges("a", "second").await?;

    // Bad sets: the one before goes on, and the node says why.
    let unsigned = fleet.push("unsigned", &rules("unsigned"), &[])?;
    fleet.choose(Some(&unsigned))?;
    fleet.serves("a", "NotSigned", "isn't signed with").await?;
    fleet.says(Some(&good), Some("isn't signed with")).await?;
    fleet.reported("PluginSetRefused", &unsigned).await?;
    let absent = format!("{}/fleet/plugins@sha256:{}", fleet.registry.address, "0".repeat(64));
    fleet.choose(Some(&absent))?;
    fleet.serves("a", "NotHad", "does not have").await?;
    let elsewhere = format!("{}/others/plugins@sha256:{}", fleet.registry.address, "0".repeat(64));
    fleet.choose(Some(&elsewhere))?;
    fleet.serves("a", "NotAllowed", "aren't allowed on this node").await?;
    let broken = fleet.push_signed("broken", &file("broken", "object.metadata.nam == 'x'"), &[])?;
    fleet.choose(Some(&broken))?;
    fleet.serves("a", "NotLoaded", "has no field nam").await?;
    fleet.reported("PluginSetRefused", &broken).await?;
    fleet.judges("a", "third").await?;

    // A restart goes on with the good one, and tries the bad one again without the registry: it is on the disk, and so is its signature.
    fleet.registry.lose("/");
    let reads = fleet.registry.reads("/");
    fleet.cluster.daemon.kill_and_restart().map_err(|error| error.to_string())?;
    fleet.serves("a", "NotLoaded", "has no field nam").await?;
    assert_eq!(fleet.registry.reads("/"), reads, "nothing is pulled again");
    fleet.judges("a", "fourth").await?;
    let socket = fleet.cluster.daemon.api_socket().display().to_string();
    let list = witlet(&["plugin", "list", "--api-socket", &socket]);
    for line in [&*format!("Set: {good}\n"), "State: NotLoaded\n", "Last attempt: ", "Message: "] {
        assert!(list.out.contains(line), "{line:?} isn't in: {}{}", list.out, list.err);
    }

    fleet.choose(None)?;
    fleet.serves("local", "Local", "").await?;
    fleet.says(None, None).await?;
    fleet.reported("PluginSetLeft", &good).await?;
    fleet.judges("local", "fifth").await?;
    fleet.cluster.end().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sets_compiled_code_serves_without_a_compilation_until_the_operator_does_not_want_it()
-> Result<(), Failed> {
    // A component that no other test compiles: the handler of nodes' names with a section more, named `test`.
    let handler = witlet_plugins::ADMISSION.iter().find(|shipped| shipped.name == "node-name");
    let handler = handler.ok_or("node-name ships")?.component;
    let component = [handler, &b"\x00\x08\x04testset"[..]].concat();
    let digest = component_digest(&component);
    let mut fleet = Fleet::start_with("Signed", |ground| {
        let cache = ground.path("code");
        own_cache(&cache)?;
        Ok(vec![format!("--component-cache-dir={}", cache.display())])
    })
    .await?;
    fs::write(fleet.cluster.ground.path("own.wasm"), &component)?;
    let text = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n- name: own\n  component: ./own.wasm\n  \
                admission: {}\n";
    let set = fleet.push_signed("own", text, &["--compiled"])?;
    let inspected = witlet(&["plugin", "inspect", &set]);
    let code = format!("compiled   {digest}, synchronous, {} (", std::env::consts::ARCH);
    assert!(inspected.out.contains(&code), "{code:?} isn't in: {}{}", inspected.out, inspected.err);

    // What one machine has compiled goes on with the next set, which the node runs.
    let by_tag = format!("{}/fleet/plugins:own", fleet.registry.address);
    let refused = fleet.push("next", text, &["--compiled-from", &by_tag]);
    let refused = refused.err().ok_or("code from a tag was taken")?;
    assert!(refused.message().is_some_and(|words| words.contains("has no digest")), "{refused:?}");
    let changed = text.replace("admission: {}", "admission: {failurePolicy: Defer}");
    let set = fleet.push_signed("next", &changed, &["--compiled-from", &set])?;
    let inspected = witlet(&["plugin", "inspect", &set]);
    assert!(inspected.out.contains(&code), "{code:?} isn't in: {}{}", inspected.out, inspected.err);

    fleet.choose(Some(&set))?;
    fleet.serves("own", "Running", "").await?;
    let has = |fleet: &Fleet, words: &str| {
        fleet.cluster.daemon.log().lines().any(|line| line.contains(words) && line.contains(&digest))
    };
    assert!(has(&fleet, "Using the set's compiled code"), "{}", fleet.cluster.daemon.log());
    assert!(!has(&fleet, "Compiled component"), "{}", fleet.cluster.daemon.log());
    let socket = fleet.cluster.daemon.api_socket().display().to_string();
    let list = || witlet(&["plugin", "list", "--api-socket", &socket]).out;
    let said = |used: &str| format!("Compiled code: for {}; {used}", std::env::consts::ARCH);
    assert!(list().contains(&said("1 of 1 used\n")), "{}", list());

    // The policy wants none any more: the code goes, and the component is compiled.
    fs::write(fleet.cluster.ground.path("sets.yaml"), policy_of(&fleet.registry, "Never"))?;
    fleet.cluster.daemon.kill_and_restart().map_err(|error| error.to_string())?;
    fleet.serves("own", "Running", "").await?;
    assert!(has(&fleet, "Compiled component"), "{}", fleet.cluster.daemon.log());
    assert!(list().contains(&said("0 of 1 used: the policy of sets")), "{}", list());
    fleet.cluster.end().await
}
