//! What is refused when it is loaded, and in which words.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use witlet_core::admission::Decision;
use witlet_harness::WAIT_TIMEOUT;
use witlet_wasm::compile::{COMPILE_COMMAND, CompileLimits, CompilerConfig};
use witlet_wasm::host::StartError;
use witlet_wasm::metrics::CallOutcome;
use witlet_wasm::plugin::PluginState;
use witlet_wasm::role::Role;

use crate::claims;
use crate::node::{Node, Setting, cache, hostile, pod, write};
use crate::reloading::put_program;

claims!(
    each_bad_component_is_refused_with_its_reason,
    a_plugin_that_did_not_load_answers_by_its_failure_policy,
    a_loop_in_validate_is_a_timeout,
    a_loop_at_start_is_a_timeout,
    a_compile_bomb_runs_into_the_compilers_limits,
    a_compiler_that_gets_no_processor_is_not_waited_for_without_end,
    a_compiler_ends_when_its_daemon_is_gone,
    a_broken_configuration_keeps_the_host_from_starting,
    compiled_code_that_was_tampered_with_is_not_run,
    a_cache_that_others_can_enter_is_refused,
    compiled_code_is_reused,
    a_configured_compile_bomb_does_not_delay_the_start_and_pods_wait_until_its_policy_holds,
    a_component_without_the_role_that_its_entry_names_is_refused,
    a_missing_role_is_reported_next_to_a_missing_grant,
    a_shadow_that_is_still_loading_is_not_asked_and_has_not_failed,
);

fn entry(component: &str) -> String {
    format!("- {{name: bad, component: {component}, admission: {{}}}}\n")
}

async fn refusal(entries: &str) -> String {
    let node = Node::with(entries).await;
    let status = node.status("bad");
    assert_eq!(status.state, PluginState::Failed);
    status.detail.unwrap_or_default()
}

async fn each_bad_component_is_refused_with_its_reason() {
    let cases = [
        ("missing.wasm", vec!["missing.wasm", "No such file"]),
        ("empty.wasm", vec!["not a WebAssembly component", "empty"]),
        ("text.wasm", vec!["not a WebAssembly component", "text"]),
        ("core-module.wasm", vec!["not a WebAssembly component", "core module", "wasm32-wasip2"]),
        ("truncated.wasm", vec!["invalid WebAssembly", "unexpected end"]),
        ("invalid-code.wasm", vec!["invalid WebAssembly", "type mismatch"]),
        ("wrong-world.wasm", vec!["not a plugin: it exports run", "witlet:admission/handler"]),
        (
            "unknown-imports.wasm",
            vec![
                "it exports nothing",
                "acme:rockets/launch@1.0.0, which this host doesn't provide",
                "acme:coffee/brew@2.1.0, which this host doesn't provide",
                "witlet:host/secret@0.1.0, which isn't granted",
            ],
        ),
        ("giant-memory.wasm", vec!["4294901760 bytes of memory to start", "limit is 16777216"]),
        ("giant-table.wasm", vec!["tables of 10000000 elements"]),
        ("many-memories.wasm", vec!["has 40 memories, but its limit is 4"]),
    ];
    for (component, words) in cases {
        let detail = refusal(&entry(component)).await;
        for word in words {
            assert!(detail.contains(word), "{component}: {word:?} isn't in {detail:?}");
        }
        assert!(!detail.contains("keyvalue"), "WASI always links: {detail}");
    }
    let refuses = refusal(&hostile("bad", "refuse-config", "")).await;
    assert_eq!(refuses, "the plugin refuses its configuration: I don't like this configuration");
}

async fn a_plugin_that_did_not_load_answers_by_its_failure_policy() {
    for (policy, expected) in [("Defer", "Defer"), ("Reject", "Reject"), ("Admit", "Admit")] {
        let entries =
            format!("- {{name: bad, component: missing.wasm, admission: {{failurePolicy: {policy}}}}}\n");
        let node = Node::with(&entries).await;
        let decision = node.admit(pod("web")).await;
        match (&decision, expected) {
            (Decision::Defer { reason, message, .. }, "Defer") => {
                assert_eq!(reason, "HandlerNotLoaded");
                assert!(message.contains("bad") && message.contains("missing.wasm"), "{message}");
            }
            (Decision::Reject { message, .. }, "Reject") => {
                assert!(message.contains("missing.wasm"), "{message}")
            }
            (Decision::Admit, "Admit") => {}
            (other, _) => panic!("{policy}: {other:?}"),
        }
    }
}

async fn a_loop_in_validate_is_a_timeout() {
    let detail = refusal(&hostile("bad", "loop-in-validate", "")).await;
    assert_eq!(detail, "the plugin failed while it validated its configuration: no answer within 100ms");
    let detail = refusal(&hostile("bad", "trap-in-validate", "")).await;
    assert!(detail.contains("validated its configuration: it trapped"), "{detail}");
}

async fn a_loop_at_start_is_a_timeout() {
    let detail = refusal(&entry("loop-at-start.wasm")).await;
    assert_eq!(detail, "the plugin failed while it validated its configuration: no answer within 100ms");
}

