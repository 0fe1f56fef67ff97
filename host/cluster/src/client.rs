//! The connection to the API server: credentials, TLS, deadlines, request rate.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, header};
use jiff::Timestamp;
use kube::Client;
use kube::client::ConfigExt as _;
use rustls::pki_types::ServerName;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tower::ServiceBuilder;
use witlet_ports::{Clock, Jitter, MetricsSource, Tracer};

use crate::kubeconfig::{self, KubeconfigError, Source, Target, kubeconfig_of};
use crate::rotation::Rotation;
use crate::rotation::store::{CertificateStore, StoreError, write_whole};

pub(crate) mod credentials;
mod dial;
pub(crate) mod exec;
mod files;
pub(crate) mod identity;
pub(crate) mod metrics;
pub(crate) mod proxy;
pub(crate) mod rate;
mod requests;
mod spans;
mod tls;
mod transport;

pub use credentials::CredentialsError;
pub use exec::PluginError;
pub use identity::IdentityError;
pub use requests::RequestError;
pub use tls::TlsError;
pub use transport::TransportError;

use credentials::Credentials;
use identity::{Identities, Identity};
use metrics::{ClientMetrics, ConnectionMetrics};
use proxy::Environment;
use rate::Rate;
pub(crate) use requests::OneTry;
use requests::{Policy, Requests};
use tls::Authorities;
use transport::{Endpoint, Transport};

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

/// How long one try of an ordinary request may take. API servers give up after as long.
const REQUEST_MAX: Duration = Duration::from_secs(60);

/// How to reach the API server, and as whom.
pub struct ConnectOptions {
    /// `--kubeconfig`. Written by a bootstrap if it isn't there.
    pub kubeconfig: PathBuf,
    /// `--bootstrap-kubeconfig`: used as long as there is no client certificate that works.
    pub bootstrap_kubeconfig: Option<PathBuf>,
    /// `--cert-dir`: where client certificates are kept.
    pub cert_dir: PathBuf,
    /// The node's name, for which certificates are made.
    pub node_name: String,
    /// `rotateCertificates`: a client certificate is renewed before it ends. Other credentials renew themselves.
    pub rotate: bool,
    /// What requests say about their sender.
    pub user_agent: String,
    /// `kubeAPIQPS`: requests in a second, watches not counted. Zero or less is no limit.
    pub qps: f64,
    /// `kubeAPIBurst`: how many may come at once.
    pub burst: u32,
    pub clock: Arc<dyn Clock>,
    pub jitter: Arc<dyn Jitter>,
    /// Whose spans requests are.
    pub tracer: Tracer,
}

/// There is no way to the API server as the options have it.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// A kubeconfig can't be used.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// The client certificate that a kubeconfig names can't be used.
    #[error("kubeconfig {}: {cause}", path.display())]
    Identity { path: PathBuf, cause: IdentityError },
    /// TLS can't be set up.
    #[error("kubeconfig {}: {cause}", path.display())]
    Tls { path: PathBuf, cause: TlsError },
    /// What is shown in requests can't be shown.
    #[error("kubeconfig {}: {cause}", path.display())]
    Credentials { path: PathBuf, cause: CredentialsError },
    /// A header or the server's name can't be used.
    #[error("kubeconfig {}: {message}", path.display())]
    Value { path: PathBuf, message: String },
    /// Certificates can't be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One API server and one user, and what is open to it.
struct Link {
    /// The kubeconfig, for messages.
    path: PathBuf,
    target: Target,
    user_agent: HeaderValue,
    transport: Arc<Transport>,
    credentials: Arc<Credentials>,
    identities: Arc<Identities>,
    /// What the server is trusted by, if not by the system's authorities.
    authorities: Option<Arc<Authorities>>,
    metrics: Arc<ClientMetrics>,
    tracer: Tracer,
}

