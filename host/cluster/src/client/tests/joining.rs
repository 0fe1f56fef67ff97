//! A node joins by TLS bootstrap, over sockets.

use std::fs;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{Admission, ApiServer, Identity, Options, Security};
use witlet_core::stats::exposition::written;
use witlet_ports::Clock as _;
use witlet_testkit::{FixedJitter, ManualClock};

use super::text;
use crate::client::fixture::soon;
use crate::client::{ConnectOptions, Connection};

const ORDER: &str = "create certificatesigningrequests";

/// A cluster that signs certificates of nodes, and the folder of a node that has a bootstrap token.
struct Cluster {
    server: Arc<ApiServer>,
    address: String,
    clock: Arc<ManualClock>,
    folder: TempDir,
    _serving: JoinSet<()>,
}

impl Cluster {
    async fn start() -> Self {
        let clock = Arc::new(ManualClock::new());
        let time = clock.clone();
        let admission = Admission { sign_requests: true, ..Admission::default() };
        let options = Options { admission, ..Options::new(Arc::new(move || time.now())) };
        let server = ApiServer::new(options);
        let bootstrap = Identity::new("system:bootstrap:abcdef", &["system:bootstrappers"]);
        server.add_token("abcdef.0123456789abcdef", bootstrap);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = format!("https://{}", listener.local_addr().expect("an address"));
        let mut serving = JoinSet::new();
        let served = server.clone();
        serving.spawn(async move {
            served.serve(listener, Security::Tls, CancellationToken::new()).await.expect("served");
        });
        let folder = tempfile::tempdir().expect("a folder");
        let text = server.kubeconfig(&address, &json!({ "token": "abcdef.0123456789abcdef" }));
        fs::write(folder.path().join("bootstrap"), text).expect("written");
        Self { server, address, clock, folder, _serving: serving }
    }

    fn options(&self) -> ConnectOptions {
        ConnectOptions {
            kubeconfig: self.folder.path().join("kubelet.conf"),
            bootstrap_kubeconfig: Some(self.folder.path().join("bootstrap")),
            cert_dir: self.folder.path().join("pki"),
            node_name: "n1".to_owned(),
            rotate: true,
            user_agent: "witlet/test".to_owned(),
            qps: 50.0,
            burst: 100,
            clock: self.clock.clone(),
            jitter: Arc::new(FixedJitter(0.0)),
            tracer: witlet_ports::Tracer::off(),
        }
    }

    /// A kubeconfig with a certificate of this life.
    fn give_certificate(&self, life: SignedDuration) {
        let issued = self.server.client_certificate(&Identity::node("n1"), life).expect("a certificate");
        fs::write(self.folder.path().join("n1.crt"), &issued.certificate_pem).expect("written");
        fs::write(self.folder.path().join("n1.key"), &issued.key_pem).expect("written");
        let user = json!({ "client-certificate": "n1.crt", "client-key": "n1.key" });
        let text = self.server.kubeconfig(&self.address, &user);
        fs::write(self.folder.path().join("kubelet.conf"), text).expect("written");
    }

    fn last_user(&self) -> String {
        self.server.requests().pop().expect("a request").user
    }
}

/// Makes one request while the connection is kept.
async fn request_while_running(connection: &Connection) {
    let stop = CancellationToken::new();
    let client = connection.client();
    let request = async {
        text(&client, "/api/v1/nodes").await.expect("an answer");
        stop.cancel();
    };
    soon(async { tokio::join!(connection.run(stop.clone()), request) }).await;
}

#[tokio::test]
async fn a_node_with_a_bootstrap_token_becomes_itself_and_stays_it() {
    let cluster = Cluster::start().await;
    let connection = Connection::open(cluster.options()).expect("open");
    // The request waits for the certificate, and is the node's.
    request_while_running(&connection).await;
    assert_eq!(cluster.last_user(), "system:node:n1");
    assert_eq!(cluster.server.count(ORDER), 1);
    // What came of it is counted, also of the bootstrap's requests.
    let shown = written(|to| connection.metrics().write(to)).expect("it is small");
    for (code, method) in [(200, "GET"), (201, "POST")] {
        let start = format!("rest_client_requests_total{{code=\"{code}\",host=\"");
        let is_counted =
            |line: &str| line.starts_with(&start) && line.contains(&format!("method=\"{method}\""));
        assert!(shown.lines().any(is_counted), "{code} {method}:\n{shown}");
    }
    let left =
        shown.lines().find_map(|line| line.strip_prefix("kubelet_certificate_manager_client_ttl_seconds "));
    assert!(left.expect("it is there").parse::<f64>().expect("a number") > 0.0, "{shown}");
    // The next start needs neither the bootstrap nor a new certificate, and the token may be gone.
    cluster.server.expire_tokens();
    fs::remove_file(cluster.folder.path().join("bootstrap")).expect("removed");
    let connection = Connection::open(cluster.options()).expect("open");
    request_while_running(&connection).await;
    assert_eq!(cluster.last_user(), "system:node:n1");
    assert_eq!(cluster.server.count(ORDER), 1);
}

#[tokio::test]
async fn a_kill_before_the_kubeconfig_is_written_costs_no_second_certificate() {
    let cluster = Cluster::start().await;
    request_while_running(&Connection::open(cluster.options()).expect("open")).await;
    fs::remove_file(cluster.folder.path().join("kubelet.conf")).expect("removed");
    let connection = Connection::open(cluster.options()).expect("open");
    assert!(cluster.folder.path().join("kubelet.conf").exists(), "written by the way");
    request_while_running(&connection).await;
    assert_eq!((cluster.last_user().as_str(), cluster.server.count(ORDER)), ("system:node:n1", 1));
}

#[tokio::test]
async fn a_kubeconfig_that_works_goes_before_the_bootstrap() {
    let cluster = Cluster::start().await;
    cluster.give_certificate(SignedDuration::from_hours(24));
    let options = ConnectOptions { rotate: false, ..cluster.options() };
    request_while_running(&Connection::open(options).expect("open")).await;
    assert_eq!((cluster.last_user().as_str(), cluster.server.count(ORDER)), ("system:node:n1", 0));
    // With rotation, a certificate that isn't in the folder of certificates is replaced by one that is.
    let connection = Connection::open(cluster.options()).expect("open");
    let stop = CancellationToken::new();
    let replaced = async {
        while !cluster.folder.path().join("pki/kubelet-client-current.pem").exists() {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    soon(async { tokio::join!(connection.run(stop.clone()), replaced) }).await;
    assert_eq!((cluster.last_user().as_str(), cluster.server.count(ORDER)), ("system:node:n1", 1));
}

#[tokio::test]
async fn a_certificate_that_has_ended_is_replaced_by_the_bootstrap() {
    let cluster = Cluster::start().await;
    cluster.give_certificate(SignedDuration::from_secs(0));
    let connection = Connection::open(cluster.options()).expect("open");
    request_while_running(&connection).await;
    assert_eq!((cluster.last_user().as_str(), cluster.server.count(ORDER)), ("system:node:n1", 1));
    let orders = cluster.server.requests();
    let order = orders.iter().find(|request| request.action() == ORDER).expect("an order");
    assert_eq!(order.user, "system:bootstrap:abcdef");
}
