//! Changed files take effect, and broken ones don't.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::task::JoinSet;
use witlet_core::admission::Decision;
use witlet_core::node::NodeFacts;
use witlet_ports::{ComponentFetcher, ComponentReference, FetchError, NodeWatch, Reports};
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::node::{Node, Setting, cache, configuration, hostile, pod, pod_in, request};

claims!(
    a_changed_configuration_is_taken_and_reported,
    a_broken_configuration_leaves_the_old_plugins_running,
    a_changed_component_is_swapped_in,
    all_plugins_of_one_component_follow_it,
    a_broken_component_leaves_the_old_one_running,
    a_missing_component_is_loaded_when_it_appears,
    swaps_under_load_lose_no_call_and_mix_no_versions,
    a_changed_set_is_swapped_as_a_whole,
    the_old_version_is_back_at_once_when_the_entry_is,
    a_configuration_that_is_removed_is_reported_once_and_its_plugins_go_on,
    bytes_that_do_not_compile_are_compiled_once,
    health_goes_on_when_only_the_policy_changes_and_begins_again_with_the_code,
    code_that_is_not_used_any_more_is_unmapped,
    registries_that_hang_keep_no_file_from_being_loaded,
    what_the_compiler_quotes_of_a_component_drives_no_terminal,
    values_of_the_node_in_a_configuration_follow_it,
);

async fn a_changed_configuration_is_taken_and_reported() {
    let node = Node::with(&hostile("one", "admit", "")).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    let mut generation = node.host.admission().generation();
    generation.mark_unchanged();
    node.configure(&configuration(&hostile("one", "reject", "")));
    let reported = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, generation.changed()).await;
    assert!(matches!(reported, Ok(Ok(()))), "the change was reported");
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }));
    node.configure(&configuration(""));
    node.until("the plugin is gone", |node| node.host.list().is_empty()).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
}

async fn a_broken_configuration_leaves_the_old_plugins_running() {
    let node = Node::with(&hostile("one", "reject", "")).await;
    node.configure(&configuration("- {name: two, component: x.wasm, admission: {}, limits: {timeout: 5}}\n"));
    node.until("the error is reported", |node| node.host.file_error().is_some()).await;
    let error = node.host.file_error().unwrap_or_default();
    assert!(
        error.contains("plugins.yaml") && error.contains("line 4") && error.contains("duration"),
        "{error}"
    );
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "the old one still decides");
    assert_eq!(node.events.reasons(), ["PluginConfigurationInvalid"]);
    let mut generation = node.host.admission().generation();
    generation.mark_unchanged();
    node.configure(&configuration(&hostile("one", "admit", "")));
    node.until("the error is gone", |node| node.host.file_error().is_none()).await;
    let changed = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, generation.changed()).await;
    assert!(matches!(changed, Ok(Ok(()))), "the set that the file names serves");
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
}

async fn a_changed_component_is_swapped_in() {
    let entry = "- {name: swapped, component: swapped.wasm, admission: {}, limits: {timeout: 10s}, \
                 config: null}\n";
    let node = Node::with("").await;
    node.put("swapped.wasm", witlet_test_guests::HOSTILE);
    node.configure(&configuration(entry));
    node.until("it is loaded", |node| {
        node.host.list().iter().any(|status| status.state == PluginState::Ready)
    })
    .await;
    let before = node.status("swapped").digest;
    node.put("swapped.wasm", witlet_test_guests::NO_LATEST_TAG);
    node.until("it is swapped", |node| node.status("swapped").digest != before).await;
    let mut latest = pod("latest");
    if let Some(spec) = &mut latest.spec {
        spec.containers[0].image = Some("app:latest".to_owned());
    }
    assert!(matches!(node.admit(latest).await, Decision::Reject { .. }), "the new one decides");
}

async fn all_plugins_of_one_component_follow_it() {
    let both = format!("{}{}", hostile("one", "reject", ""), hostile("two", "reject", ""));
    let node = Node::with(&both).await;
    let digest = |node: &Node, name: &str| node.status(name).digest;
    let before = digest(&node, "one");
    assert_eq!(digest(&node, "two"), before);
    // The same with an empty custom section called `x`.
    node.put("hostile.wasm", [witlet_test_guests::HOSTILE, &[0, 2, 1, b'x']].concat());
    node.until("both have the new one", |node| {
        digest(node, "one") != before && digest(node, "one") == digest(node, "two")
    })
    .await;
}

