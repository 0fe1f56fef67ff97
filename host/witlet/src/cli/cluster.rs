//! `witlet run`: the cluster that the node is part of, and the endpoints for it.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

/// `witlet run`: a node of a cluster.
#[derive(Debug, Args)]
#[command(next_help_heading = "A node of a cluster")]
pub(crate) struct ClusterArgs {
    /// Kubeconfig for the API server; without it the node runs by itself
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Kubeconfig for requesting a client certificate; the result is written to --kubeconfig
    #[arg(long, value_name = "FILE", requires = "kubeconfig")]
    pub(crate) bootstrap_kubeconfig: Option<PathBuf>,
    /// Folder for the node's certificates (default: `pki` in --root-dir)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cert_dir: Option<PathBuf>,
    /// Renew the client certificate before it expires
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", requires = "kubeconfig")]
    pub(crate) rotate_certificates: bool,
    /// Register the node with the API server
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", requires = "kubeconfig")]
    pub(crate) register_node: bool,
    /// Taints to register the node with
    #[arg(long, value_name = "KEY=VALUE:EFFECT,…", value_delimiter = ',', requires = "kubeconfig")]
    pub(crate) register_with_taints: Vec<String>,
    /// IP address of the node, or one of each family (default: the machine's address)
    #[arg(long, value_name = "IP,…", value_delimiter = ',')]
    pub(crate) node_ip: Vec<IpAddr>,
    /// Identifier of the machine at the cloud provider
    #[arg(long, value_name = "ID", requires = "kubeconfig")]
    pub(crate) provider_id: Option<String>,
    /// Requests per second to the API server, without heartbeats and watches; 0 for no limit
    #[arg(long, value_name = "NUMBER", default_value_t = 50, requires = "kubeconfig")]
    pub(crate) kube_api_qps: u16,
    /// Maximum burst of requests to the API server
    #[arg(long, value_name = "NUMBER", default_value_t = 100, requires = "kubeconfig")]
    pub(crate) kube_api_burst: u16,
    /// TLS port for the API server and kubectl; 0 for none (default: 10250 with --kubeconfig, otherwise none)
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Address for --port
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub(crate) address: IpAddr,
    /// Port for /healthz on 127.0.0.1; 0 for none (default: 10248 with --kubeconfig, otherwise none)
    #[arg(long, value_name = "PORT")]
    pub(crate) healthz_port: Option<u16>,
    /// TLS certificate for --port (default: a self-signed one in --cert-dir)
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub(crate) tls_cert_file: Option<PathBuf>,
    /// Private key of --tls-cert-file
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub(crate) tls_private_key_file: Option<PathBuf>,
    /// CA certificates for client certificates at --port
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca_file: Option<PathBuf>,
}
