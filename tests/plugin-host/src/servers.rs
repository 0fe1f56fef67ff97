//! Servers on loopback that do as a test says, bad ones among them, and a runtime that runs commands.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rcgen::KeyPair;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::{default_provider, sign::any_ecdsa_type};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use witlet_core::runtime::{ContainerId, ExecOutput};
use witlet_ports::{CommandRunner, RuntimeError};

use witlet_test_servers::answer_http;
pub(crate) use witlet_test_servers::{ClosedPort, RequestLog, Server, answer, read_head};

/// More kinds of servers.
pub(crate) trait ServerKinds: Sized {
    /// Closes every connection with a reset.
    async fn resetting() -> Self;

    /// Says this, and then nothing until the other side closes.
    async fn saying(words: &'static str) -> Self;

    /// Answers over TLS, with a certificate that isn't one.
    async fn https(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self;

    /// Answers each command of a conversation so, if it is this one; closes at any other.
    async fn conversing(script: &'static [(&'static [u8], &'static [u8])]) -> Self;
}

impl ServerKinds for Server {
    async fn resetting() -> Self {
        Self::new(|stream| async move { stream.set_zero_linger().expect("it is a socket") }).await
    }

    async fn saying(words: &'static str) -> Self {
        Self::new(move |mut stream| async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(words.as_bytes()).await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
        })
        .await
    }

    async fn https(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        let acceptor = acceptor();
        Self::new(move |stream| {
            let (acceptor, answer) = (acceptor.clone(), answer.clone());
            async move {
                if let Ok(tls) = acceptor.accept(stream).await {
                    answer_http(tls, answer).await;
                }
            }
        })
        .await
    }

    async fn conversing(script: &'static [(&'static [u8], &'static [u8])]) -> Self {
        Self::new(move |mut stream| async move {
            for (received, answer) in script {
                let mut bytes = vec![0; received.len()];
                if stream.read_exact(&mut bytes).await.is_err() || bytes != *received {
                    return;
                }
                let _ = stream.write_all(answer).await;
            }
            let _ = stream.read_to_end(&mut Vec::new()).await;
        })
        .await
    }
}

#[derive(Debug)]
struct OneKey(Arc<CertifiedKey>);

impl ResolvesServerCert for OneKey {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

fn acceptor() -> TlsAcceptor {
    let key = KeyPair::generate().expect("there is randomness");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let key = any_ecdsa_type(&key).expect("it is such a key");
    let certificate = CertificateDer::from(b"not a certificate".to_vec());
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has cipher suites for both versions of TLS")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(OneKey(Arc::new(CertifiedKey::new(vec![certificate], key)))));
    TlsAcceptor::from(Arc::new(config))
}

/// How a command in a container ends; none if it never does.
type Ran = Option<Result<ExecOutput, RuntimeError>>;

/// A runtime that has nothing but commands, which end as this says.
pub(crate) struct Runs(pub(crate) fn(&ContainerId, &[String], Option<Duration>) -> Ran);

impl Runs {
    /// In the container `a1`, commands by the names of how they end.
    pub(crate) const BY_NAME: Self = Self(by_name);
}

fn by_name(id: &ContainerId, command: &[String], timeout: Option<Duration>) -> Ran {
    assert_eq!(id.as_str(), "a1");
    let limit = timeout.expect("a probe's command has a limit");
    let output = |exit_code, stdout: &str, stderr: &str| {
        Ok(ExecOutput { stdout: stdout.into(), stderr: stderr.into(), exit_code })
    };
    Some(match command[0].as_str() {
        "true" => output(0, "out", "err"),
        "false" => output(1, "", "no such file"),
        "killed" => output(137, &"x".repeat(50_000), "never seen"),
        "late" => Err(RuntimeError::DeadlineExceeded { call: "ExecSync", limit }),
        "stuck" => return None,
        _ => Err(RuntimeError::NotFound { call: "ExecSync", message: "container a1".to_owned() }),
    })
}

#[async_trait]
impl CommandRunner for Runs {
    async fn exec_sync(
        &self,
        id: &ContainerId,
        command: &[String],
        timeout: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        match self.0(id, command, timeout) {
            Some(ran) => ran,
            None => std::future::pending().await,
        }
    }
}
