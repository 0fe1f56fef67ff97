//! `witlet plugin serve`: the admission handlers of a plugin file as a validating admission webhook.

mod manifest;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_agent::EventLog;
use witlet_egress::Egress;
use witlet_node::{SystemClock, ThreadJitter};
use witlet_oci::RegistryError;
use witlet_server::webhook::{AdmissionWebhook, Clients};
use witlet_server::{ServerTls, TlsError, TlsOptions};
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::host::{DataConfig, PluginHost, PluginHostConfig, StartError};

use crate::bounded;
use crate::cli::ServeArgs;
use crate::output::{OutputError, print};
use crate::run::{plugins, signals};

/// Bytes of the largest file of authorities: more than API servers take in the configuration of a webhook.
const AUTHORITY_BYTES_MAX: u64 = 1 << 20;

/// Why nothing is served.
#[derive(Debug, Error)]
pub(crate) enum ServeError {
    /// A flag is missing that clap can't demand.
    #[error("{0}")]
    Usage(&'static str),
    /// There is no space for compiled plugins.
    #[error("failed to create a temporary folder for compiled plugins")]
    Scratch(#[source] std::io::Error),
    /// There is no space for components from registries.
    #[error(transparent)]
    Registries(#[from] RegistryError),
    /// The plugin file isn't taken.
    #[error(transparent)]
    Plugins(#[from] StartError),
    /// The certificate can't be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The address can't be listened on.
    #[error("failed to listen on {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        cause: std::io::Error,
    },
    /// The certificate for the API server can't be read.
    #[error("failed to read {}", path.display())]
    Authority {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The configuration of the API server couldn't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Serves until the process is asked to stop, or prints what the API server needs.
pub(crate) async fn run(args: &ServeArgs) -> Result<(), ServeError> {
    if let Some(target) = &args.print_webhook {
        let path = args.ca_file.as_ref().or(args.tls_cert_file.as_ref());
        let path = path.ok_or(ServeError::Usage("--print-webhook needs --ca-file or --tls-cert-file"))?;
        let authority = bounded::read(path, AUTHORITY_BYTES_MAX);
        let authority = authority.map_err(|cause| ServeError::Authority { path: path.clone(), cause })?;
        return Ok(print(&manifest::text(target, &authority)?)?);
    }
    let stop = CancellationToken::new();
    signals::stopping(serve(args, stop.clone()), stop).await
}

async fn serve(args: &ServeArgs, stop: CancellationToken) -> Result<(), ServeError> {
    let (Some(file), Some(certificate), Some(key)) =
        (&args.file, &args.tls_cert_file, &args.tls_private_key_file)
    else {
        return Err(ServeError::Usage("FILE, --tls-cert-file and --tls-private-key-file are required"));
    };
    let clock = Arc::new(SystemClock);
    let tls = ServerTls::open(
        TlsOptions {
            certificate: Some((certificate.clone(), key.clone())),
            client_ca: args.client_ca_file.clone(),
            cert_dir: PathBuf::new(),
            node_name: String::new(),
            alternative_names: Vec::new(),
            only_tls13: false,
        },
        clock.clone(),
    )?;
    let scratch = tempfile::tempdir().map_err(ServeError::Scratch)?;
    let credentials = args.registry_credentials.as_deref();
    let registries = plugins::registries(scratch.path().join("components"), credentials, Egress::system())?;
    let host = PluginHost::start(PluginHostConfig {
        tracer: witlet_ports::Tracer::off(),
        compiler: CompilerConfig::new(args.cache.or(scratch.path().join("plugins"))),
        plugins_file: Some(file.clone()),
        // What these judge, only the node knows.
        builtins: Vec::new(),
        shipped: plugins::shipped(),
        fetcher: Some(registries.clone()),
        containers: None,
        state_folder: Some(scratch.path().join("state")),
        last_good_folder: None,
        data: DataConfig {
            artifacts: Some(registries),
            jitter: Some(Arc::new(ThreadJitter)),
            ..DataConfig::default()
        },
        decision_log_folder: None,
        in_cluster: true,
        node: None,
        recorder: None,
        events: Arc::new(EventLog::new(clock.clone())),
        clock: clock.clone(),
    })
    .await?;
    let listening = TcpListener::bind(args.listen).await;
    let listener = listening.map_err(|cause| ServeError::Listen { address: args.listen, cause })?;
    if let Ok(address) = listener.local_addr() {
        tracing::info!(%address, plugins = %file.display(), "Started webhook");
    }
    let mut tasks = JoinSet::new();
    tasks.spawn(tls.clone().run(stop.clone()));
    let (admission, problems) = (host.admission(), host.clone());
    let not_ready = Box::new(move || Some(problems.problems().join("\n")).filter(|text| !text.is_empty()));
    let clients = if args.client_ca_file.is_some() { Clients::Known } else { Clients::Any };
    AdmissionWebhook::new(admission, clock, not_ready, clients).serve(listener, tls, stop).await;
    tasks.shutdown().await;
    tracing::info!("Stopped webhook");
    Ok(())
}
