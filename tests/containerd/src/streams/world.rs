//! A pod of containerd's, the node's endpoints over it, and an API server that leads to them.

use std::collections::BTreeMap;
use std::fs::File;
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{ApiServer, Identity, Options, Security};
use witlet_core::runtime::{ContainerId, ContainerSpec, NamespaceMode, SandboxSpec, labels};
use witlet_cri::{CriClient, CriOptions};
use witlet_harness::{BUSYBOX_IMAGE, TestClock};
use witlet_ports::{AgentStats, AgentView, Clock, FilesError, LogFiles, RecordedEvent, Runtime};
use witlet_server::{
    Authentication, Authorization, Diagnostics, KubeletServer, LocalApi, PluginView, ServerOptions,
    ServerParts, ServerTls, StatsPorts, TlsOptions,
};

use crate::Outcome;
use crate::unused::Unused;

/// A future of a case.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// What is tried.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// What the container runs.
    pub(crate) script: &'static str,
    /// Whether it reads its standard input.
    pub(crate) stdin: bool,
    pub(crate) needs_kubectl: bool,
    /// Whether kubectl is to ask with WebSockets; with SPDY otherwise.
    pub(crate) by_websockets: bool,
    pub(crate) run: for<'a> fn(&'a World) -> Running<'a>,
}

/// Where a case runs.
pub(crate) struct TestNode {
    pub(crate) endpoint: String,
    pub(crate) logs: PathBuf,
    pub(crate) number: usize,
}

/// The pod as the agent would show it.
struct View(Mutex<Arc<Pod>>);

impl AgentView for View {
    fn pods(&self) -> Vec<Arc<Pod>> {
        vec![self.0.lock().expect("no holder panics").clone()]
    }

    fn events(&self) -> Vec<RecordedEvent> {
        Vec::new()
    }

    fn node(&self) -> Arc<Node> {
        Arc::default()
    }

    fn unhealthy(&self) -> Vec<String> {
        Vec::new()
    }

    fn stats(&self) -> AgentStats {
        AgentStats::default()
    }
}

impl PluginView for View {
    fn plugins(&self) -> Vec<serde_json::Value> {
        Vec::new()
    }
}

struct Logs;

#[async_trait]
impl LogFiles for Logs {
    async fn open(&self, log: &Path) -> Result<Option<File>, FilesError> {
        Ok(File::open(log).ok())
    }
}

pub(crate) struct World {
    /// The API server, in the clear; all clients are its administrator.
    pub(crate) api: SocketAddr,
    pub(crate) pod: String,
    pub(crate) folder: PathBuf,
    pub(crate) by_websockets: bool,
    pub(crate) container: ContainerId,
    pub(crate) runtime: Runtime,
    view: Arc<View>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl World {
    pub(crate) async fn new(place: TestNode, case: &Case) -> Result<Self, String> {
        let client = CriClient::new(CriOptions::at(&place.endpoint).map_err(text)?, Arc::new(TestClock));
        let client = client.map_err(text)?;
        let runtime = client.clone().into_runtime();
        let (pod, uid) = (format!("pod-{}", place.number), format!("u-{}", place.number));
        let folder = place.logs.join(format!("default_{pod}_{uid}"));
        std::fs::create_dir_all(folder.join("app")).map_err(text)?;
        let container = start(&runtime, &pod, &uid, &folder, case).await?;
        let api = ApiServer::new(Options::new(Arc::new(|| TestClock.now())));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(text)?;
        let kubelet = TcpListener::bind("127.0.0.1:0").await.map_err(text)?;
        let port = kubelet.local_addr().map_err(text)?.port();
        let shown = objects(&api, &pod, &uid, &container, port)?;
        let view = Arc::new(View(Mutex::new(Arc::new(shown))));
        let tls = server_tls(&api, &folder)?;
        let server = KubeletServer::new(ServerParts {
            view: view.clone(),
            mirrors: None,
            pods: runtime.view.clone(),
            containers: runtime.containers.clone(),
            streaming: Arc::new(client.clone()),
            logs: Arc::new(Logs),
            clock: Arc::new(TestClock),
            metrics: LocalApi::new(view.clone(), view.clone()).metrics(),
            stats: StatsPorts {
                view: view.clone(),
                pods: runtime.view.clone(),
                runtime: Arc::new(client.clone()),
                images: Arc::new(client.clone()),
                kernel: Arc::new(Unused),
                storage: Arc::new(Unused),
                clock: Arc::new(TestClock),
                node_name: "node-1".to_owned(),
                root: folder.clone(),
            },
            configz: json!({}),
            diagnostics: Diagnostics {
                flags: BTreeMap::new(),
                kubernetes_version: "1.36.0".to_owned(),
                verbosity: Arc::new(Unused),
                system_logs: Arc::new(Unused),
                checkpoints: Arc::new(client),
                checkpoint_folder: folder.join("checkpoints"),
            },
            tracer: witlet_ports::Tracer::off(),
            // The API server shows its certificate; no other client gets in.
            authentication: Authentication::default(),
            authorization: Authorization::AlwaysAllow,
            options: ServerOptions::default(),
            probes: Arc::new(witlet_server::Metrics::default()),
            process_started_at: None,
        });
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        tasks.spawn(server.serve(kubelet, tls, stop.clone()));
        let address = listener.local_addr().map_err(text)?;
        let serving = api.serve(listener, Security::Plain(Identity::admin()), stop.clone());
        tasks.spawn(async move {
            let _ = serving.await;
        });
        let by_websockets = case.by_websockets;
        Ok(Self { api: address, pod, folder, by_websockets, container, runtime, view, stop, tasks })
    }

    /// Path of a subresource of the pod.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/default/pods/{}/{rest}", self.pod)
    }

