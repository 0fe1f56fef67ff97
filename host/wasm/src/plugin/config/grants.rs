//! What a plugin may reach: nothing, unless its entry says so.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use witlet_egress::{NetworkGrant, TlsPolicy};

use super::document::{FileGrantDocument, GrantsDocument};
use super::{ConfigError, GRANTS_MAX, SecretEntry, check_count, field};
use witlet_core::error::one_line;

/// Where a plugin finds its own writable folder, if it is granted one.
pub const STATE_PATH: &str = "/state";

/// What a plugin may reach. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grants {
    /// Where its connections may go.
    pub network: Arc<[NetworkGrant]>,
    /// Names of secrets that it may read.
    pub secrets: BTreeSet<String>,
    /// Whether it may run commands in the container that it probes.
    pub exec: bool,
    /// Whether servers must prove who they are.
    pub tls: TlsPolicy,
    /// Secrets with certificate authorities that vouch for servers next to the node's.
    pub tls_authorities: Vec<String>,
    /// The secret with the certificates and the key that are shown to servers.
    pub tls_client_certificate: Option<String>,
    /// Folders of the node.
    pub files: Vec<FileGrant>,
    /// Whether it has a writable folder of its own at [`STATE_PATH`].
    pub state: bool,
}

impl Grants {
    /// Fields that grant something, as the configuration has them.
    pub fn names(&self) -> Vec<String> {
        let fields = [
            ("network", !self.network.is_empty()),
            ("secrets", !self.secrets.is_empty()),
            ("exec", self.exec),
            ("tls", self.tls != TlsPolicy::default()),
            ("tlsAuthorities", !self.tls_authorities.is_empty()),
            ("tlsClientCertificate", self.tls_client_certificate.is_some()),
            ("files", !self.files.is_empty()),
            ("state", self.state),
        ];
        fields.into_iter().filter(|(_, granted)| *granted).map(|(name, _)| name.to_owned()).collect()
    }
}

/// A folder of the node that a plugin sees, with all that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileGrant {
    /// On the node; absolute.
    pub path: PathBuf,
    /// Whether the plugin may only read.
    pub read_only: bool,
    /// What the plugin finds it as; absolute.
    pub guest_path: String,
}

/// Which roles an entry has that can wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roles {
    pub(super) probe: bool,
    pub(super) pod_source: bool,
}

pub(super) fn parse(
    mut document: GrantsDocument,
    roles: Roles,
    secrets: &[SecretEntry],
    path: &str,
) -> Result<Grants, ConfigError> {
    let path = format!("{path}.grants");
    let at = |name: &str| format!("{path}.{name}");
    check_count(&at("network"), document.network.len(), GRANTS_MAX)?;
    check_count(&at("secrets"), document.secrets.len(), GRANTS_MAX)?;
    check_count(&at("files"), document.files.len(), GRANTS_MAX)?;
    let waits = roles.probe || roles.pod_source;
    let given = [
        ("network", !document.network.is_empty(), waits, "a probe type or a pod source"),
        ("tls", document.tls.is_some(), waits, "a probe type or a pod source"),
        ("tlsAuthorities", !document.tls_authorities.is_empty(), waits, "a probe type or a pod source"),
        (
            "tlsClientCertificate",
            document.tls_client_certificate.is_some(),
            waits,
            "a probe type or a pod source",
        ),
        ("exec", document.exec, roles.probe, "a probe type"),
        ("files", !document.files.is_empty(), roles.pod_source, "a pod source"),
        ("state", document.state, roles.pod_source, "a pod source"),
    ];
    if let Some((name, _, _, who)) = given.iter().find(|(_, given, useful, _)| *given && !useful) {
        let problem = format!("only allowed for {who}: remove it");
        return field(&at(name), problem);
    }
    let network = network(&document.network, roles, &at("network"))?;
    let tls = match document.tls.as_deref() {
        None | Some("verify") => TlsPolicy::Verify,
        Some("insecure") => TlsPolicy::Insecure,
        Some(other) => {
            return field(&at("tls"), format!("must be `verify` or `insecure`, found {other:?}"));
        }
    };
    if document.tls.is_some() && network.is_empty() {
        return field(&at("tls"), "requires `network`: grant a network or remove it");
    }
    check_count(&at("tlsAuthorities"), document.tls_authorities.len(), GRANTS_MAX)?;
    if tls == TlsPolicy::Insecure && !document.tls_authorities.is_empty() {
        let problem = "has no effect with `tls: insecure`: remove one of them";
        return field(&at("tlsAuthorities"), problem);
    }
    let material = [
        ("tlsAuthorities", !document.tls_authorities.is_empty()),
        ("tlsClientCertificate", document.tls_client_certificate.is_some()),
    ];
    if let Some((name, _)) = material.iter().find(|(_, given)| *given && network.is_empty()) {
        return field(&at(name), "requires `network`: grant a network or remove it");
    }
    for (list, names) in [("secrets", &document.secrets), ("tlsAuthorities", &document.tls_authorities)] {
        for (index, name) in names.iter().enumerate() {
            check_secret(name, secrets, &format!("{path}.{list}[{index}]"))?;
        }
    }
    if let Some(name) = &document.tls_client_certificate {
        check_secret(name, secrets, &at("tlsClientCertificate"))?;
    }
    let files = files(std::mem::take(&mut document.files), document.state, &at("files"))?;
    let GrantsDocument { secrets, exec, state, tls_authorities, tls_client_certificate, .. } = document;
    let (network, secrets) = (network.into(), secrets.into_iter().collect());
    Ok(Grants { network, secrets, exec, tls, tls_authorities, tls_client_certificate, files, state })
}

