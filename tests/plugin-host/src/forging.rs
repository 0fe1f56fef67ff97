//! Handlers that no compiler would make: each ends as a named error, and JavaScript's HTTP links.

use witlet_core::admission::Decision;
use witlet_test_guests::HANDLERS;
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::node::{Node, configuration, pod, pod_in, write};

claims!(
    each_forgery_has_its_name,
    plugins_that_hang_while_they_load_keep_no_one_from_answering,
    instances_that_wait_leave_capacity_for_others,
);

/// What the pod's status says: a reason and a part of the message. No reason: admitted.
const EXPECTED: &[(&str, &str, &str)] = &[
    ("admit", "", ""),
    ("loop-in-realloc", "HandlerTimedOut", "no answer within 100ms"),
    ("realloc-beyond-memory", "HandlerTrapped", "it trapped: realloc return: beyond end of memory"),
    ("loop-after-return", "HandlerTimedOut", "no answer within 100ms"),
    ("ask-for-ever", "HandlerTimedOut", "no answer within 100ms"),
    ("hoard-handles", "HandlerTrapped", "handle limit exceeded"),
    ("forge-a-handle", "HandlerTrapped", "it trapped: unknown handle index 77"),
    ("drop-twice", "HandlerTrapped", "it trapped: unknown handle index"),
    ("long-pointer", "HandlerTrapped", "it passed more than 2097152 bytes in one call"),
    ("pointer-that-is-no-text", "HandlerTrapped", "invalid utf-8"),
    ("many-log-fields", "HandlerTrapped", "it passed more than 2097152 bytes in one call"),
    ("forged-list", "HandlerTrapped", "out of bounds"),
    ("forged-case", "HandlerTrapped", "unexpected discriminant"),
    ("forty-thousand-shortages", "HandlerBadAnswer", "40000 shortages are more than 64"),
    ("grow-tables", "HandlerOutOfMemory", "it exceeded its limit of 40000 table elements"),
    ("four-memories", "", ""),
    ("memory64", "HandlerNotLoaded", "memory64 must be enabled"),
    ("shared-memory", "HandlerNotLoaded", "threads must be enabled"),
    ("giant-answer", "HandlerNotLoaded", "a function's result has more than 16384 values"),
    ("many-imports", "HandlerNotLoaded", "it has more than 256 imports"),
    ("http-with-streams", "", ""),
];

/// So many plugins are there, and have been loaded or couldn't be.
async fn until_loaded(node: &Node, count: usize) {
    node.until("none is being loaded", |node| {
        let listed = node.host.list();
        listed.len() == count && listed.iter().all(|plugin| plugin.state != PluginState::Loading)
    })
    .await;
}

async fn each_forgery_has_its_name() {
    assert!(HANDLERS.iter().map(|(name, _)| *name).eq(EXPECTED.iter().map(|(name, ..)| *name)));
    let node = Node::with("").await;
    let mut entries = String::new();
    for (name, component) in HANDLERS {
        write(&node.folder.path().join(format!("{name}.wasm")), component);
        // What doesn't loop takes no time, but the machine may be busy.
        let loops = ["loop-in-realloc", "loop-after-return", "ask-for-ever"].contains(name);
        let limits = if loops { "100ms" } else { "10s" };
        entries += &format!(
            "- {{name: {name}, component: {name}.wasm, limits: {{timeout: {limits}}}, \
             admission: {{match: {{namespaces: [{name}]}}}}}}\n"
        );
    }
    node.configure(&configuration(&entries));
    until_loaded(&node, HANDLERS.len()).await;
    for (name, expected, words) in EXPECTED {
        match node.admit(pod_in(name, "web")).await {
            Decision::Admit => assert_eq!(*expected, "", "{name}"),
            Decision::Defer { reason, message, .. } => {
                assert_eq!(reason, *expected, "{name}: {message}");
                assert!(message.contains(words), "{name}: {message}");
            }
            other @ (Decision::Reject { .. } | Decision::Preempt { .. }) => panic!("{name}: {other:?}"),
        }
    }
}

async fn plugins_that_hang_while_they_load_keep_no_one_from_answering() {
    let good =
        "- {name: good, component: hostile.wasm, admission: {}, config: reject, limits: {timeout: 10s}}\n";
    let node = Node::with(good).await;
    let stuck: String = (0..6)
        .map(|number| {
            format!(
                "- {{name: stuck-{number}, component: hostile.wasm, limits: {{timeout: 1s}}, \
                 admission: {{match: {{namespaces: [none]}}}}, config: loop-in-validate}}\n"
            )
        })
        .collect();
    node.configure(&configuration(&(good.to_owned() + &stuck)));
    // The set changes when the last of them has failed: until then it is asked again and again.
    while node.host.list().len() == 1 {
        assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }));
    }
    let good = node.status("good");
    assert_eq!((good.state, good.errors()), (PluginState::Ready, 0));
    assert!(good.calls() > 0);
}

async fn instances_that_wait_leave_capacity_for_others() {
    let node = Node::with("").await;
    let (_, component) = HANDLERS.iter().find(|(name, _)| *name == "four-memories").expect("it is listed");
    write(&node.folder.path().join("four-memories.wasm"), component);
    // Together they have far more memories than the pool.
    let entries: String = (0..40)
        .map(|number| {
            format!(
                "- {{name: kept-{number}, component: four-memories.wasm, admission: {{}}, \
                 limits: {{timeout: 10s}}, instances: {{warm: {{max: 1, idle: 10m}}}}}}\n"
            )
        })
        .collect();
    node.configure(&configuration(&entries));
    until_loaded(&node, 40).await;
    for _ in 0..2 {
        assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    }
    let warm: usize = node.host.list().iter().map(|status| status.warm_instances()).sum();
    assert_eq!(warm, 8, "half of the pool's 64 memories");
}
