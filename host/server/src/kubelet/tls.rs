//! The server's certificate and the CA of clients': from files that may change, or made here.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;
use witlet_ports::Clock;

use super::access::Certificate;

mod client;
mod self_signed;
#[cfg(test)]
mod tests;

/// How often the files are checked.
const POLL_INTERVAL: Duration = Duration::from_secs(30);

/// Bytes of the largest file that is read: more than a thousand certificates.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Why the server can't speak TLS.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file can't be read or written.
    #[error("{action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A file doesn't hold what it should.
    #[error("{}: {message}", path.display())]
    Malformed {
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A certificate can't be made.
    #[error("failed to make a certificate for {name}: {message}")]
    Make {
        /// Whom it is for.
        name: String,
        message: String,
    },
    /// Certificate and key don't work together.
    #[error("failed to use the certificate {} with the key {}", certificate.display(), key.display())]
    Unusable {
        certificate: PathBuf,
        key: PathBuf,
        #[source]
        cause: rustls::Error,
    },
}

/// Where the certificates are.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// `tlsCertFile` and `tlsPrivateKeyFile`. If none are given, `kubelet.crt` and `kubelet.key` in `cert_dir`, which are made if
    /// they aren't there or have expired, and signed by a CA that no one has.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// `authentication.x509.clientCAFile`: who signs the certificates of clients. If none is given, none counts.
    pub client_ca: Option<PathBuf>,
    pub cert_dir: PathBuf,
    /// The node, which a certificate that is made here is for.
    pub node_name: String,
    /// Other names and addresses that such a certificate is for.
    pub alternative_names: Vec<String>,
    /// Whether TLS 1.2 is refused (`tlsMinVersion: VersionTLS13`).
    pub only_tls13: bool,
}

/// The server's side of TLS, always as the files have it.
pub struct ServerTls {
    options: TlsOptions,
    clock: Arc<dyn Clock>,
    /// Where the server's certificate and key are.
    files: (PathBuf, PathBuf),
    current: RwLock<Loaded>,
}

/// What the files held.
#[derive(Clone)]
struct Loaded {
    config: Arc<ServerConfig>,
    clients: Option<Arc<dyn ClientCertVerifier>>,
    /// How often the files were read before.
    generation: u64,
    stamps: Vec<Option<Stamp>>,
}

/// Tells that a file is another one now.
type Stamp = (u64, u64, i64, i64, u64);

impl ServerTls {
    /// Reads the files, or makes a certificate. Waits for the disk: for the start of a program.
    ///
    /// # Errors
    /// The files can't be used, or no certificate can be made.
    pub fn open(options: TlsOptions, clock: Arc<dyn Clock>) -> Result<Arc<Self>, TlsError> {
        let files = match &options.certificate {
            Some(files) => files.clone(),
            None => self_signed::ensure(&options, clock.now())?,
        };
        let loaded = load(&options, &files)?;
        Ok(Arc::new(Self { options, clock, files, current: RwLock::new(loaded) }))
    }

    /// Checks again and again whether the files changed. What can't be used is reported and not used.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            let this = self.clone();
            match tokio::task::spawn_blocking(move || this.reload()).await {
                Ok(Ok(false)) => {}
                Ok(Ok(true)) => tracing::info!("Reloaded server certificates"),
                Ok(Err(error)) => {
                    let error = one_line(&error);
                    tracing::warn!(error, "Failed to reload server certificates, using the last ones");
                }
                Err(error) => tracing::warn!(%error, "Failed to check server certificates"),
            }
        }
    }

    /// Reads the files if they changed, and says whether they did.
    fn reload(&self) -> Result<bool, TlsError> {
        if self.options.certificate.is_none() {
            self_signed::ensure(&self.options, self.clock.now())?;
        }
        if stamps(&self.options, &self.files) == self.current().stamps {
            return Ok(false);
        }
        let mut loaded = load(&self.options, &self.files)?;
        loaded.generation = self.generation() + 1;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(true)
    }

    fn current(&self) -> Loaded {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// One more each time that other files count.
    fn generation(&self) -> u64 {
        self.current.read().unwrap_or_else(PoisonError::into_inner).generation
    }

    /// What a new connection is made with.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.current().config
    }

    /// What the certificates say that a client showed and has the key of.
    pub(super) fn certificate(&self, shown: Option<&[CertificateDer<'_>]>) -> Certificate {
        let Some([own, between @ ..]) = shown else { return Certificate::None };
        let Some(clients) = self.current().clients else { return Certificate::None };
        let seconds = u64::try_from(self.clock.now().as_second()).unwrap_or(0);
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        match clients.verify_client_cert(own, between, now) {
            Ok(_) => {
                client::identity(own).map_or(Certificate::Refused, |(who, until)| Certificate::Of(who, until))
            }
            Err(error) => {
                tracing::debug!(%error, "Rejected client certificate");
                Certificate::Refused
            }
        }
    }
}