fn check_secret(name: &str, secrets: &[SecretEntry], path: &str) -> Result<(), ConfigError> {
    if secrets.iter().any(|secret| secret.name == name) {
        return Ok(());
    }
    field(path, format!("{name:?} isn't among `secrets:` of the file: add it there with its file"))
}

fn network(texts: &[String], roles: Roles, path: &str) -> Result<Vec<NetworkGrant>, ConfigError> {
    let mut grants = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let grant: NetworkGrant = match text.parse() {
            Ok(grant) => grant,
            Err(error) => return field(&path, format!("{text:?}: {}", one_line(&error))),
        };
        let of_probes =
            matches!(grant, NetworkGrant::Pod | NetworkGrant::PodLoopback | NetworkGrant::ProbeHost);
        if of_probes && !roles.probe {
            return field(&path, format!("{text:?} is for probe types: there is no pod that is probed"));
        }
        grants.push(grant);
    }
    Ok(grants)
}

fn files(documents: Vec<FileGrantDocument>, state: bool, path: &str) -> Result<Vec<FileGrant>, ConfigError> {
    let mut grants: Vec<FileGrant> = Vec::with_capacity(documents.len());
    for (index, FileGrantDocument { path: node, read_only, guest_path }) in documents.into_iter().enumerate()
    {
        let path = format!("{path}[{index}]");
        check_absolute(&node, &format!("{path}.path"))?;
        let guest_path = guest_path.unwrap_or_else(|| node.to_string_lossy().into_owned());
        let name = format!("{path}.guestPath");
        check_absolute(Path::new(&guest_path), &name)?;
        if state && guest_path.trim_end_matches('/') == STATE_PATH {
            return field(&name, format!("{STATE_PATH} is the plugin's own folder: take another path"));
        }
        if grants.iter().any(|grant| grant.guest_path == guest_path) {
            return field(&name, format!("{guest_path} is taken by another grant: write another guestPath"));
        }
        grants.push(FileGrant { path: node, read_only: read_only.unwrap_or(true), guest_path });
    }
    Ok(grants)
}

fn check_absolute(path: &Path, name: &str) -> Result<(), ConfigError> {
    let climbs = path.components().any(|part| matches!(part, Component::ParentDir));
    if path.is_absolute() && !climbs {
        return Ok(());
    }
    field(name, format!("must be an absolute path without `..`, found {:?}", path.display().to_string()))
}