impl Link {
    fn open(
        path: PathBuf,
        target: Target,
        identities: Arc<Identities>,
        options: &ConnectOptions,
        metrics: Arc<ClientMetrics>,
    ) -> Result<Self, ConnectError> {
        let bad = |message: String| ConnectError::Value { path: path.clone(), message };
        let user_agent =
            HeaderValue::try_from(&options.user_agent).map_err(|error| bad(error.to_string()))?;
        let host = target.server.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let secure = target.server.scheme_str() == Some("https");
        let mut authorities = None;
        if secure && !target.insecure {
            let pem = target.authorities.as_ref().map(Source::read).transpose()?;
            let trusted = Authorities::new(pem);
            let trusted = trusted.map_err(|cause| ConnectError::Tls { path: path.clone(), cause })?;
            authorities = Some(Arc::new(trusted));
        }
        let tls = if secure {
            let config = tls::client_config(authorities.clone(), identities.clone());
            let config = config.map_err(|cause| ConnectError::Tls { path: path.clone(), cause })?;
            let name = target.tls_server_name.clone().unwrap_or_else(|| host.clone());
            let name =
                ServerName::try_from(name.clone()).map_err(|error| bad(format!("{name:?}: {error}")))?;
            Some((Arc::new(config), name))
        } else {
            None
        };
        let port = target.server.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let proxy = proxy::choose(&target.server, target.proxy_url.as_deref(), &Environment::of_process());
        let proxy = proxy.map_err(bad)?;
        if let Some(proxy) = &proxy {
            tracing::info!(server = %target.server, %proxy, "Using a proxy for the API server");
        }
        let transport = Arc::new(Transport::new(Endpoint { host, port, tls, proxy }, identities.clone()));
        let credentials = Credentials::new(target.user.clone(), identities.clone(), options.clock.clone());
        let credentials =
            credentials.map_err(|cause| ConnectError::Credentials { path: path.clone(), cause })?;
        let credentials = Arc::new(credentials.with_metrics(metrics.clone()));
        let tracer = options.tracer.clone();
        Ok(Self {
            path,
            target,
            user_agent,
            transport,
            credentials,
            identities,
            authorities,
            metrics,
            tracer,
        })
    }

    fn client(&self, policy: Policy) -> Result<Client, ConnectError> {
        let mut config = kube::Config::new(self.target.server.clone());
        config.auth_info.clone_from(&self.target.impersonation);
        config.headers.push((header::USER_AGENT, self.user_agent.clone()));
        let extra = config.extra_headers_layer();
        let extra = extra
            .map_err(|error| ConnectError::Value { path: self.path.clone(), message: error.to_string() })?;
        let requests = Requests {
            transport: self.transport.clone(),
            credentials: self.credentials.clone(),
            identities: self.identities.clone(),
            policy: Arc::new(policy),
            metrics: self.metrics.clone(),
            tracer: self.tracer.clone(),
        };
        let service = ServiceBuilder::new().layer(config.base_uri_layer()).layer(extra).service(requests);
        Ok(Client::new(service, self.target.namespace.clone()))
    }
}

/// Where a connection begins.
struct ConnectionStart {
    path: PathBuf,
    target: Target,
    identity: Option<Identity>,
    /// The identity isn't of the certificate store, and is replaced at once if certificates are rotated.
    foreign: bool,
    /// A bootstrap is needed, and what it writes to the kubeconfig's place.
    kubeconfig: Option<(PathBuf, String)>,
}

/// The way to the API server. Requests can be made as soon as it is open; while a bootstrap goes on they wait for its
/// certificate, and fail when their deadline comes first.
pub struct Connection {
    link: Link,
    client: Client,
    bootstrap: Option<Link>,
    own: Client,
    options: ConnectOptions,
    needs_certificate: bool,
    foreign: bool,
    kubeconfig: Option<(PathBuf, String)>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("server", &self.link.target.server).finish_non_exhaustive()
    }
}

