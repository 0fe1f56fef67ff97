//! A start goes on with the last good plugins: no plugin file ends the agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use witlet_core::admission::Decision;
use witlet_egress::Egress;
use witlet_harness::{LocalRegistry, WAIT_TIMEOUT};
use witlet_oci::{Artifact, BytesSink, Client, Login, Registries, RegistriesConfig, Target};
use witlet_wasm::host::PluginFile;
use witlet_wasm::inspect::inspect;
use witlet_wasm::plugin::{Builtin, PluginState};

use crate::claims;
use crate::node::{Node, Setting, cache, compiler, configuration, hostile, pod, write};

claims!(
    a_configuration_that_is_broken_at_the_start_leaves_the_last_good_plugins,
    without_a_last_good_set_a_broken_configuration_leaves_the_built_in_plugins,
    a_configuration_that_is_not_there_at_the_start_is_taken_when_it_is,
    a_component_that_does_not_load_at_the_start_is_replaced_by_its_last_good_copy,
    a_plugin_that_does_not_load_keeps_no_other_from_being_kept,
    an_entry_that_was_good_stays_as_it_was_until_it_is_mended,
    a_last_good_set_that_can_not_be_kept_is_reported_and_kept_later,
    a_component_of_a_registry_that_is_gone_serves_by_its_digest,
    the_last_good_copy_of_an_entry_that_was_removed_is_not_loaded,
    a_damaged_last_good_set_is_no_set,
    a_configuration_of_a_later_release_leaves_the_last_good_plugins_or_is_skipped_in_part,
    forty_broken_configurations_leave_what_runs,
    forty_broken_configurations_at_the_start_leave_the_last_good_plugins,
    what_a_demand_keeps_out_does_not_come_back_at_a_start,
    what_another_file_had_does_not_come_back_at_a_start,
);

/// Where the last good set of this node lies.
fn last_good(folder: &TempDir) -> PathBuf {
    folder.path().join("last-good")
}

fn setting(folder: &TempDir) -> Setting {
    Setting { last_good_folder: Some(last_good(folder)), ..Setting::new(compiler(cache())) }
}

/// A folder in which a node with these entries ran until its set was kept.
async fn kept(entries: &str) -> TempDir {
    kept_with(entries, setting).await
}

/// The same with this setting.
async fn kept_with(entries: &str, setting: fn(&TempDir) -> Setting) -> TempDir {
    let folder = Node::begin("", Setting::new(compiler(cache()))).await.expect("the host starts").folder;
    write(&folder.path().join("plugins.yaml"), configuration(entries));
    let setting = setting(&folder);
    let node = Node::in_folder(folder, setting).await.expect("the host starts");
    let set = last_good(&node.folder).join("set.json");
    node.until("the set is kept", |_| set.exists()).await;
    assert_eq!(node.host.problems(), Vec::<String>::new());
    node.folder
}

/// Starts once more, and waits until each plugin was tried.
async fn started(folder: TempDir, builtins: &[Builtin]) -> Node {
    let setting = Setting { builtins: builtins.to_vec(), ..setting(&folder) };
    started_with(folder, setting).await
}

/// The same with this setting.
async fn started_with(folder: TempDir, setting: Setting) -> Node {
    let node = Node::in_folder(folder, setting).await.expect("a plugin file never ends the agent");
    let ready = tokio::time::timeout(WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    node
}

fn put(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) {
    write(&folder.path().join(name), content);
}

async fn a_configuration_that_is_broken_at_the_start_leaves_the_last_good_plugins() {
    let mut folder = kept(&hostile("one", "reject", "")).await;
    let unknown = configuration("- {name: one, component: hostile.wasm, admission: {}, colour: red}\n");
    for broken in ["", "{", "kind: Pod\n", &unknown, "\u{0}\u{0}", &"- ".repeat(5000)] {
        put(&folder, "plugins.yaml", broken);
        let node = started(folder, &[]).await;
        assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "it decides: {broken:.40?}");
        let error = node.host.file_error().unwrap_or_default();
        assert!(
            error.contains("plugins.yaml") && error.ends_with("; using the last good configuration"),
            "{error}"
        );
        assert_eq!(node.host.problems(), [error]);
        assert_eq!(node.events.reasons(), ["PluginConfigurationInvalid"]);
        folder = node.folder;
    }
    let node = started(folder, &[]).await;
    node.configure(&configuration(&hostile("one", "admit", "")));
    node.until("the mended file is taken", |node| node.host.problems().is_empty()).await;
    node.until("its set serves", |node| node.status("one").state == PluginState::Ready).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
}