async fn a_broken_component_leaves_the_old_one_running() {
    let node = Node::with(&hostile("one", "reject", "")).await;
    node.put("hostile.wasm", witlet_test_guests::core_module());
    // Before it is notified, it is pending because its newest version is being loaded.
    node.until("the error is reported", |node| {
        node.status("one").pending.is_some_and(|pending| pending.contains("core module"))
    })
    .await;
    assert_eq!(node.status("one").state, PluginState::Ready);
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "the old one still decides");
    node.put("hostile.wasm", witlet_test_guests::HOSTILE);
    node.until("the error is gone", |node| node.status("one").pending.is_none()).await;
}

async fn a_missing_component_is_loaded_when_it_appears() {
    let entry =
        "- {name: late, component: late.wasm, admission: {}, limits: {timeout: 10s}, config: admit}\n";
    let node = Node::with(entry).await;
    assert!(matches!(node.admit(pod("web")).await, Decision::Defer { .. }));
    let mut generation = node.host.admission().generation();
    node.put("late.wasm", witlet_test_guests::HOSTILE);
    node.until("it is loaded", |node| node.status("late").state == PluginState::Ready).await;
    // A moment after it is listed.
    let reported = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, generation.changed()).await;
    assert!(matches!(reported, Ok(Ok(()))), "deferred pods are asked for again");
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
}

/// Fifty swaps while eight callers ask without a pause.
async fn swaps_under_load_lose_no_call_and_mix_no_versions() {
    const SWAPS: usize = 50;
    let entry = |behaviour: &str| {
        "- {name: one, component: hostile.wasm, admission: {}, limits: {timeout: 10s}, \
         instances: {warm: {max: 4}}, config: BEHAVIOUR}\n"
            .replace("BEHAVIOUR", behaviour)
    };
    let node = Node::with(&entry("admit")).await;
    let (stop, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let (admission, stop, calls) = (node.host.admission(), stop.clone(), calls.clone());
        callers.spawn(async move {
            let mut wrong = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                match admission.admit(request(pod("web"))).await {
                    Decision::Admit => {}
                    Decision::Reject { reason, .. } if reason == "NotNeeded" => {}
                    other => wrong.push(other),
                }
                calls.fetch_add(1, Ordering::Relaxed);
            }
            wrong
        });
    }
    for swap in 0..SWAPS {
        let (behaviour, admits) = if swap % 2 == 0 { ("reject", false) } else { ("admit", true) };
        node.configure(&configuration(&entry(behaviour)));
        node.until("the swap took place", |node| {
            let pending = node.status("one").pending;
            pending.is_none() && node.events.reasons().len() > swap
        })
        .await;
        let before = calls.load(Ordering::Relaxed);
        assert_eq!(node.admit(pod("web")).await == Decision::Admit, admits, "after swap {swap}");
        node.until("calls go on", |_| calls.load(Ordering::Relaxed) > before).await;
    }
    stop.store(true, Ordering::Relaxed);
    let wrong: Vec<Decision> = callers.join_all().await.into_iter().flatten().collect();
    assert_eq!(wrong, [], "of {} calls", calls.load(Ordering::Relaxed));
    let status = node.status("one");
    assert_eq!((status.errors(), status.state), (0, PluginState::Ready), "{:?}", status.last_error);
    assert!(status.calls() >= calls.load(Ordering::Relaxed) as u64, "counted over all versions");
    assert!(node.events.reasons().iter().all(|reason| reason == "PluginReplaced"));
}