impl Connection {
    /// Reads what the options name, and connects to no one yet. An existing kubeconfig that can be used goes before a
    /// bootstrap; one whose client certificate ended doesn't, as upstream has it.
    ///
    /// # Errors
    /// What is wrong, with the file and the field that it is in.
    pub fn open(options: ConnectOptions) -> Result<Self, ConnectError> {
        let now = options.clock.now();
        let store = CertificateStore::new(options.cert_dir.clone());
        let bootstrap =
            match options.bootstrap_kubeconfig.as_ref().filter(|path| !path.as_os_str().is_empty()) {
                None => None,
                Some(path) if path.exists() => Some((path.clone(), kubeconfig::load(path)?)),
                // The token's file is often deleted once the node has its certificate.
                Some(path) => {
                    tracing::info!(path = %path.display(), "No bootstrap kubeconfig");
                    None
                }
            };
        let beginning = begin(&options, &store, bootstrap.as_ref(), now)?;
        let ConnectionStart { path, target, identity, foreign, kubeconfig } = beginning;
        let needs_certificate = kubeconfig.is_some();
        let identities = Arc::new(Identities::new(identity));
        let metrics = Arc::<ClientMetrics>::default();
        let link = Link::open(path, target, identities, &options, metrics.clone())?;
        let bootstrap = match bootstrap {
            None => None,
            Some((path, target)) => {
                let identity =
                    target.certificate.as_ref().map(|pair| identity_of(&path, pair)).transpose()?;
                let identities = Arc::new(Identities::new(identity));
                Some(Link::open(path, target, identities, &options, metrics)?)
            }
        };
        let rate = Rate::new(options.qps, options.burst);
        let client = link.client(Policy { rate, deadline: REQUEST_MAX, needs_certificate })?;
        let own = link.client(Policy { rate: None, deadline: REQUEST_MAX, needs_certificate: false })?;
        Ok(Self { link, client, bootstrap, own, options, needs_certificate, foreign, kubeconfig })
    }

    /// Returns a client for everything: clones share one request rate.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// For heartbeats, which no request rate delays: leases and the node's status. Each try of a request takes at most
    /// `deadline`, which upstream makes the shorter one of the node status period and the lease's duration.
    ///
    /// # Errors
    /// None that [`Self::open`] didn't have.
    pub fn heartbeats(&self, deadline: Duration) -> Result<Client, ConnectError> {
        let needs_certificate = self.needs_certificate;
        self.link.client(Policy { rate: None, deadline, needs_certificate })
    }

    /// For events, with a rate of their own: `eventRecordQPS` and `eventBurst`. Zero or less is no limit.
    ///
    /// # Errors
    /// None that [`Self::open`] didn't have.
    pub fn events(&self, qps: f64, burst: u32) -> Result<Client, ConnectError> {
        self.with_own_rate(qps, burst)
    }

    /// For reviews of who asks this node's endpoints for what, with a rate of their own: unauthenticated clients decide how many there are,
    /// and must not hold up the node's own requests. Zero or less is no limit.
    ///
    /// # Errors
    /// None that [`Self::open`] didn't have.
    pub fn reviews(&self, qps: f64, burst: u32) -> Result<Client, ConnectError> {
        self.with_own_rate(qps, burst)
    }

    fn with_own_rate(&self, qps: f64, burst: u32) -> Result<Client, ConnectError> {
        let rate = Rate::new(qps, burst);
        let needs_certificate = self.needs_certificate;
        self.link.client(Policy { rate, deadline: REQUEST_MAX, needs_certificate })
    }

    /// Returns what is counted of its requests and its certificate.
    pub fn metrics(&self) -> Arc<dyn MetricsSource> {
        Arc::new(ConnectionMetrics {
            client: self.link.metrics.clone(),
            identities: self.link.identities.clone(),
            clock: self.options.clock.clone(),
        })
    }

    /// Returns when there are credentials to make requests with; at once unless a bootstrap is needed.
    pub async fn ready(&self) {
        if self.needs_certificate {
            self.link.identities.some().await;
        }
    }

