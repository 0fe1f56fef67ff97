//! Commands that check a node, against an agent that isn't there, and against a local API made of constants.

use std::path::Path;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use witlet_ports::{AgentStats, AgentView, RecordedEvent};
use witlet_server::{LocalApi, PluginView, RootOnlySocket};

use crate::{CommandOutput, scratch, witlet};

/// Every command that asks the agent, each with what it needs.
const COMMANDS: [&[&str]; 11] = [
    &["get", "pods", "--watch"],
    &["get", "events", "--watch"],
    &["top", "pods"],
    &["top", "node"],
    &["top", "plugins", "--sort-by", "p99"],
    &["describe", "pod", "web"],
    &["describe", "node"],
    &["describe", "plugin", "images"],
    &["logs", "web", "--tail", "3"],
    &["exec", "web"],
    &["get", "events"],
];

/// Runs a command against this socket; `exec` runs `true`.
fn ask(socket: &Path, command: &[&str]) -> CommandOutput {
    let socket = socket.to_str().expect("a temporary path is UTF-8");
    let words: &[&str] = if command[0] == "exec" { &["--", "true"] } else { &[] };
    witlet(&[command, &["--api-socket", socket], words].concat())
}

#[test]
fn without_an_agent_every_command_exits_3_and_names_the_socket() {
    let folder = scratch();
    for command in COMMANDS {
        let answer = ask(&folder.path().join("none.sock"), command);
        assert_eq!((answer.code, answer.out.as_str()), (3, ""), "{command:?}: {}", answer.err);
        assert!(answer.err.contains("none.sock"), "{command:?}: {}", answer.err);
    }
}

#[test]
fn every_command_has_help_with_examples() {
    for command in [
        &["get", "pods"][..],
        &["get", "events"],
        &["get", "node"],
        &["top", "pods"],
        &["top", "node"],
        &["top", "plugins"],
        &["describe", "pod"],
        &["describe", "node"],
        &["describe", "plugin"],
        &["logs"],
        &["exec"],
    ] {
        let answer = witlet(&[command, &["--help"]].concat());
        let example = format!("  witlet {}", command.join(" "));
        assert!(answer.code == 0 && answer.out.contains("Examples:"), "{command:?}: {}", answer.out);
        assert!(answer.out.contains(&example), "{command:?}: {}", answer.out);
    }
}

#[test]
fn command_lines_that_make_no_sense_exit_2() {
    for (command, words) in [
        (&["top", "pods", "--interval", "1ms"][..], "500ms"),
        (&["top", "pods", "--sort-by", "luck"], "cpu"),
        (&["get", "pods", "--watch", "--usage"], "--watch"),
        (&["logs", "web", "--since", "soon"], "5m"),
        (&["logs", "web", "--tail", "-2"], "-2"),
        (&["exec", "web"], "COMMAND"),
        (&["describe", "pod"], "NAME"),
        // A node is in no namespace.
        (&["get", "node", "-n", "default"], "-n"),
    ] {
        let answer = witlet(command);
        assert_eq!(answer.code, 2, "{command:?}: {}", answer.err);
        assert!(answer.err.contains(words), "{command:?}: {}", answer.err);
    }
}

/// One static pod, and no plugin.
struct Agent;

impl AgentView for Agent {
    fn pods(&self) -> Vec<Arc<Pod>> {
        let pod = json!({
            "metadata": {"name": "web-node1", "namespace": "default", "uid": "u-1",
                "annotations": {"kubernetes.io/config.source": "file"}},
            "spec": {"nodeName": "node1", "containers": [{"name": "app", "image": "busybox"}]},
            "status": {"phase": "Running"},
        });
        vec![Arc::new(serde_json::from_value(pod).expect("a pod"))]
    }

    fn events(&self) -> Vec<RecordedEvent> {
        Vec::new()
    }

    fn node(&self) -> Arc<Node> {
        Arc::new(serde_json::from_value(json!({"metadata": {"name": "node1"}})).expect("a node"))
    }

    fn unhealthy(&self) -> Vec<String> {
        Vec::new()
    }

    fn stats(&self) -> AgentStats {
        AgentStats::default()
    }
}

impl PluginView for Agent {
    fn plugins(&self) -> Vec<Value> {
        Vec::new()
    }
}

/// Has commands ask such an agent.
fn with_agent(ask: impl FnOnce(&Path) + Send + 'static) {
    with_plugins(Arc::new(Agent), ask);
}

/// Has commands ask one with these plugins.
pub(crate) fn with_plugins(plugins: Arc<dyn PluginView>, ask: impl FnOnce(&Path) + Send + 'static) {
    let folder = scratch();
    let path = folder.path().join("witlet.sock");
    let tokio = tokio::runtime::Runtime::new().expect("a runtime");
    tokio.block_on(async {
        let socket = RootOnlySocket::bind(&path).await.expect("the folder is the test's own");
        let stop = CancellationToken::new();
        let api = LocalApi::new(Arc::new(Agent), plugins);
        let asking = async {
            let asked = tokio::task::spawn_blocking(move || ask(&path)).await;
            stop.cancel();
            asked
        };
        let (served, asked) = tokio::join!(api.serve(socket, stop.clone()), asking);
        served.expect("the socket is there");
        asked.expect("the commands answer as expected");
    });
}

#[test]
fn a_static_pod_is_described_by_its_manifests_name() {
    with_agent(|socket| {
        let described = ask(socket, &["describe", "pod", "web"]);
        assert_eq!(described.code, 0, "{}", described.err);
        for line in ["Name:", "web-node1", "Admission:", "<not asked since the agent started>", "Events:"] {
            assert!(described.out.contains(line), "{line:?} isn't in:\n{}", described.out);
        }
        let json = ask(socket, &["describe", "pod", "web-node1", "-o", "json"]);
        let json: Value = serde_json::from_str(&json.out).expect("it is JSON");
        assert_eq!(json["pod"]["metadata"]["uid"], "u-1");
    });
}

#[test]
fn what_is_not_there_exits_1_with_a_way_out() {
    with_agent(|socket| {
        for (command, words) in [
            (&["describe", "pod", "wep"][..], "did you mean web?"),
            (&["logs", "web", "-n", "kube-system"], "add -n default"),
            (&["logs", "web", "-c", "db"], "it has: app"),
            (&["describe", "plugin", "images"], "plugin \"images\" not found"),
            // This agent has no endpoints behind its socket.
            (&["logs", "web"], "404"),
            (&["exec", "web"], "404"),
        ] {
            let answer = ask(socket, command);
            assert_eq!(answer.code, 1, "{command:?}: {}{}", answer.out, answer.err);
            assert!(answer.err.contains(words), "{command:?}: {}", answer.err);
        }
    });
}

#[test]
fn without_a_terminal_the_table_is_printed_once() {
    with_agent(|socket| {
        let plugins = ask(socket, &["top", "plugins", "--interval", "500ms"]);
        assert_eq!(plugins.code, 0, "{}", plugins.err);
        assert!(plugins.out.starts_with("NAME") && !plugins.out.contains('\u{1b}'), "{:?}", plugins.out);
    });
}