async fn without_a_last_good_set_a_broken_configuration_leaves_the_built_in_plugins() {
    let folder = Node::begin("", Setting::new(compiler(cache()))).await.expect("the host starts").folder;
    put(&folder, "plugins.yaml", "plugins: 1\n");
    let node = started(folder, &[crate::node::builtin("no-latest", witlet_test_guests::NO_LATEST_TAG)]).await;
    assert_eq!(node.status("no-latest").state, PluginState::Ready);
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    let error = node.host.file_error().unwrap_or_default();
    assert!(error.ends_with("; using built-in plugins only"), "{error}");
    assert!(!last_good(&node.folder).exists(), "a broken configuration is no good one");
}

async fn a_configuration_that_is_not_there_at_the_start_is_taken_when_it_is() {
    let folder = kept(&hostile("one", "reject", "")).await;
    std::fs::remove_file(folder.path().join("plugins.yaml")).expect("the test's folder is writable");
    let node = started(folder, &[]).await;
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "the last good one decides");
    node.configure(&configuration(""));
    node.until("it is taken", |node| node.host.list().is_empty()).await;
    assert_eq!(node.host.problems(), Vec::<String>::new());
}

/// The text of the configuration that is kept.
fn kept_text(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("last-good/set.json")).unwrap_or_default()
}

const NEVER: &str = "- {name: never, component: missing.wasm, admission: {}}\n";

/// Names and states of what runs after a start with a file that makes no sense.
async fn after_a_broken_start(folder: TempDir) -> (Node, Vec<(String, PluginState)>) {
    put(&folder, "plugins.yaml", "{");
    let node = started(folder, &[]).await;
    let plugins = node.host.list().into_iter().map(|plugin| (plugin.name, plugin.state)).collect();
    (node, plugins)
}

async fn a_plugin_that_does_not_load_keeps_no_other_from_being_kept() {
    let folder = Node::begin("", Setting::new(compiler(cache()))).await.expect("the host starts").folder;
    let shadow =
        "- {name: shade, component: hostile.wasm, admission: {mode: shadow, shadowOf: never}}\n".to_owned();
    put(&folder, "plugins.yaml", configuration(&(hostile("one", "reject", "") + NEVER + &shadow)));
    let node = started(folder, &[]).await;
    node.until("what was loaded is kept", |node| kept_text(node.folder.path()).contains("never")).await;
    assert_eq!(node.status("never").state, PluginState::Failed);
    let (node, plugins) = after_a_broken_start(node.folder).await;
    assert_eq!(plugins, [("one".to_owned(), PluginState::Ready)], "what never was good is no part of it");
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "it decides");

    // A component that is gone keeps its copy, and its plugin no other from being kept.
    put(&node.folder, "plugins.yaml", configuration(&hostile("one", "reject", "")));
    let node = started(node.folder, &[]).await;
    node.until("it is kept", |node| !kept_text(node.folder.path()).contains("never")).await;
    std::fs::remove_file(node.folder.path().join("hostile.wasm")).expect("the test's folder is writable");
    put(&node.folder, "other.wasm", witlet_test_guests::HOSTILE);
    let other = hostile("two", "admit", "").replace("hostile.wasm", "other.wasm");
    put(&node.folder, "plugins.yaml", configuration(&(hostile("one", "reject", "") + &other)));
    let node = started(node.folder, &[]).await;
    node.until("both are kept", |node| kept_text(node.folder.path()).contains("two")).await;
    let (node, plugins) = after_a_broken_start(node.folder).await;
    assert_eq!(plugins, ["one", "two"].map(|name| (name.to_owned(), PluginState::Ready)));
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "its copy decides");
}

