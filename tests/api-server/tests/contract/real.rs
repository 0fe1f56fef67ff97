//! A real API server with its etcd and, if it is there, its controllers, from the folder that `KUBEBUILDER_ASSETS` names.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{BOOTSTRAPPERS, Clients, NODE};

/// The folder with `kube-apiserver` and, if the path has none, `etcd`.
const ASSETS: &str = "KUBEBUILDER_ASSETS";
/// How long both may take to start.
const START: Duration = Duration::from_secs(60);
/// Between checks of a server that starts.
const PAUSE: Duration = Duration::from_millis(200);
/// The first version whose controllers don't listen without TLS, and don't know the flag that prevents it.
const PLAIN_PORT_GONE: u32 = 24;
/// Tokens of the users.
const TOKEN: &str = "contract-administrator";
const NODE_TOKEN: &str = "contract-node";
const BOOTSTRAP_TOKEN: &str = "contract-bootstrap";

/// All programs, until it is dropped.
pub(crate) struct RealServer {
    programs: Vec<Child>,
    clients: Clients,
    minor: u32,
    _folder: TempDir,
}

impl Drop for RealServer {
    fn drop(&mut self) {
        for program in self.programs.iter_mut().rev() {
            // One that ended by itself needs no end.
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

impl RealServer {
    /// Whether it was asked for.
    pub(crate) fn is_desired() -> bool {
        std::env::var_os(ASSETS).is_some()
    }

    /// Clients of its users.
    pub(crate) fn clients(&self) -> Clients {
        self.clients.clone()
    }

    /// Its minor version.
    pub(crate) fn minor(&self) -> u32 {
        self.minor
    }

    /// Starts both; why not, where they can't be started.
    pub(crate) async fn start() -> Result<Self, String> {
        let assets = std::env::var_os(ASSETS).map(PathBuf::from);
        let assets =
            assets.ok_or_else(|| format!("{ASSETS} isn't set (a folder with kube-apiserver and etcd)"))?;
        let server = assets.join("kube-apiserver");
        if !server.is_file() {
            return Err(format!("{} isn't there", server.display()));
        }
        let etcd = Some(assets.join("etcd")).filter(|path| path.is_file()).unwrap_or_else(|| "etcd".into());
        let folder = tempfile::tempdir().map_err(|cause| cause.to_string())?;
        let (store, peers, port) = (free_port()?, free_port()?, free_port()?);
        let controllers = assets.join("kube-controller-manager");
        let clients = Clients {
            admin: client(port, TOKEN)?,
            node: client(port, NODE_TOKEN)?,
            bootstrap: client(port, BOOTSTRAP_TOKEN)?,
            signs: controllers.is_file(),
        };
        write_files(folder.path(), port)?;
        let mut this = Self { programs: Vec::new(), clients, minor: 0, _folder: folder };
        let folder = this._folder.path().to_owned();
        this.programs.push(start(
            Command::new(etcd).args(etcd_arguments(&folder, store, peers)),
            &folder,
            "etcd",
        )?);
        let arguments = server_arguments(&folder, store, port);
        this.programs.push(start(Command::new(server).args(arguments), &folder, "kube-apiserver")?);
        this.wait().await?;
        this.minor = minor(&this.clients.admin).await?;
        grant(&this.clients.admin).await?;
        compact(store, &this.clients.admin).await?;
        if this.clients.signs {
            let arguments = controller_arguments(&folder, this.minor);
            this.programs.push(start(Command::new(controllers).args(arguments), &folder, "controllers")?);
        }
        Ok(this)
    }

    async fn wait(&self) -> Result<(), String> {
        let ready = async {
            while !text(&self.clients.admin, "/readyz").await.is_ok_and(|text| text == "ok") {
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::time::timeout(START, ready)
            .await
            .map_err(|_| format!("the API server isn't ready after {START:?}"))
    }
}

async fn text(client: &Client, path: &str) -> Result<String, kube::Error> {
    client.request_text(http::Request::get(path).body(Vec::new()).expect("a constant request")).await
}

async fn minor(client: &Client) -> Result<u32, String> {
    let version = client.apiserver_version().await.map_err(|cause| cause.to_string())?;
    let digits: String = version.minor.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| format!("an API server of version {}.{}", version.major, version.minor))
}

/// What kubeadm grants joining nodes.
async fn grant(client: &Client) -> Result<(), String> {
    let signing = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";
    for role in ["system:node-bootstrapper", signing] {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": format!("contract:{role}") },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": BOOTSTRAPPERS }],
        });
        let kind = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding");
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        let binding: DynamicObject = serde_json::from_value(binding).map_err(|cause| cause.to_string())?;
        api.create(&PostParams::default(), &binding).await.map_err(|cause| cause.to_string())?;
    }
    Ok(())
}