    /// Keeps the client certificate valid: bootstrap, rotation, files that change. Returns when stopped.
    pub async fn run(&self, stop: CancellationToken) {
        let renewal = async {
            match self.rotation() {
                Ok(Some(rotation)) => rotation.run(&stop).await,
                Ok(None) => stop.cancelled().await,
                Err(error) => {
                    tracing::error!(%error, "Client certificate is not renewed");
                    stop.cancelled().await;
                }
            }
        };
        let files = async {
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.watch_files() => {}
            }
        };
        tokio::join!(renewal, files);
    }

    fn manages_certificate(&self) -> bool {
        self.needs_certificate || self.options.rotate && self.link.target.certificate.is_some()
    }

    fn rotation(&self) -> Result<Option<Rotation>, ConnectError> {
        if !self.manages_certificate() {
            return Ok(None);
        }
        let policy = || Policy { rate: None, deadline: REQUEST_MAX, needs_certificate: false };
        let bootstrap = self.bootstrap.as_ref().map(|link| link.client(policy())).transpose()?;
        Ok(Some(Rotation {
            node_name: self.options.node_name.clone(),
            store: CertificateStore::new(self.options.cert_dir.clone()),
            identities: self.link.identities.clone(),
            own: self.own.clone(),
            bootstrap,
            rotate: self.options.rotate,
            replace_first: self.foreign && self.options.rotate,
            kubeconfig: self.kubeconfig.clone(),
            clock: self.options.clock.clone(),
            jitter: self.options.jitter.clone(),
            metrics: self.link.metrics.clone(),
        }))
    }
}

fn identity_of(path: &std::path::Path, (chain, key): &(Source, Source)) -> Result<Identity, ConnectError> {
    let identity = Identity::parse(&chain.read()?, &key.read()?);
    identity.map_err(|cause| ConnectError::Identity { path: path.to_owned(), cause })
}

/// The kubeconfig if it can be used, else the bootstrap's server with a certificate that is there or will be.
fn begin(
    options: &ConnectOptions,
    store: &CertificateStore,
    bootstrap: Option<&(PathBuf, Target)>,
    now: Timestamp,
) -> Result<ConnectionStart, ConnectError> {
    let kept = store.current().unwrap_or_else(|error| {
        tracing::warn!(%error, "Failed to load client certificate");
        None
    });
    let kept = kept.filter(|identity| identity.is_valid(now));
    let path = options.kubeconfig.clone();
    let given = given(options, kept.clone());
    let ended = |identity: &Identity| identity.not_after <= now;
    let Some((_, target)) = bootstrap else {
        if given.as_ref().is_ok_and(|given| given.identity.as_ref().is_some_and(ended)) {
            tracing::error!("Client certificate has expired, and there is no bootstrap kubeconfig");
        }
        return given;
    };
    match given {
        Ok(given) if !given.identity.as_ref().is_some_and(ended) => return Ok(given),
        Ok(_) => tracing::info!("Client certificate has expired, requesting another one"),
        Err(error) => tracing::info!(%error, "Requesting client certificate"),
    }
    let target = Target { user: kubeconfig::User::Anonymous, certificate: None, ..target.clone() };
    let text = kubeconfig_of(&target, &store.current_path())
        .map_err(|message| ConnectError::Value { path: path.clone(), message })?;
    if kept.is_some() {
        // A kill came between the certificate and the file that points to it.
        write_whole(&path, text.as_bytes())?;
    }
    Ok(ConnectionStart {
        path: path.clone(),
        target,
        identity: kept,
        foreign: false,
        kubeconfig: Some((path, text)),
    })
}

/// The kubeconfig as it is, its client certificate ended or not.
fn given(options: &ConnectOptions, kept: Option<Identity>) -> Result<ConnectionStart, ConnectError> {
    let path = options.kubeconfig.clone();
    let target = kubeconfig::load(&path)?;
    let (identity, foreign) = match (&target.certificate, kept.filter(|_| options.rotate)) {
        (None, _) => (None, false),
        // Rotation puts new certificates into the store, and the kubeconfig may still have the first one.
        (Some(_), Some(kept)) => (Some(kept), false),
        (Some(pair), None) => (Some(identity_of(&path, pair)?), true),
    };
    Ok(ConnectionStart { path, target, identity, foreign, kubeconfig: None })
}
