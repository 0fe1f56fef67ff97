//! A real API server with its etcd, from the folder that `KUBEBUILDER_ASSETS` names.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kube::{Client, Config};
use tempfile::TempDir;

/// The folder with `kube-apiserver` and, if the path has none, `etcd`.
const ASSETS: &str = "KUBEBUILDER_ASSETS";
/// How long both may take to start.
const START: Duration = Duration::from_secs(60);
/// Between looks at a server that starts.
const PAUSE: Duration = Duration::from_millis(200);
/// Token of the one user.
const TOKEN: &str = "contract-administrator";

/// Both programs, until it is dropped.
pub(crate) struct RealServer {
    programs: Vec<Child>,
    client: Client,
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
    /// Whether somebody asked for it.
    pub(crate) fn is_wanted() -> bool {
        std::env::var_os(ASSETS).is_some()
    }

    /// A client that may do everything.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
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
        let mut started = Vec::new();
        let client = client(port).await?;
        let etcd = start(
            Command::new(etcd).args(etcd_arguments(folder.path(), store, peers)),
            folder.path(),
            "etcd",
        )?;
        started.push(etcd);
        let arguments = server_arguments(folder.path(), store, port)?;
        let program = start(Command::new(server).args(arguments), folder.path(), "kube-apiserver");
        let mut server = Self { programs: started, client, _folder: folder };
        server.programs.push(program?);
        server.wait().await?;
        Ok(server)
    }

    async fn wait(&mut self) -> Result<(), String> {
        let ready = async {
            loop {
                let request = http::Request::get("/readyz").body(Vec::new()).expect("a constant request");
                if self.client.request_text(request).await.is_ok_and(|text| text == "ok") {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::time::timeout(START, ready)
            .await
            .map_err(|_| format!("the API server isn't ready after {START:?}"))
    }
}

async fn client(port: u16) -> Result<Client, String> {
    let address = format!("https://127.0.0.1:{port}").parse().map_err(|_| "no address".to_owned())?;
    let mut config = Config::new(address);
    config.accept_invalid_certs = true;
    config.auth_info.token = Some(TOKEN.to_owned().into());
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

fn server_arguments(folder: &Path, store: u16, port: u16) -> Result<Vec<String>, String> {
    let (tokens, key) = (folder.join("tokens.csv"), folder.join("accounts.key"));
    let pem = rcgen::KeyPair::generate().map_err(|cause| cause.to_string())?.serialize_pem();
    let tokens_text = format!("{TOKEN},administrator,administrator,system:masters\n");
    for (path, text) in [(&tokens, tokens_text), (&key, pem)] {
        std::fs::write(path, text).map_err(|cause| cause.to_string())?;
    }
    Ok(vec![
        format!("--etcd-servers=http://127.0.0.1:{store}"),
        format!("--cert-dir={}", folder.join("certificates").display()),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--token-auth-file={}", tokens.display()),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
        format!("--service-account-key-file={}", key.display()),
        format!("--service-account-signing-key-file={}", key.display()),
        "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--allow-privileged=true".to_owned(),
    ])
}