async fn a_compile_bomb_runs_into_the_compilers_limits() {
    // Only the first is about the clock: a compiler has little of a busy machine, because it is nicer than all else.
    let limits = CompileLimits { wall: WAIT_TIMEOUT, ..CompileLimits::default() };
    let cases = [
        (CompileLimits { wall: Duration::from_millis(300), ..limits }, "compiling took longer than 0.3s"),
        (CompileLimits { cpu: Duration::from_secs(1), ..limits }, "compiling took longer than 1s"),
        (
            CompileLimits { memory_bytes: 160 << 20, ..limits },
            "compiling took more than 167772160 bytes of memory",
        ),
        (CompileLimits { output_bytes: 1 << 10, ..limits }, "the compiled code has more than 1024 bytes"),
    ];
    for (limits, words) in cases {
        let compiler = CompilerConfig { limits, ..crate::node::compiler(cache().join("bombs")) };
        let node = Node::start("", &[], compiler).await.expect("the host starts");
        let size = if limits.output_bytes == 1 << 10 { 1 } else { 400 };
        write(&node.folder.path().join("bomb.wasm"), witlet_test_guests::compile_bomb(size));
        node.configure(&crate::node::configuration(&entry("bomb.wasm")));
        node.until("the bomb is refused", |node| {
            node.host.list().iter().any(|status| status.state == PluginState::Failed)
        })
        .await;
        let detail = node.status("bad").detail.unwrap_or_default();
        assert!(detail.contains(words), "{words:?} isn't in {detail:?}");
    }
}

/// A compiler that sleeps takes no CPU time, like one that is stopped or waits for a disk.
async fn a_compiler_that_gets_no_processor_is_not_waited_for_without_end() {
    let folder = tempfile::TempDir::new().expect("a folder for the test");
    let program = folder.path().join("compiler");
    put_program(&program, "#!/bin/sh\nexec sleep 100000\n");
    let real = crate::node::compiler(folder.path().join("compiled"));
    let limits = CompileLimits { stall: Duration::from_millis(200), ..real.limits };
    let compiler = CompilerConfig { program, limits, ..real };
    let node = Node::start(&entry("invalid-code.wasm"), &[], compiler).await.expect("the host starts");
    let status = node.status("bad");
    assert_eq!(status.state, PluginState::Failed);
    let detail = status.detail.unwrap_or_default();
    assert!(detail.contains("the compiler got no CPU time for 0.2s"), "{detail}");
}

/// A daemon that was killed reads the compiler's standard error no more. What was to come on standard input is kept back, so that nothing
/// else ends the compiler.
async fn a_compiler_ends_when_its_daemon_is_gone() {
    let program = crate::node::compiler(cache()).program;
    let mut child = tokio::process::Command::new(program)
        .args([COMPILE_COMMAND, "synchronous", "1073741824", "60", "1048576", "10"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the compiler starts");
    let stdin = child.stdin.take();
    assert!(child.try_wait().expect("it can be asked").is_none(), "it waits for a component");
    drop(child.stderr.take());
    let ended = tokio::time::timeout(WAIT_TIMEOUT, child.wait()).await;
    let status = ended.expect("it ends").expect("it can be waited for");
    assert_eq!(status.signal(), Some(9), "{status}");
    drop(stdin);
}

async fn a_broken_configuration_keeps_the_host_from_starting() {
    let started = Node::start("- {name: x, colour: red}\n", &[], crate::node::compiler(cache())).await;
    let Err(StartError::Configuration(error)) = started else { panic!("started") };
    let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    assert!(error.to_string().contains("plugins.yaml"), "{error}");
    assert!(cause.contains("colour") && cause.contains("line 4"), "{cause}");
}

async fn compiled_code_that_was_tampered_with_is_not_run() {
    let folder = tempfile::TempDir::new().expect("a folder for the test");
    let cache = folder.path().join("compiled");
    let start = async || Node::start(&hostile("good", "admit", ""), &[], crate::node::compiler(&cache)).await;
    drop(start().await.expect("the host starts"));
    let code = std::fs::read_dir(&cache)
        .expect("the cache is there")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "cwasm"))
        .expect("the cache has code");
    let good = std::fs::read(&code).expect("the code can be read");
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 0xff;
    std::fs::write(&code, &bad).expect("the test owns the cache");
    let node = start().await.expect("the host starts");
    assert_eq!(node.status("good").state, PluginState::Ready);
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    assert_ne!(std::fs::read(&code).expect("the code can be read"), bad, "compiled again");
}

async fn a_cache_that_others_can_enter_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::TempDir::new().expect("a folder for the test");
    let cache = folder.path().join("compiled");
    std::fs::create_dir(&cache).expect("the test's folder is writable");
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o755)).expect("the test owns it");
    let started = Node::start("", &[], crate::node::compiler(&cache)).await;
    let Err(StartError::Cache(error)) = started else { panic!("started") };
    assert!(
        error.to_string().ends_with("must be accessible by its owner only (chmod go-rwx), found mode 755"),
        "{error}"
    );
}