/// What a client showed when it connected, judged by the authorities of now: one that was taken away counts no more for the next
/// request, also on a connection that goes on.
pub(crate) struct Shown {
    tls: Arc<ServerTls>,
    chain: Option<Vec<CertificateDer<'static>>>,
    judged: Mutex<(u64, Certificate)>,
}

impl Shown {
    pub(crate) fn new(tls: Arc<ServerTls>, chain: Option<&[CertificateDer<'_>]>) -> Self {
        let chain = chain.map(|chain| chain.iter().map(|one| one.clone().into_owned()).collect::<Vec<_>>());
        let generation = tls.generation();
        let certificate = tls.certificate(chain.as_deref());
        Self { tls, chain, judged: Mutex::new((generation, certificate)) }
    }

    /// Whether the authorities count it now.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.certificate(), Certificate::Of(_, until) if self.tls.clock.now() <= until)
    }

    /// What it says now.
    pub(super) fn certificate(&self) -> Certificate {
        // Read first: what changes meanwhile is judged with the next request.
        let generation = self.tls.generation();
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        if judged.0 != generation {
            *judged = (generation, self.tls.certificate(self.chain.as_deref()));
        }
        judged.1.clone()
    }
}

fn stamps(options: &TlsOptions, files: &(PathBuf, PathBuf)) -> Vec<Option<Stamp>> {
    let stamp = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        Some((found.dev(), found.ino(), found.mtime(), found.mtime_nsec(), found.len()))
    };
    [Some(&files.0), Some(&files.1), options.client_ca.as_ref()]
        .into_iter()
        .flatten()
        .map(|p| stamp(p))
        .collect()
}

fn load(options: &TlsOptions, files: &(PathBuf, PathBuf)) -> Result<Loaded, TlsError> {
    // Checked first: what changes meanwhile is read again.
    let stamps = stamps(options, files);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let (certificate, key) = files;
    let chain = certificates(certificate)?;
    let malformed = |path: &Path, message: String| TlsError::Malformed { path: path.to_owned(), message };
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|error| malformed(key, format!("invalid private key: {error}")))?;
    let clients = match &options.client_ca {
        None => None,
        Some(path) => {
            let mut roots = rustls::RootCertStore::empty();
            for root in certificates(path)? {
                roots.add(root).map_err(|error| malformed(path, error.to_string()))?;
            }
            let built = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone()).build();
            Some(built.map_err(|error| malformed(path, error.to_string()))?)
        }
    };
    let unusable = |cause| TlsError::Unusable { certificate: certificate.clone(), key: key.clone(), cause };
    let versions: &[&rustls::SupportedProtocolVersion] =
        if options.only_tls13 { &[&rustls::version::TLS13] } else { rustls::ALL_VERSIONS };
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions);
    let builder = builder.map_err(unusable)?;
    let builder = match &clients {
        Some(clients) => builder.with_client_cert_verifier(Arc::new(client::AnyCertificate(clients.clone()))),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, secret).map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Loaded { config: Arc::new(config), clients, generation: 0, stamps })
}

/// The certificates of a file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let malformed = |message: String| TlsError::Malformed { path: path.to_owned(), message };
    let read = read.map_err(|error| malformed(error.to_string()))?;
    if read.is_empty() { Err(malformed("no PEM certificate found".to_owned())) } else { Ok(read) }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |cause| TlsError::Io { action: "read", path: path.to_owned(), cause };
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let message = format!("must have at most {FILE_BYTES_MAX} bytes");
        return Err(TlsError::Malformed { path: path.to_owned(), message });
    }
    Ok(bytes)
}