async fn a_changed_set_is_swapped_as_a_whole() {
    let slow = |behaviour: &str| {
        format!(
            "- {{name: slow, component: hostile.wasm, admission: {{failurePolicy: Admit}}, \
             limits: {{timeout: 5s}}, config: {behaviour}}}\n"
        )
    };
    let node = Node::with(&(hostile("quick", "admit", "") + &slow("admit"))).await;
    node.configure(&configuration(&(hostile("quick", "reject", "") + &slow("loop-in-validate"))));
    node.until("it is noticed", |node| node.status("slow").pending.is_some()).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit, "the quick one waits for the slow one");
    node.until("the set is swapped", |node| node.status("quick").pending.is_none()).await;
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }));
    // On a busy machine the set didn't wait for the end of its validation.
    node.until("the slow one has failed", |node| {
        node.status("slow").pending.is_some_and(|pending| pending.contains("no answer within 5000ms"))
    })
    .await;
    assert_eq!(node.status("slow").state, PluginState::Ready, "its old version goes on");
}

async fn the_old_version_is_back_at_once_when_the_entry_is() {
    let node = Node::with(&hostile("one", "reject", "")).await;
    node.admit(pod("web")).await;
    node.configure(&configuration(&hostile("one", "refuse-config", "")));
    node.until("the refusal is reported", |node| {
        node.status("one").pending.is_some_and(|pending| pending.contains("I don't like"))
    })
    .await;
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "the old one still decides");
    node.configure(&configuration(&hostile("one", "reject", "")));
    node.until("it is as configured", |node| node.status("one").pending.is_none()).await;
    assert_eq!(node.status("one").calls(), 2, "it never stopped");
    assert_eq!(node.events.reasons(), ["PluginNotLoaded"], "nothing was replaced");
}

async fn a_configuration_that_is_removed_is_reported_once_and_its_plugins_go_on() {
    let node = Node::with(&hostile("one", "reject", "")).await;
    let file = node.folder.path().join("plugins.yaml");
    std::fs::remove_file(&file).expect("the test's folder is writable");
    node.host.check_inputs();
    node.until("it is reported", |node| node.host.file_error().is_some()).await;
    for _ in 0..3 {
        node.host.check_inputs();
        assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "it goes on");
    }
    let error = node.host.file_error().unwrap_or_default();
    assert!(error.contains("plugins.yaml not found, keeping the last plugins"), "{error}");
    node.configure(&configuration(&hostile("one", "reject", "")));
    node.until("it is back", |node| node.host.file_error().is_none()).await;
    assert_eq!(node.events.reasons(), ["PluginConfigurationMissing"], "reported once");
}

/// Makes a program. Another process writes it: had this one it open, a child that another test starts at that moment
/// would hold it open as well, and it couldn't be run.
pub(crate) fn put_program(path: &Path, text: &str) {
    let write = std::process::Command::new("/bin/sh")
        .args(["-c", "printf '%s' \"$2\" > \"$1\" && chmod 700 \"$1\"", "sh"])
        .arg(path)
        .arg(text)
        .status();
    assert!(write.expect("there is a shell").success(), "the test's folder is writable");
}

/// Counts how often the compiler is started.
async fn bytes_that_do_not_compile_are_compiled_once() {
    let folder = tempfile::TempDir::new().expect("a folder for the test");
    let (program, count) = (folder.path().join("compiler"), folder.path().join("count"));
    let real = env!("CARGO_BIN_EXE_compile-component");
    let script = format!("#!/bin/sh\necho once >> {}\nexec {real} \"$@\"\n", count.display());
    put_program(&program, &script);
    let compiler = CompilerConfig { program, ..crate::node::compiler(folder.path().join("compiled")) };
    let entry = "- {name: bad, component: invalid-code.wasm, admission: {}}\n";
    let node = Node::start(entry, &[], compiler).await.expect("the host starts");
    let compiled = || std::fs::read_to_string(&count).unwrap_or_default().lines().count();
    assert_eq!((node.status("bad").state, compiled()), (PluginState::Failed, 1));
    // The same bytes in another file, and the same code under another policy.
    node.put("invalid-code.wasm", witlet_test_guests::invalid_code());
    node.configure(&configuration(&entry.replace("{}}", "{failurePolicy: Admit}}")));
    node.until("the policy is taken", |node| {
        node.status("bad").failure_policy == Some(witlet_core::admission::chain::FailurePolicy::Admit)
    })
    .await;
    node.put("invalid-code.wasm", witlet_test_guests::HOSTILE);
    node.until("it loads", |node| node.status("bad").state == PluginState::Ready).await;
    assert_eq!(compiled(), 2, "once for each content");
}

