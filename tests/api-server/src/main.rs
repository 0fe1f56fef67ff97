//! The API server as a program, for benchmarks and tests of whole daemons.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a program whose first line of output is its address")]

use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{Admission, ApiServer, Identity, Options, Security};

/// Life of the client certificates that are written.
const CERTIFICATE_LIFE: SignedDuration = SignedDuration::from_hours(24 * 30);

/// A small Kubernetes API server in memory.
#[derive(Parser)]
struct Arguments {
    /// Address to listen on; port 0 takes any free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Print the address as the first line.
    #[arg(long)]
    print_address: bool,
    /// Use TLS, and write the authority (ca.crt) and kubeconfigs (admin.kubeconfig, and NODE.kubeconfig for each --node) into this
    /// folder. Without TLS all clients may do everything.
    #[arg(long)]
    credentials: Option<PathBuf>,
    /// A node to write a kubeconfig for; may be repeated.
    #[arg(long)]
    node: Vec<String>,
    /// A bearer token and its owner, as TOKEN=USER or TOKEN=USER,GROUP,…; may be repeated.
    #[arg(long)]
    token: Vec<String>,
    /// Give pods accounts and token volumes.
    #[arg(long)]
    service_accounts: bool,
    /// Limit nodes to what upstream's Node authorizer and NodeRestriction allow.
    #[arg(long)]
    node_rules: bool,
    /// Approve and sign the certificate requests of nodes.
    #[arg(long)]
    sign_requests: bool,
    /// Changes of each resource that a watch can be resumed over.
    #[arg(long, default_value_t = 10_000)]
    history: usize,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let server = ApiServer::new(options(&arguments));
    for token in &arguments.token {
        let (token, owner) = token.split_once('=').ok_or("--token takes TOKEN=USER[,GROUP…]")?;
        let mut names = owner.split(',');
        let user = names.next().unwrap_or_default();
        server.add_token(token, Identity::new(user, &names.collect::<Vec<_>>()));
    }
    let listener = TcpListener::bind(arguments.listen).await?;
    let address = listener.local_addr()?;
    let security = match &arguments.credentials {
        Some(folder) => {
            write_credentials(&server, folder, &arguments.node, address)?;
            Security::Tls
        }
        None => Security::Plain(Identity::admin()),
    };
    if arguments.print_address {
        let scheme = if arguments.credentials.is_some() { "https" } else { "http" };
        println!("{scheme}://{address}");
    }
    let stop = CancellationToken::new();
    let serving = server.serve(listener, security, stop.clone());
    tokio::select! {
        served = serving => served?,
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    Ok(())
}

fn options(arguments: &Arguments) -> Options {
    #[allow(clippy::disallowed_methods, reason = "the program's own clock, at its rim")]
    let clock = Arc::new(Timestamp::now);
    Options {
        history_max: arguments.history,
        // Other UIDs in each run: an agent may outlive the server.
        seed: RandomState::new().hash_one(std::process::id()),
        admission: Admission {
            service_accounts: arguments.service_accounts,
            node_rules: arguments.node_rules,
            sign_requests: arguments.sign_requests,
        },
        ..Options::new(clock)
    }
}

fn write_credentials(
    server: &ApiServer,
    folder: &Path,
    nodes: &[String],
    address: SocketAddr,
) -> Result<(), Box<dyn Error>> {
    use base64::Engine;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("ca.crt"), server.ca_pem())?;
    let users = nodes.iter().map(|node| (node.clone(), Identity::node(node)));
    for (name, who) in users.chain([("admin".to_owned(), Identity::admin())]) {
        let issued = server.client_certificate(&who, CERTIFICATE_LIFE)?;
        let user = json!({
            "client-certificate-data": encode(&issued.certificate_pem),
            "client-key-data": encode(&issued.key_pem),
        });
        let text = server.kubeconfig(&format!("https://{address}"), &user);
        std::fs::write(folder.join(format!("{name}.kubeconfig")), text)?;
    }
    Ok(())
}