    /// Ends the container, and shows that it has ended.
    pub(crate) async fn end(&self) -> Outcome {
        self.runtime.containers.stop(&self.container, Duration::ZERO).await.map_err(text)?;
        let mut shown = self.view.0.lock().map_err(text)?;
        let mut pod = Pod::clone(&shown);
        let statuses =
            pod.status.iter_mut().flat_map(|status| status.container_statuses.iter_mut().flatten());
        for status in statuses {
            let terminated = json!({"exitCode": 137, "containerID": status.container_id});
            let state = json!({ "terminated": terminated });
            status.state = Some(serde_json::from_value(state).map_err(text)?);
        }
        *shown = Arc::new(pod);
        Ok(())
    }

    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// A pod with one container that runs the case's script, and logs as the agent has them.
async fn start(
    runtime: &Runtime,
    pod: &str,
    uid: &str,
    folder: &Path,
    case: &Case,
) -> Result<ContainerId, String> {
    let labels: BTreeMap<String, String> = [
        (labels::POD_UID, uid),
        (labels::POD_NAME, pod),
        (labels::POD_NAMESPACE, "default"),
        (labels::CONTAINER_NAME, "app"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    let sandbox = SandboxSpec {
        name: pod.to_owned(),
        namespace: "default".to_owned(),
        uid: uid.to_owned(),
        hostname: pod.to_owned(),
        log_directory: folder.to_owned(),
        labels: labels.clone(),
        pid: NamespaceMode::Container,
        ..SandboxSpec::default()
    };
    let container = ContainerSpec {
        name: "app".to_owned(),
        image: BUSYBOX_IMAGE.to_owned(),
        command: ["/bin/sh", "-c", case.script].map(str::to_owned).to_vec(),
        labels,
        log_path: PathBuf::from("app/0.log"),
        stdin: case.stdin,
        ..ContainerSpec::default()
    };
    let id = runtime.sandboxes.run(&sandbox).await.map_err(text)?;
    let container = runtime.containers.create(&id, &container, &sandbox).await.map_err(text)?;
    runtime.containers.start(&container).await.map_err(text)?;
    Ok(container)
}

/// The node and the pod at the API server; the pod as the agent shows it.
fn objects(api: &ApiServer, pod: &str, uid: &str, id: &ContainerId, port: u16) -> Result<Pod, String> {
    let node = json!({
        "metadata": {"name": "node-1"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        },
    });
    let of_node: Node = serde_json::from_value(node).map_err(text)?;
    let made: Node = api.create(&of_node).map_err(|error| format!("{error:?}"))?;
    let made = Node { status: of_node.status, ..made };
    api.update_status(&made).map_err(|error| format!("{error:?}"))?;
    let spec = json!({
        "nodeName": "node-1",
        "containers": [{"name": "app", "image": BUSYBOX_IMAGE, "stdin": true}],
    });
    let expected = json!({"metadata": {"name": pod, "namespace": "default"}, "spec": spec});
    let expected: Pod = serde_json::from_value(expected).map_err(text)?;
    let made: Pod = api.create(&expected).map_err(|error| format!("{error:?}"))?;
    let status = json!({
        "phase": "Running",
        "containerStatuses": [{
            "name": "app", "image": BUSYBOX_IMAGE, "imageID": "x", "ready": true, "restartCount": 0,
            "containerID": format!("containerd://{id}"), "state": {"running": {}},
        }],
    });
    let status = Some(serde_json::from_value(status).map_err(text)?);
    let shown: Pod = api.update_status(&Pod { status, ..made }).map_err(|error| format!("{error:?}"))?;
    // To the agent a pod is known by the UID that its containers carry.
    let mut shown = shown;
    shown.metadata.uid = Some(uid.to_owned());
    Ok(shown)
}

fn server_tls(api: &ApiServer, folder: &Path) -> Result<Arc<ServerTls>, String> {
    let client_ca = folder.join("client-ca.pem");
    std::fs::write(&client_ca, api.ca_pem()).map_err(text)?;
    let options = TlsOptions {
        certificate: None,
        client_ca: Some(client_ca),
        cert_dir: folder.join("pki"),
        node_name: "node-1".to_owned(),
        alternative_names: Vec::new(),
        only_tls13: false,
    };
    ServerTls::open(options, Arc::new(TestClock)).map_err(text)
}