/// Forgets in etcd what was before now, as an API server does every few minutes.
async fn compact(store: u16, admin: &Client) -> Result<(), String> {
    let list: Value =
        serde_json::from_str(&text(admin, "/api/v1/namespaces").await.map_err(|cause| cause.to_string())?)
            .map_err(|cause| cause.to_string())?;
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let address = format!("http://127.0.0.1:{store}").parse().map_err(|_| "no address".to_owned())?;
    let etcd = Client::try_from(Config::new(address)).map_err(|cause| cause.to_string())?;
    let body = json!({ "revision": revision, "physical": true }).to_string().into_bytes();
    let request = http::Request::post("/v3/kv/compaction").body(body).expect("a constant request");
    etcd.request_text(request).await.map(drop).map_err(|cause| format!("etcd can't be compacted: {cause}"))
}

fn client(port: u16, token: &str) -> Result<Client, String> {
    let address = format!("https://127.0.0.1:{port}").parse().map_err(|_| "no address".to_owned())?;
    let mut config = Config::new(address);
    config.accept_invalid_certs = true;
    // The cases want each answer as it came.
    config.default_retry = false;
    config.auth_info.token = Some(token.to_owned().into());
    Client::try_from(config).map_err(|cause| cause.to_string())
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|cause| cause.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|cause| cause.to_string())
}

fn start(command: &mut Command, folder: &Path, name: &str) -> Result<Child, String> {
    let log = std::fs::File::create(folder.join(format!("{name}.log"))).map_err(|cause| cause.to_string())?;
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().map_err(|cause| format!("{name} can't be started: {cause}"))
}

fn etcd_arguments(folder: &Path, store: u16, peers: u16) -> Vec<String> {
    let (store, peers) = (format!("http://127.0.0.1:{store}"), format!("http://127.0.0.1:{peers}"));
    vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={store}"),
        format!("--advertise-client-urls={store}"),
        format!("--listen-peer-urls={peers}"),
        format!("--initial-advertise-peer-urls={peers}"),
        format!("--initial-cluster=default={peers}"),
        "--unsafe-no-fsync".to_owned(),
    ]
}

/// Tokens, the key of service accounts, the authority of nodes' certificates, and the controllers' kubeconfig.
fn write_files(folder: &Path, port: u16) -> Result<(), String> {
    let accounts = KeyPair::generate().map_err(|cause| cause.to_string())?;
    let tokens = format!(
        "{TOKEN},administrator,administrator,system:masters\n\
         {NODE_TOKEN},system:node:{NODE},node,system:nodes\n\
         {BOOTSTRAP_TOKEN},system:bootstrap:abcdef,bootstrap,{BOOTSTRAPPERS}\n"
    );
    let mut params = CertificateParams::new(Vec::new()).map_err(|cause| cause.to_string())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params.distinguished_name.push(DnType::CommonName, "contract");
    let authority = KeyPair::generate().map_err(|cause| cause.to_string())?;
    let issuer = CertifiedIssuer::self_signed(params, authority).map_err(|cause| cause.to_string())?;
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster":
            { "server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true } }],
        "users": [{ "name": "c", "user": { "token": TOKEN } }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }],
    });
    for (name, text) in [
        ("tokens.csv", tokens),
        ("accounts.key", accounts.serialize_pem()),
        ("accounts.pub", accounts.public_key_pem()),
        ("ca.crt", issuer.pem()),
        ("ca.key", issuer.key().serialize_pem()),
        ("controllers.conf", kubeconfig.to_string()),
    ] {
        std::fs::write(folder.join(name), text).map_err(|cause| cause.to_string())?;
    }
    Ok(())
}

fn server_arguments(folder: &Path, store: u16, port: u16) -> Vec<String> {
    let at = |name: &str| folder.join(name).display().to_string();
    vec![
        format!("--etcd-servers=http://127.0.0.1:{store}"),
        format!("--cert-dir={}", at("certificates")),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--token-auth-file={}", at("tokens.csv")),
        format!("--client-ca-file={}", at("ca.crt")),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--enable-admission-plugins=NodeRestriction".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
        format!("--service-account-key-file={}", at("accounts.pub")),
        format!("--service-account-signing-key-file={}", at("accounts.key")),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--allow-privileged=true".to_owned(),
    ]
}

/// Those that approve and sign requests, and no others: what happens to pods and nodes is up to the cases.
fn controller_arguments(folder: &Path, minor: u32) -> Vec<String> {
    let at = |name: &str| folder.join(name).display().to_string();
    let mut arguments = vec![
        format!("--kubeconfig={}", at("controllers.conf")),
        "--controllers=csrapproving,csrsigning".to_owned(),
        format!("--cluster-signing-cert-file={}", at("ca.crt")),
        format!("--cluster-signing-key-file={}", at("ca.key")),
        "--leader-elect=false".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--cert-dir={}", at("controllers")),
        "--secure-port=0".to_owned(),
    ];
    if minor < PLAIN_PORT_GONE {
        arguments.push("--port=0".to_owned());
    }
    arguments
}
