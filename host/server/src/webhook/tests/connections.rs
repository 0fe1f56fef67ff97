//! Connections of a webhook: whose are closed for others, and whose reviews are answered.

use std::path::Path;

use hyper_util::rt::TokioIo;
use rustls::RootCertStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

use super::*;
use crate::TlsOptions;
use crate::kubelet::tests::world::{Ca, Credentials, Then, connect_to, roots};

/// Bound of a wait for something that has to happen: only a hang reaches it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// What the service of a webhook is called, which its certificate is for.
const SERVICE: &str = "witlet-webhook.policies.svc";

/// Few, so that a test can take them all with few files open.
const LIMITS: ConnectionLimits = ConnectionLimits { total: 6, of_peer: 4 };

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(WAIT_TIMEOUT, what).await.expect("it happens soon")
}

/// A webhook that is served.
struct Served {
    address: SocketAddr,
    roots: Arc<RootCertStore>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

/// A client with one connection.
struct Client {
    sender: hyper::client::conn::http1::SendRequest<Full<Bytes>>,
    connection: JoinSet<()>,
}

impl Served {
    async fn start(folder: &Path, client_ca: Option<&Ca>, clients: Clients) -> Self {
        let path = folder.join("client-ca.pem");
        if let Some(ca) = client_ca {
            std::fs::write(&path, &ca.pem).unwrap();
        }
        let options = TlsOptions {
            certificate: None,
            client_ca: client_ca.map(|_| path),
            cert_dir: folder.join("pki"),
            node_name: "webhook".to_owned(),
            alternative_names: vec![SERVICE.to_owned()],
            only_tls13: false,
        };
        let tls = ServerTls::open(options, Arc::new(Then)).unwrap();
        let roots = roots(&folder.join("pki"));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let webhook =
            AdmissionWebhook::new(Arc::<Handlers>::default(), Arc::new(Epoch), Box::new(|| None), clients);
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        tasks.spawn(webhook.serve_within(LIMITS, listener, tls, stop.clone()));
        Self { address, roots, stop, tasks }
    }

    async fn client(&self, who: Option<&Credentials>) -> Client {
        self.client_of(who, &["http/1.1"]).await
    }

    /// One that offers these protocols. API servers offer HTTP/2 as well where the webhook's URL is one of the loopback.
    async fn client_of(&self, who: Option<&Credentials>, protocols: &[&str]) -> Client {
        let stream = soon(connect_to(SERVICE, self.address, self.roots.clone(), who, protocols)).await;
        assert_eq!(stream.get_ref().1.alpn_protocol(), (!protocols.is_empty()).then_some(&b"http/1.1"[..]));
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let connection = JoinSet::from_iter([async move {
            let _ = connection.await;
        }]);
        Client { sender, connection }
    }

    async fn stop(mut self) {
        self.stop.cancel();
        while let Some(ended) = soon(self.tasks.join_next()).await {
            ended.unwrap();
        }
    }
}

impl Client {
    async fn review(&mut self) -> u16 {
        self.ask(Method::POST, PATH, review("good").to_string().into_bytes()).await
    }

    async fn ask(&mut self, method: Method, path: &str, body: Vec<u8>) -> u16 {
        let request = request(method, path, "application/json", body);
        let answer = soon(self.sender.send_request(request)).await.unwrap();
        let code = answer.status().as_u16();
        soon(answer.into_body().collect()).await.unwrap();
        code
    }

    /// Returns when the webhook closed the connection.
    async fn closed(mut self) {
        soon(self.connection.join_next()).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn clients_that_hold_connections_after_a_review_do_not_shut_out_the_api_server() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), None, Clients::Any).await;
    let mut idle = Vec::new();
    for _ in 0..LIMITS.of_peer {
        let mut client = served.client(None).await;
        assert_eq!(client.review().await, 200);
        idle.push(client);
    }
    // The first one is used again, so the second one is idle for longest.
    let mut first = idle.remove(0);
    assert_eq!(first.review().await, 200);
    let mut api_server = served.client(None).await;
    assert_eq!(api_server.review().await, 200);
    idle.remove(0).closed().await;
    assert_eq!(first.review().await, 200, "it goes on");
    drop((first, api_server, idle));
    served.stop().await;
}

#[tokio::test]
async fn a_connection_takes_review_after_review_whatever_protocols_were_offered() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), None, Clients::Any).await;
    for protocols in [&["http/1.1"][..], &["h2", "http/1.1"], &[]] {
        let mut client = served.client_of(None, protocols).await;
        for _ in 0..3 {
            assert_eq!(client.review().await, 200, "{protocols:?}");
        }
    }
    served.stop().await;
}

#[tokio::test]
async fn only_clients_with_a_certificate_of_the_authority_are_answered_where_one_is_required() {
    let folder = tempfile::tempdir().unwrap();
    let ca = Ca::new("clients");
    let served = Served::start(folder.path(), Some(&ca), Clients::Known).await;
    let known = ca.sign(Some("kube-apiserver"), "system:masters", 2040);
    let other = Ca::new("others").sign(Some("kube-apiserver"), "system:masters", 2040);
    assert_eq!(served.client(Some(&known)).await.review().await, 200);
    for who in [Some(&other), None] {
        let mut client = served.client(who).await;
        // Without a body: it would not be read.
        assert_eq!(client.ask(Method::POST, PATH, Vec::new()).await, 401);
        let ready = client.ask(Method::GET, "/readyz", Vec::new()).await;
        assert_eq!(ready, 200, "the node's probes have no certificate");
    }
    served.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_further_request_is_closed() {
    let (mut client, server) = duplex(4096);
    let service = service_fn(|_| async { Ok::<_, Infallible>("ok".into_response()) });
    let serving = serve_http1(server, service, HEAD_BYTES_MAX, CancellationToken::new());
    let asking = async {
        client.write_all(b"GET /healthz HTTP/1.1\r\nhost: webhook\r\n\r\n").await.unwrap();
        let mut said = Vec::new();
        client.read_to_end(&mut said).await.unwrap();
        said
    };
    let (_, said) = soon(futures::future::join(serving, asking)).await;
    assert!(said.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&said));
}