async fn an_entry_that_was_good_stays_as_it_was_until_it_is_mended() {
    let node = started(kept(&hostile("one", "reject", "")).await, &[]).await;
    let before = kept_text(node.folder.path());
    let gone = hostile("one", "admit", "").replace("hostile.wasm", "gone.wasm");
    node.configure(&configuration(&(gone + &hostile("two", "admit", ""))));
    node.until("it is tried", |node| node.host.list().len() == 2 && !node.host.problems().is_empty()).await;
    node.until("the other one serves", |node| node.status("two").state == PluginState::Ready).await;
    assert_eq!(kept_text(node.folder.path()), before);
    let mended = hostile("one", "admit", "");
    node.configure(&configuration(&(mended + &hostile("two", "admit", ""))));
    node.until("the mended set is kept", |node| kept_text(node.folder.path()).contains("two")).await;
}

async fn a_last_good_set_that_can_not_be_kept_is_reported_and_kept_later() {
    let folder = kept(&hostile("one", "reject", "")).await;
    // A folder is where the file would be written first.
    let obstacle = last_good(&folder).join("set.unfinished");
    std::fs::create_dir_all(obstacle.join("full")).expect("the test's folder is writable");
    put(
        &folder,
        "plugins.yaml",
        configuration(&(hostile("one", "reject", "") + &hostile("two", "admit", ""))),
    );
    let node = started(folder, &[]).await;
    node.until("it is reported", |node| node.events.reasons().contains(&"PluginsNotKept".to_owned())).await;
    assert!(!kept_text(node.folder.path()).contains("two"));
    std::fs::remove_dir_all(&obstacle).expect("the test's folder is writable");
    node.until("it is kept", |node| kept_text(node.folder.path()).contains("two")).await;
    let reasons = node.events.reasons();
    assert_eq!(reasons.iter().filter(|reason| *reason == "PluginsNotKept").count(), 1, "{reasons:?}");
}

/// With components from registries, which are kept in the node's folder.
fn pulling(folder: &TempDir) -> Setting {
    let registries = Registries::open(RegistriesConfig {
        folder: folder.path().join("components"),
        egress: Egress::system(),
        credentials: None,
        progress: Arc::new(|_| {}),
    });
    Setting { fetcher: Some(Arc::new(registries.expect("the folder is writable"))), ..setting(folder) }
}

/// Pushes a component, and returns what an entry takes.
async fn pushed(registry: &LocalRegistry, wasm: &'static [u8]) -> String {
    let inspection = inspect(wasm).expect("a component");
    let artifact = Artifact {
        wasm: wasm.into(),
        file_name: "one.wasm".to_owned(),
        exports: inspection.exports,
        imports: inspection.imports,
        created: crate::node::now(),
        annotations: BTreeMap::new(),
        report: None,
    };
    let target: Target = format!("{}/rules:1", registry.address).parse().expect("a place");
    let sink: BytesSink = Arc::new(|_bytes| {});
    let client = Client::new(Egress::system(), Login::Anonymous, false);
    target.pinned(&client.push(&target, &artifact, &sink).await.expect("pushed").digest)
}

