//! A network namespace with servers on its loopback interface, and servers that speak TLS with those whom they know.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use witlet_harness::is_required;

use crate::probes_v0_2;
use crate::servers::Server;

/// What needs a network namespace: ignored on a machine that makes none, unless everything is required.
#[allow(clippy::print_stderr, reason = "says why nothing ran, as a test may")]
pub(crate) fn trials(arguments: &Arguments) -> Vec<Trial> {
    let makes_some = OwnNetwork::new().is_some();
    if !makes_some && !arguments.list {
        eprintln!("SKIPPED: the loopback interface of a pod: this machine makes no network namespaces");
    }
    let name = "a_probe_type_reaches_the_loopback_interface_of_its_pod";
    let test = Trial::test(name, || {
        crate::run(|| Box::pin(probes_v0_2::a_probe_type_reaches_the_loopback_interface_of_its_pod()))
    });
    vec![test.with_ignored_flag(!makes_some && !is_required())]
}

/// A process in a network of its own, as a pod's.
pub(crate) struct OwnNetwork {
    child: Child,
}

impl OwnNetwork {
    /// None where no one may make one.
    pub(crate) fn new() -> Option<Self> {
        let script = "ip link set lo up && echo up && exec cat";
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut network = Self { child: command.stderr(Stdio::null()).spawn().ok()? };
        let mut said = String::new();
        BufReader::new(network.child.stdout.take()?).read_line(&mut said).ok()?;
        (said == "up\n").then_some(network)
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// A server on its loopback interface that says back to one client what it says. Its port.
    pub(crate) fn echo(&self) -> u16 {
        let namespace = File::open(format!("/proc/{}/ns/net", self.process())).expect("it runs");
        let listening = std::thread::spawn(move || {
            // Only this thread moves, and it ends here.
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).expect("it may");
            TcpListener::bind("127.0.0.1:0").expect("loopback has a port")
        });
        let listener = listening.join().expect("it binds");
        let port = listener.local_addr().expect("it is bound").port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client comes");
            let mut said = Vec::new();
            stream.read_to_end(&mut said).expect("the client speaks");
            stream.write_all(&said).expect("the client listens");
            // The client may have gone once it had what it needed.
            let _ = stream.shutdown(Shutdown::Both);
        });
        port
    }
}

impl Drop for OwnNetwork {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An authority, a server of it, and a client that it vouches for, too: files of a plugin's secrets.
pub(crate) struct TlsFiles {
    folder: TempDir,
    config: Arc<ServerConfig>,
}

impl TlsFiles {
    pub(crate) fn new() -> Self {
        let key = || KeyPair::generate().expect("there is randomness");
        let authority_key = key();
        let mut params = CertificateParams::new([]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&authority_key).expect("a key of our own");
        let issuer = Issuer::new(params, authority_key);
        let signed = |name: &str| {
            let key = key();
            let params = CertificateParams::new([name.to_owned()]).expect("it is a name");
            (params.signed_by(&key, &issuer).expect("a key of our own"), key)
        };
        let ((server, server_key), (client, client_key)) = (signed("127.0.0.1"), signed("probe"));
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).expect("it is one");
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has cipher suites for both versions of TLS")
            .with_client_cert_verifier(verifier.build().expect("there is an authority"))
            .with_single_cert(vec![server.der().clone()], key)
            .expect("a key of our own");
        let folder = TempDir::new().expect("a folder");
        let client = client.pem() + &client_key.serialize_pem();
        for (name, text) in [("ca", authority.pem()), ("client", client)] {
            let file = folder.path().join(name);
            std::fs::write(&file, text).expect("the folder is writable");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
        }
        Self { folder, config: Arc::new(config) }
    }

    /// More entries of `secrets:`.
    pub(crate) fn secrets(&self) -> String {
        ["ca", "client"]
            .map(|name| format!("- {{name: {name}, file: {}}}\n", self.folder.path().join(name).display()))
            .concat()
    }

    /// A server that lets in whom the authority vouches for, and says back what it receives.
    pub(crate) async fn echo(&self) -> Server {
        let acceptor = TlsAcceptor::from(self.config.clone());
        Server::new(move |stream| {
            let acceptor = acceptor.clone();
            async move {
                let Ok(mut tls) = acceptor.accept(stream).await else { return };
                let mut said = Vec::new();
                if tls.read_to_end(&mut said).await.is_ok() {
                    // The client may have gone.
                    let _ = tls.write_all(&said).await;
                    let _ = tls.shutdown().await;
                }
            }
        })
        .await
    }
}
