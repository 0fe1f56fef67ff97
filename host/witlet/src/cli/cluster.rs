//! `witlet run`: the cluster that the node is part of, and the endpoints for it.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

/// `witlet run`: a node of a cluster.
#[derive(Debug, Args)]
#[command(next_help_heading = "A node of a cluster")]
pub(crate) struct ClusterArgs {
    /// How to reach the API server; without it the node stands alone
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// How to ask the API server for a certificate while there is none; --kubeconfig is written from it
    #[arg(long, value_name = "FILE", requires = "kubeconfig")]
    pub(crate) bootstrap_kubeconfig: Option<PathBuf>,
    /// Folder for the node's certificates; `pki` in --root-dir if not given
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cert_dir: Option<PathBuf>,
    /// Renew the client certificate before it ends
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", requires = "kubeconfig")]
    pub(crate) rotate_certificates: bool,
    /// Make the node's object; without it somebody else has to
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", requires = "kubeconfig")]
    pub(crate) register_node: bool,
    /// Taints that the node is registered with
    #[arg(long, value_name = "KEY=VALUE:EFFECT,…", value_delimiter = ',', requires = "kubeconfig")]
    pub(crate) register_with_taints: Vec<String>,
    /// Address of the node, or one of each family; the machine's own if not given
    #[arg(long, value_name = "IP,…", value_delimiter = ',')]
    pub(crate) node_ip: Vec<IpAddr>,
    /// What the cloud calls this machine
    #[arg(long, value_name = "ID", requires = "kubeconfig")]
    pub(crate) provider_id: Option<String>,
    /// Requests a second to the API server, heartbeats and watches not counted; 0 is no limit
    #[arg(long, value_name = "NUMBER", default_value_t = 50, requires = "kubeconfig")]
    pub(crate) kube_api_qps: u16,
    /// Requests at once after a while without any
    #[arg(long, value_name = "NUMBER", default_value_t = 100, requires = "kubeconfig")]
    pub(crate) kube_api_burst: u16,
    /// Port of the endpoints for the API server and kubectl, with TLS; 10250 with --kubeconfig, off without, 0 is off
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Address of these endpoints
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub(crate) address: IpAddr,
    /// Port of /healthz on 127.0.0.1; 10248 with --kubeconfig, off without, 0 is off
    #[arg(long, value_name = "PORT")]
    pub(crate) healthz_port: Option<u16>,
    /// Certificate of the endpoints; one is made in --cert-dir if not given
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub(crate) tls_cert_file: Option<PathBuf>,
    /// Key of --tls-cert-file
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub(crate) tls_private_key_file: Option<PathBuf>,
    /// Authorities whose client certificates count at the endpoints
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca_file: Option<PathBuf>,
}