async fn health_goes_on_when_only_the_policy_changes_and_begins_again_with_the_code() {
    let node = Node::with(&hostile("bad", "trap", "")).await;
    for _ in 0..witlet_wasm::plugin::FAILURES_TO_QUARANTINE {
        node.admit(pod("web")).await;
    }
    assert_eq!(node.status("bad").state, PluginState::Quarantined);
    node.configure(&configuration(&hostile("bad", "trap", "failurePolicy: Admit, order: 3")));
    node.until("the policy is taken", |node| node.status("bad").order == Some(3)).await;
    assert_eq!(node.status("bad").state, PluginState::Quarantined, "the code is as bad as before");
    assert_eq!(node.admit(pod("web")).await, Decision::Admit, "by its new policy");
    node.configure(&configuration(&hostile("bad", "admit", "order: 3")));
    node.until("it begins again", |node| node.status("bad").state == PluginState::Ready).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
}

/// How many mappings of this process are of files in the folder.
fn mapped(folder: &Path) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("a process may check itself");
    let folder = folder.to_string_lossy();
    maps.lines().filter(|line| line.contains(&*folder)).count()
}

async fn code_that_is_not_used_any_more_is_unmapped() {
    let folder = tempfile::TempDir::new().expect("a folder for the test");
    let compiler = crate::node::compiler(folder.path().join("compiled"));
    let entry = "- {name: swapped, component: swapped.wasm, admission: {}, limits: {timeout: 10s}, \
                 instances: {warm: {max: 4}}}\n";
    let node = Node::start("", &[], compiler).await.expect("the host starts");
    assert_eq!(mapped(folder.path()), 0);
    node.put("swapped.wasm", witlet_test_guests::HOSTILE);
    node.configure(&configuration(entry));
    node.until("it is loaded", |node| {
        node.host.list().iter().any(|status| status.state == PluginState::Ready)
    })
    .await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    assert_eq!(node.status("swapped").warm_instances(), 1);
    let one = mapped(folder.path());
    assert!(one > 0, "code is mapped from the cache");
    let hostile = node.status("swapped").digest;
    node.put("swapped.wasm", witlet_test_guests::NO_LATEST_TAG);
    node.until("it is swapped", |node| node.status("swapped").digest != hostile).await;
    assert_eq!(node.status("swapped").warm_instances(), 0, "the new one has none yet");
    node.until("the old code is gone", |_| mapped(folder.path()) <= one).await;
    node.configure(&configuration(""));
    node.until("no code is left", |_| mapped(folder.path()) == 0).await;
}

/// A registry that never answers.
struct Hanging;

#[async_trait]
impl ComponentFetcher for Hanging {
    async fn fetch(&self, _: &ComponentReference, _: Option<&Path>) -> Result<Arc<[u8]>, FetchError> {
        std::future::pending().await
    }

    async fn reports(
        &self,
        _: &ComponentReference,
        _: Option<&Path>,
        _: Reports,
    ) -> Result<Vec<Vec<u8>>, FetchError> {
        std::future::pending().await
    }
}

async fn registries_that_hang_keep_no_file_from_being_loaded() {
    let digest = "0".repeat(64);
    let pulled = |number: usize| {
        let component = format!("oci://registry.example.com/plugins/p{number}@sha256:{digest}");
        format!("- {{name: pulled-{number}, component: \"{component}\", admission: {{}}}}\n")
    };
    let entries: String = (0..16).map(pulled).chain([hostile("one", "reject", "")]).collect();
    let setting =
        Setting { fetcher: Some(Arc::new(Hanging)), ..Setting::new(crate::node::compiler(cache())) };
    let node = Node::begin(&entries, setting).await.expect("the host starts");
    node.until("the file is loaded", |node| node.status("one").state == PluginState::Ready).await;
    assert_eq!(node.status("pulled-0").state, PluginState::Loading);
}