async fn a_component_of_a_registry_that_is_gone_serves_by_its_digest() {
    let registry = LocalRegistry::start().await.expect("loopback has a port");
    let reference = pushed(&registry, witlet_test_guests::HOSTILE).await;
    let entry = |component: &str| {
        hostile("one", "reject", "").replace("component: hostile.wasm", &format!("component: '{component}'"))
    };
    let mut folder = kept_with(&entry(&reference), pulling).await;
    drop(registry);
    let newer =
        reference.split_once("@sha256:").map(|(begin, _)| format!("{begin}@sha256:{}", "7".repeat(64)));
    let newer = entry(&newer.expect("it is pinned"));
    let mut digests = Vec::new();
    // A broken file, the same file, and one whose component was never pulled.
    for (text, events) in [
        ("{".to_owned(), &["PluginConfigurationInvalid"][..]),
        (configuration(&entry(&reference)), &[]),
        (configuration(&newer), &["PluginNotLoaded", "PluginRunsLastGood"]),
        ("{".to_owned(), &["PluginConfigurationInvalid"]),
    ] {
        put(&folder, "plugins.yaml", &text);
        let setting = pulling(&folder);
        let node = started_with(folder, setting).await;
        let status = node.status("one");
        assert_eq!(status.state, PluginState::Ready, "{text:?}: {status:#?}");
        assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "{text:?}: it decides");
        assert_eq!(node.events.reasons(), events, "{text:?}");
        assert!(status.component.starts_with(&reference), "{text:?}: {}", status.component);
        digests.push(status.digest);
        folder = node.folder;
    }
    assert!(digests[0].is_some() && digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
}

/// Removes the file of the component, or puts something else in its place.
type Break = fn(&Path);

async fn a_component_that_does_not_load_at_the_start_is_replaced_by_its_last_good_copy() {
    let breaks: [(&str, Break); 5] = [
        ("missing", |path| std::fs::remove_file(path).expect("the test's folder is writable")),
        ("empty", |path| write(path, "")),
        ("truncated", |path| write(path, witlet_test_guests::truncated())),
        ("no component", |path| write(path, witlet_test_guests::core_module())),
        ("of another world", |path| write(path, witlet_test_guests::wrong_world())),
    ];
    let mut folder = kept(&hostile("one", "reject", "")).await;
    for (what, breaks) in breaks {
        breaks(&folder.path().join("hostile.wasm"));
        let node = started(folder, &[]).await;
        let status = node.status("one");
        assert_eq!(status.state, PluginState::Ready, "{what}: {status:#?}");
        assert!(
            status.pending.is_some() && status.component.ends_with("hostile.wasm (last good copy)"),
            "{what}"
        );
        assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "{what}: it decides");
        assert_eq!(node.events.reasons(), ["PluginNotLoaded", "PluginRunsLastGood"], "{what}");
        let problems = node.host.problems();
        assert!(
            problems.len() == 1 && problems[0].starts_with("plugin \"one\" runs an earlier version: "),
            "{problems:?}"
        );
        node.put("hostile.wasm", witlet_test_guests::HOSTILE);
        node.until("its own file serves again", |node| node.host.problems().is_empty()).await;
        assert!(node.status("one").component.ends_with("hostile.wasm"), "{what}");
        folder = node.folder;
    }
}

/// As a set of plugins that an annotation chose for a while.
async fn what_another_file_had_does_not_come_back_at_a_start() {
    let node = started(kept(&hostile("one", "reject", "")).await, &[]).await;
    let [other, good] = ["other.yaml", "other-good"].map(|name| node.folder.path().join(name));
    write(&other, configuration(&hostile("two", "admit", "")));
    node.host.use_file(PluginFile { path: Some(other), last_good_folder: Some(good.clone()) });
    node.until("what the other file names is kept", |_| good.join("set.json").exists()).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    put(&node.folder, "plugins.yaml", "plugins: 1\n");
    let node = started(node.folder, &[]).await;
    assert!(
        matches!(node.admit(pod("web")).await, Decision::Reject { .. }),
        "the local file's last good one decides"
    );
    let names: Vec<_> = node.host.list().into_iter().map(|plugin| plugin.name).collect();
    assert_eq!(names, ["one"]);
}

async fn the_last_good_copy_of_an_entry_that_was_removed_is_not_loaded() {
    let folder = kept(&hostile("one", "reject", "")).await;
    put(&folder, "plugins.yaml", configuration("- {name: two, component: missing.wasm, admission: {}}\n"));
    let node = started(folder, &[]).await;
    assert_eq!(node.host.list().len(), 1);
    assert_eq!(node.status("two").state, PluginState::Failed, "it never was good");
    let problems = node.host.problems();
    assert!(problems.len() == 1 && problems[0].starts_with("plugin \"two\" is not loaded: "), "{problems:?}");
}