async fn compiled_code_is_reused() {
    let folder = tempfile::TempDir::new().expect("a folder for the test");
    let cache = folder.path().join("compiled");
    drop(Node::start(&hostile("good", "admit", ""), &[], crate::node::compiler(&cache)).await);
    let no_compiler = CompilerConfig { program: "/nonexistent".into(), ..crate::node::compiler(&cache) };
    let node = Node::start(&hostile("good", "admit", ""), &[], no_compiler).await.expect("the host starts");
    assert_eq!(node.status("good").state, PluginState::Ready, "{:?}", node.status("good"));
}

async fn a_configured_compile_bomb_does_not_delay_the_start_and_pods_wait_until_its_policy_holds() {
    let folder = tempfile::TempDir::new().expect("a folder for the test");
    let limits = CompileLimits { cpu: Duration::from_secs(5), ..CompileLimits::default() };
    let compiler = CompilerConfig { limits, ..crate::node::compiler(folder.path().join("compiled")) };
    let matches = "match: {namespaces: [bombed]}";
    let entries = format!(
        "- {{name: bomb, component: bomb.wasm, admission: {{failurePolicy: Reject, loadTimeout: 600s, {matches}}}}}\n{}",
        hostile("good", "reject", "match: {namespaces: [strict]}"),
    );
    let builtins = witlet_plugins::ADMISSION[..1].iter();
    let setting = Setting {
        builtins: builtins.map(|builtin| crate::node::builtin(builtin.name, builtin.component)).collect(),
        files: vec![("bomb.wasm", witlet_test_guests::compile_bomb(400))],
        ..Setting::new(compiler)
    };
    let node = Node::begin(&entries, setting).await.expect("the host starts");
    assert_eq!(node.status("bomb").state, PluginState::Loading, "no one waited for it");
    assert_eq!(node.status(witlet_plugins::ADMISSION[0].name).state, PluginState::Ready);
    match node.admit(crate::node::pod_in("bombed", "web")).await {
        Decision::Defer { reason, message, .. } => {
            assert_eq!(reason, "HandlerNotLoaded");
            assert!(message.contains("still loading"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(node.admit(pod("web")).await, Decision::Admit, "what it doesn't match goes on");
    node.until("the good one is there", |node| node.status("good").state == PluginState::Ready).await;
    node.host.ready().await;
    let status = node.status("bomb");
    assert_eq!(status.state, PluginState::Failed, "{status:?}");
    let decision = node.admit(crate::node::pod_in("bombed", "web")).await;
    assert!(matches!(decision, Decision::Reject { .. }), "it couldn't be loaded: {decision:?}");
}

async fn a_component_without_the_role_that_its_entry_names_is_refused() {
    let detail = refusal("- {name: bad, component: hostile.wasm, probe: {}}\n").await;
    let words = "its entry names the role probe, but the component has only admission";
    assert!(detail.contains(words), "{detail}");
}

async fn a_missing_role_is_reported_next_to_a_missing_grant() {
    let shipped = witlet_plugins::SHIPPED.iter().map(|shipped| (shipped.name, shipped.component)).collect();
    let entries = "- {name: bad, component: builtin:redis, podSource: {allow: {namespaces: [default]}}}\n";
    let setting = Setting { shipped, ..Setting::new(crate::node::compiler(cache())) };
    let node = Node::begin(entries, setting).await.expect("the host starts");
    tokio::time::timeout(WAIT_TIMEOUT, node.host.ready()).await.expect("it is tried in time");
    let status = node.status("bad");
    assert_eq!(
        status.detail.as_deref(),
        Some(
            "the component can't be loaded: its entry names the role podSource, but the component has only \
             probe; it imports witlet:host/secret@0.1.0, which isn't granted (grants.secrets)"
        )
    );
    assert_eq!(status.component, "builtin:redis");
}

async fn a_shadow_that_is_still_loading_is_not_asked_and_has_not_failed() {
    let folder = tempfile::TempDir::new().expect("a folder for the test");
    let limits = CompileLimits { cpu: Duration::from_secs(5), ..CompileLimits::default() };
    let compiler = CompilerConfig { limits, ..crate::node::compiler(folder.path().join("compiled")) };
    let setting = Setting {
        files: vec![("bomb.wasm", witlet_test_guests::compile_bomb(400))],
        ..Setting::new(compiler)
    };
    let entries = "- {name: bomb, component: bomb.wasm, admission: {mode: shadow}}\n";
    let node = Node::begin(entries, setting).await.expect("the host starts");
    assert_eq!(node.status("bomb").state, PluginState::Loading);
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    let report = |node: &Node| node.status("bomb").shadow_report.unwrap_or_default();
    node.until("it was passed over", |node| report(node).skipped == 1).await;
    assert_eq!(report(&node).failed, 0);
    let asked = node.host.metrics().plugin("bomb").role(Role::Admission).calls_with(CallOutcome::NotLoaded);
    assert_eq!(asked, 0);
}
