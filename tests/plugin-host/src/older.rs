//! Components that an earlier release built, as they were (`tests/plugin-host/older/README.md`): each role loads and is called.

use std::os::unix::fs::PermissionsExt as _;

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use witlet_core::admission::Decision;
use witlet_wasm::plugin::PluginState;

use crate::builtin_probes::{LONG, failed, probe, success};
use crate::node::{Node, Setting, cache, compiler, pod};
use crate::servers::{Server, ServerKinds as _};
use crate::sources::Sources;

crate::claims!(
    the_bytes_are_those_that_their_table_names,
    a_handler_of_an_earlier_release_judges_next_to_one_of_contract_0_2,
    a_probe_type_of_an_earlier_release_asks_its_server,
    a_source_of_an_earlier_release_brings_its_pods,
);

const HANDLER: (&str, &[u8]) = ("image-policy.wasm", include_bytes!("../older/image-policy.wasm"));
const PROBE_TYPE: (&str, &[u8]) = ("redis-probe.wasm", include_bytes!("../older/redis-probe.wasm"));
const SOURCE: (&str, &[u8]) = ("folder-source.wasm", include_bytes!("../older/folder-source.wasm"));
const TABLE: &str = include_str!("../older/README.md");

/// A node with these entries, and with these components next to them.
async fn node(entries: &str, components: &[(&'static str, &[u8])]) -> Node {
    let files = components.iter().map(|(name, bytes)| (*name, bytes.to_vec())).collect();
    let setting = Setting { files, ..Setting::new(compiler(cache())) };
    let node = Node::begin(entries, setting).await.expect("the host starts");
    let ready = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    node
}

/// The plugin runs, by contract 0.1.
fn is_older(node: &Node, name: &str) {
    let status = node.status(name);
    let versions: Vec<_> = status.roles.iter().map(|role| role.version).collect();
    assert_eq!((status.state, versions), (PluginState::Ready, vec![Some("0.1.0")]), "{status:?}");
}

async fn the_bytes_are_those_that_their_table_names() {
    for (name, bytes) in [HANDLER, PROBE_TYPE, SOURCE] {
        let digest = hex::encode(Sha256::digest(bytes));
        let row = format!("| `{name}` | {} | `{digest}` |", bytes.len());
        assert!(TABLE.contains(&row), "{row}");
    }
}

async fn a_handler_of_an_earlier_release_judges_next_to_one_of_contract_0_2() {
    let entries = "\
        - {name: images, component: image-policy.wasm, admission: {}, limits: {timeout: 10s}, config: {allow: [registry.example.com]}}\n\
        - {name: newer, component: v0-2.wasm, admission: {}, limits: {timeout: 10s}, grants: {secrets: [none]}, config: {do: admit}}\n\
        secrets: [{name: none, file: none}]\n";
    let node = node(entries, &[HANDLER, ("v0-2.wasm", witlet_test_guests::ADMISSION_V0_2)]).await;
    is_older(&node, "images");
    let with = |image: &str| {
        let mut pod: Pod = pod("web");
        if let Some(spec) = &mut pod.spec {
            spec.containers[0].image = Some(image.to_owned());
        }
        pod
    };
    assert_eq!(node.admit(with("registry.example.com/app:1.2")).await, Decision::Admit);
    assert!(node.status("newer").calls() >= 1, "both were asked");
    match node.refused_by("images", with("elsewhere.example.com/app:1.2")).await {
        Decision::Reject { reason, message, .. } => {
            assert_eq!(reason, "ImageNotAllowed");
            assert!(message.contains("elsewhere.example.com/app"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert!(node.status("images").calls() >= 2);
}

async fn a_probe_type_of_an_earlier_release_asks_its_server() {
    let secrets = TempDir::new().expect("a folder");
    let file = secrets.path().join("password");
    std::fs::write(&file, "s3cret\n").expect("the folder is writable");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("it is the test's file");
    let entries = format!(
        "- {{name: redis-probe, component: redis-probe.wasm, probe: {{}}, config: {{passwordSecret: password}}, \
         grants: {{network: [pod], secrets: [password]}}}}\n\
         secrets: [{{name: password, file: {}}}]\n",
        file.display()
    );
    let node = node(&entries, &[PROBE_TYPE]).await;
    is_older(&node, "redis-probe");
    let ask = async |port: u16| probe(&node, "redis-probe", json!({"port": port}), LONG).await;
    let server = Server::conversing(&[
        (b"*2\r\n$4\r\nAUTH\r\n$6\r\ns3cret\r\n", b"+OK\r\n"),
        (b"PING\r\n", b"+PONG\r\n"),
    ])
    .await;
    assert_eq!(ask(server.port()).await, Ok(success("PONG")));
    let refusing = Server::saying("-WRONGPASS invalid password\r\n").await;
    assert_eq!(failed(ask(refusing.port()).await), "WRONGPASS invalid password");
}

async fn a_source_of_an_earlier_release_brings_its_pods() {
    let pods = TempDir::new().expect("a folder");
    let put = |name: &str| {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "app", "image": "app:1"}]},
        });
        std::fs::write(pods.path().join(format!("{name}.json")), pod.to_string()).expect("it is writable");
    };
    put("web");
    let entries = format!(
        "- {{name: folder, component: folder-source.wasm, podSource: {{interval: 1s, allow: {{namespaces: [default]}}}}, \
         config: {{folder: /pods}}, grants: {{files: [{{path: {}, guestPath: /pods, readOnly: true}}]}}}}\n",
        pods.path().display()
    );
    let mut sources = Sources::with(&entries, vec![(SOURCE.0, SOURCE.1.to_vec())]).await;
    assert_eq!(sources.next().await, "folder: web-n1");
    put("zoo");
    assert_eq!(sources.next().await, "folder: web-n1 zoo-n1");
    is_older(&sources.node, "folder");
}