async fn a_damaged_last_good_set_is_no_set() {
    let entry = hostile("one", "reject", "");
    for damage in ["set.json", "wasm"] {
        let folder = kept(&entry).await;
        let files = std::fs::read_dir(last_good(&folder)).expect("it is there");
        for path in files.map(|file| file.expect("readable").path()) {
            if path.to_string_lossy().ends_with(damage) {
                write(&path, "{");
            }
        }
        std::fs::remove_file(folder.path().join("hostile.wasm")).expect("the test's folder is writable");
        let node = started(folder, &[]).await;
        assert_eq!(node.status("one").state, PluginState::Failed, "{damage}");
        assert!(
            matches!(node.admit(pod("web")).await, Decision::Defer { .. }),
            "{damage}: its policy decides"
        );
    }
}

async fn a_configuration_of_a_later_release_leaves_the_last_good_plugins_or_is_skipped_in_part() {
    let folder = kept(&hostile("one", "reject", "")).await;
    let later =
        |more: &str| format!("- {{name: two, requires: [wings], {more}component: 'sky://two', wings: 2}}\n");
    put(&folder, "plugins.yaml", configuration(&later("")));
    let node = started(folder, &[]).await;
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "the last good one decides");
    let error = node.host.file_error().unwrap_or_default();
    assert!(error.contains("plugins[0].requires[0]: this host has no feature \"wings\""), "{error}");
    node.configure(&configuration(&(later("optional: true, ") + &hostile("one", "admit", ""))));
    node.until("the file is taken", |node| node.host.problems().is_empty()).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit, "its other entry counts");
    let names: Vec<String> = node.host.list().into_iter().map(|status| status.name).collect();
    assert_eq!(names, ["one"]);
    let skipped: Vec<String> =
        node.host.skipped().iter().map(|entry| format!("{} {entry}", entry.name)).collect();
    assert_eq!(skipped, ["two is skipped: this host has no feature wings"]);
    let reasons = node.events.reasons();
    assert_eq!(reasons.iter().filter(|reason| *reason == "PluginSkipped").count(), 1, "{reasons:?}");
}

/// Entries and files that may not be taken.
fn broken() -> Vec<String> {
    let whole = [
        "",
        "[]",
        "null",
        "plugins",
        "{",
        "\t",
        "apiVersion: v1\nkind: Pod\n",
        "%YAML 9.9\n---\n",
        "&a [*a]",
        "? ?",
    ];
    let heads = [
        "apiVersion: witlet.dev/v2\nkind: PluginConfiguration\nplugins: []\n",
        "kind: PluginConfiguration\nplugins: []\n",
    ];
    let entries = [
        "- {}",
        "- one",
        "- {name: one}",
        "- {name: one, component: hostile.wasm}",
        "- {name: ONE, component: hostile.wasm, admission: {}}",
        "- {name: '', component: hostile.wasm, admission: {}}",
        "- {name: one, component: '', admission: {}}",
        "- {name: one, component: hostile.wasm, admission: []}",
        "- {name: one, component: hostile.wasm, admision: {}}",
        "- {name: one, component: hostile.wasm, admission: {order: first}}",
        "- {name: one, component: hostile.wasm, admission: {failurePolicy: Maybe}}",
        "- {name: one, component: hostile.wasm, admission: {}, limits: {timeout: 1h}}",
        "- {name: one, component: hostile.wasm, admission: {}, limits: {timeout: -1s}}",
        "- {name: one, component: hostile.wasm, admission: {}, limits: {memory: 0}}",
        "- {name: one, component: hostile.wasm, admission: {}, limits: {memory: lots}}",
        "- {name: one, component: hostile.wasm, admission: {}, grants: {secrets: [none]}}",
        "- {name: one, component: hostile.wasm, admission: {}, grants: {network: [everything]}}",
        "- {name: one, component: hostile.wasm, admission: {}, grants: {state: maybe}}",
        "- {name: one, component: hostile.wasm, admission: {}, record: {max: 0}}",
        "- {name: one, component: hostile.wasm, admission: {}, instances: {warm: {max: 99}}}",
        "- {name: one, component: 'oci://', admission: {}}",
        "- {name: one, component: 'oci://registry.example/a:latest', admission: {}}",
        "- {name: one, component: 'builtin:none', admission: {}}",
        "- {name: one, component: hostile.wasm, probe: {type: ''}}",
        "- {name: one, component: hostile.wasm, podSource: {}}",
        "- {name: one, component: hostile.wasm, podSource: {interval: 1ms, allow: {namespaces: [a]}}}",
        "- {name: one, component: hostile.wasm, admission: {}}\n- {name: one, component: hostile.wasm, admission: {}}",
        "- {name: one, component: hostile.wasm, admission: {}, name: two}",
    ];
    let entries = entries.into_iter().map(|entry| configuration(&format!("{entry}\n")));
    let files = whole.into_iter().chain(heads).map(str::to_owned);
    files.chain(entries).collect()
}