/// A handler by its export's name, whose core module exports one name twice.
fn exports_twice(name: &[u8; 4]) -> Vec<u8> {
    let section = |id: u8, content: &[u8]| {
        let length =
            u8::try_from(content.len()).ok().filter(|length| *length < 0x80).expect("a short section");
        [&[id, length], content].concat()
    };
    let export = [&[4], name.as_slice(), &[2, 0]].concat();
    let exports = [&[2], export.as_slice(), export.as_slice()].concat();
    let module = [b"\0asm\x01\0\0\0".as_slice(), &section(5, &[1, 0, 0]), &section(7, &exports)].concat();
    let handler = b"witlet:admission/handler@0.1.0";
    let handler = [&[1, 0, 30], handler.as_slice(), &[5, 0, 0]].concat();
    [b"\0asm\x0d\0\x01\0".as_slice(), &section(1, &module), &section(11, &handler)].concat()
}

async fn what_the_compiler_quotes_of_a_component_drives_no_terminal() {
    let files = vec![("twice.wasm", exports_twice(b"\x1b[2J"))];
    let setting = Setting { files, ..Setting::new(crate::node::compiler(cache())) };
    let node = Node::begin("- {name: twice, component: twice.wasm, admission: {}}\n", setting).await;
    let node = node.expect("the host starts");
    node.until("it was tried", |node| node.status("twice").state == PluginState::Failed).await;
    let detail = node.status("twice").detail.expect("a reason");
    assert!(detail.contains("\\u{1b}[2J") && !detail.contains('\u{1b}'), "{detail:?}");
}

/// A node whose labels change.
struct LabelledNode(watch::Sender<Arc<NodeFacts>>);

impl LabelledNode {
    fn label(&self, labels: &[(&str, &str)]) {
        let mut facts = NodeFacts { name: "admit".to_owned(), ..NodeFacts::default() };
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        facts.node.metadata.labels = Some(labels.collect());
        self.0.send_replace(Arc::new(facts));
    }
}

#[async_trait]
impl NodeWatch for LabelledNode {
    fn watch(&self) -> watch::Receiver<Arc<NodeFacts>> {
        self.0.subscribe()
    }

    async fn read_again(&self) -> Arc<NodeFacts> {
        self.0.borrow().clone()
    }
}

async fn values_of_the_node_in_a_configuration_follow_it() {
    let labelled = Arc::new(LabelledNode(watch::Sender::default()));
    labelled.label(&[]);
    let newer = "- {name: newer, component: v0-2.wasm, admission: {match: {namespaces: [newer]}}, \
                 limits: {timeout: 10s}, grants: {secrets: [none]}, config: {do: \"${node.name}\"}}\n";
    let entries = hostile("one", "\"${node.labels['mode']}\"", "") + newer;
    let setting = Setting {
        files: vec![("v0-2.wasm", witlet_test_guests::ADMISSION_V0_2.to_vec())],
        node: Some(labelled.clone()),
        ..Setting::new(crate::node::compiler(cache()))
    };
    let entries = entries + "secrets: [{name: none, file: none}]\n";
    let node = Node::begin(&entries, setting).await.expect("the host starts");
    node.until("the newer one is loaded", |node| node.status("newer").state == PluginState::Ready).await;
    node.until("one isn't", |node| node.status("one").state == PluginState::Failed).await;
    let detail = node.status("one").detail.unwrap_or_default();
    assert_eq!(detail, "its configuration can't be filled in: config: the node has no label \"mode\"");
    // The other plugins go on, and the node's values bring this one back.
    let newer = node.status("newer").digest;
    labelled.label(&[("mode", "reject")]);
    node.host.check_inputs();
    node.until("one is loaded", |node| node.status("one").state == PluginState::Ready).await;
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "by the label");
    labelled.label(&[("mode", "admit"), ("other", "x")]);
    node.host.check_inputs();
    let admitted = async { while node.admit(pod("web")).await != Decision::Admit {} };
    let admitted = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, admitted).await;
    assert!(admitted.is_ok(), "the new value is taken");
    labelled.label(&[]);
    node.host.check_inputs();
    node.until("the label is missed", |node| {
        node.status("one").pending.is_some_and(|pending| pending.contains("the node has no label"))
    })
    .await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit, "what ran with the last value goes on");
    assert_eq!(node.status("newer").digest, newer);
    assert_eq!(node.admit(pod_in("newer", "web")).await, Decision::Admit, "by the node's name");
}