async fn forty_broken_configurations_leave_what_runs() {
    let folder = kept(&hostile("one", "reject", "")).await;
    let node = started(folder, &[]).await;
    let broken = broken();
    assert_eq!(broken.len(), 40);
    for text in broken {
        node.configure(&text);
        node.until("it is refused", |node| {
            node.host.check_inputs();
            node.host.file_error().is_some()
        })
        .await;
        assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "{text:?}");
        node.configure(&configuration(&hostile("one", "reject", "")));
        node.until("the good one is taken", |node| {
            node.host.check_inputs();
            node.host.file_error().is_none()
        })
        .await;
    }
}

/// A start waits for a file that may be half written, so that all forty take ten seconds: the soak tries all, the inner ring one
/// in four.
async fn forty_broken_configurations_at_the_start_leave_the_last_good_plugins() {
    let step = if std::env::var("BROKEN_FILES").is_ok_and(|which| which == "all") { 1 } else { 4 };
    let mut folder = kept(&hostile("one", "reject", "")).await;
    for text in broken().into_iter().step_by(step) {
        put(&folder, "plugins.yaml", &text);
        let node = started(folder, &[]).await;
        let error = node.host.file_error().unwrap_or_default();
        assert!(error.ends_with("; using the last good configuration"), "{text:?}: {error}");
        assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "{text:?}");
        folder = node.folder;
    }
}

async fn what_a_demand_keeps_out_does_not_come_back_at_a_start() {
    let entry = hostile("one", "reject", "");
    let mut folder = kept(&entry).await;
    for (name, key) in crate::vouching::keys() {
        put(&folder, name, key);
    }
    let demanding = configuration(&format!("{entry}requireConformance: {{keys: [ci.pub.pem]}}\n"));
    // It was good before the demand, and is in the last good set: neither the demand nor a broken file after it lets it in.
    for (text, is_broken) in [(demanding.as_str(), false), ("{", true), (demanding.as_str(), false)] {
        put(&folder, "plugins.yaml", text);
        let node = started(folder, &[]).await;
        assert_eq!(node.host.file_error().is_some(), is_broken);
        let status = node.status("one");
        assert_eq!(status.state, PluginState::Failed, "{text:?}: {status:#?}");
        assert!(status.detail.is_some_and(|detail| detail.contains("requireConformance does not allow it")));
        assert!(matches!(node.admit(pod("web")).await, Decision::Defer { .. }), "its policy decides");
        let problems = node.host.problems();
        let names_it = |problem: &String| problem.starts_with("plugin \"one\" is not loaded: ");
        assert!(problems.iter().any(names_it), "{problems:?}");
        folder = node.folder;
    }
    // Once nothing is demanded any more, the set serves as it was.
    for text in [configuration(&entry), "{".to_owned()] {
        put(&folder, "plugins.yaml", &text);
        let node = started(folder, &[]).await;
        assert_eq!(node.status("one").state, PluginState::Ready, "{text:?}");
        assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "{text:?}");
        folder = node.folder;
    }
}
