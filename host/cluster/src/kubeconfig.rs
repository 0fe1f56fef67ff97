//! kubeconfig files in their common forms.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use http::Uri;
use kube::config::{AuthInfo, Cluster, ExecConfig, ExecInteractiveMode, Kubeconfig};
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;

use crate::client::exec::{ExecPlugin, PluginVersion};
use crate::client::proxy::{self, Environment};

mod write;

pub use write::kubeconfig_of;

#[cfg(test)]
mod tests;

/// Largest kubeconfig, certificate, key or token file that is read, in bytes.
pub(crate) const FILE_MAX: u64 = 4 * 1024 * 1024;

/// A kubeconfig that can't be used. Says which file, and what in it.
#[derive(Debug, Error)]
pub enum KubeconfigError {
    /// The file, or one that it names, can't be read.
    #[error("{}: {cause}", path.display())]
    Read { path: PathBuf, cause: io::Error },
    /// It isn't a kubeconfig.
    #[error("kubeconfig {}: {message}", path.display())]
    Parse {
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// It names no current context.
    #[error("kubeconfig {}: current-context is not set", path.display())]
    NoContext { path: PathBuf },
    /// Something that it names isn't in it.
    #[error("kubeconfig {}: {kind} {name:?} does not exist", path.display())]
    Missing {
        path: PathBuf,
        /// `context`, `cluster` or `user`.
        kind: &'static str,
        /// As it is named.
        name: String,
    },
    /// A field that can't be used.
    #[error("kubeconfig {}: {owner}: {field}: {message}", path.display())]
    Field {
        path: PathBuf,
        /// Such as `user "node"`.
        owner: String,
        /// As it is spelt in the file.
        field: &'static str,
        /// What is wrong with it, and the way out if there is one.
        message: String,
    },
}

/// Bytes that stand in the file itself or in another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Inline(Vec<u8>),
    File(PathBuf),
}

impl Source {
    /// The bytes as they are now.
    pub(crate) fn read(&self) -> Result<Vec<u8>, KubeconfigError> {
        match self {
            Self::Inline(bytes) => Ok(bytes.clone()),
            Self::File(path) => read_file(path),
        }
    }
}

/// How this user shows who it is in each request. A client certificate comes next to it.
#[derive(Clone, Debug)]
pub(crate) enum User {
    /// Not at all, or by its certificate only.
    Anonymous,
    /// A name and a password.
    Basic { name: String, password: SecretString },
    /// A token that never changes.
    Token(SecretString),
    /// A file whose token is read again and again. The other token is used until the file can be read.
    TokenFile { path: PathBuf, first: Option<SecretString> },
    /// A program that makes tokens or certificates.
    Exec(Box<ExecPlugin>),
}

/// One API server and one user, from a kubeconfig.
#[derive(Clone, Debug)]
pub struct Target {
    /// Scheme, host, port, and perhaps a path that goes before every path.
    pub(crate) server: Uri,
    /// The name that the server's certificate must have, if it isn't the host's.
    pub(crate) tls_server_name: Option<String>,
    /// The proxy that connections go through, whatever the environment says; it may have credentials in it.
    pub(crate) proxy_url: Option<String>,
    /// PEM of whom the server's certificate must be from; the system's authorities if none.
    pub(crate) authorities: Option<Source>,
    /// The server's certificate isn't checked.
    pub(crate) insecure: bool,
    /// Namespace of the context, or `default`.
    pub(crate) namespace: String,
    pub(crate) user: User,
    /// PEM of the client certificate and of its key.
    pub(crate) certificate: Option<(Source, Source)>,
    /// As whom requests are made, if not as oneself: only the `as` fields are set.
    pub(crate) impersonation: Box<AuthInfo>,
}

/// Reads at most [`FILE_MAX`] bytes.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, KubeconfigError> {
    let failed = |cause| KubeconfigError::Read { path: path.to_owned(), cause };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, "file is too large")));
    }
    Ok(bytes)
}

/// Returns what the current context of this file says. Relative paths are relative to the file. Files that it names are not read.
pub(crate) fn load(path: &Path) -> Result<Target, KubeconfigError> {
    parse(path, read_file(path)?)
}

/// The same for bytes that this file has.
///
/// # Errors
///
/// When it is no kubeconfig, or something in it can't be used.
pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Target, KubeconfigError> {
    let parse = |message: String| KubeconfigError::Parse { path: path.to_owned(), message };
    let text = String::from_utf8(bytes).map_err(|_| parse("not UTF-8".to_owned()))?;
    let config = Kubeconfig::from_yaml(&text).map_err(|error| parse(error.to_string()))?;
    select(path, &config)
}

fn select(path: &Path, config: &Kubeconfig) -> Result<Target, KubeconfigError> {
    let missing =
        |kind, name: &str| KubeconfigError::Missing { path: path.to_owned(), kind, name: name.to_owned() };
    let current = config.current_context.as_deref().filter(|name| !name.is_empty());
    let current = current.ok_or_else(|| KubeconfigError::NoContext { path: path.to_owned() })?;
    let context = config.contexts.iter().find(|named| named.name == current);
    let context = context.and_then(|named| named.context.as_ref());
    let context = context.ok_or_else(|| missing("context", current))?;
    let cluster = config.clusters.iter().find(|named| named.name == context.cluster);
    let cluster = cluster.and_then(|named| named.cluster.as_ref());
    let cluster = cluster.ok_or_else(|| missing("cluster", &context.cluster))?;
    let anonymous = AuthInfo::default();
    let (user_name, user) = match context.user.as_deref().filter(|name| !name.is_empty()) {
        None => ("", &anonymous),
        Some(name) => {
            let user = config.auth_infos.iter().find(|named| named.name == name);
            (name, user.ok_or_else(|| missing("user", name))?.auth_info.as_ref().unwrap_or(&anonymous))
        }
    };
    let cluster_fields = Fields { path, owner: format!("cluster {:?}", context.cluster) };
    let user_fields = Fields { path, owner: format!("user {user_name:?}") };
    let mut target = cluster_fields.target(cluster)?;
    if let Some(namespace) = context.namespace.as_ref().filter(|name| !name.is_empty()) {
        target.namespace.clone_from(namespace);
    }
    target.certificate = user_fields.certificate(user)?;
    target.user = user_fields.user(user, cluster, &target)?;
    *target.impersonation = AuthInfo {
        impersonate: user.impersonate.clone(),
        impersonate_uid: user.impersonate_uid.clone(),
        impersonate_groups: user.impersonate_groups.clone(),
        impersonate_user_extra: user.impersonate_user_extra.clone(),
        ..AuthInfo::default()
    };
    Ok(target)
}

/// Reads the fields of a cluster or user, and names it where one can't be used.
struct Fields<'a> {
    path: &'a Path,
    owner: String,
}

impl Fields<'_> {
    fn refuse(&self, field: &'static str, message: impl Into<String>) -> KubeconfigError {
        KubeconfigError::Field {
            path: self.path.to_owned(),
            owner: self.owner.clone(),
            field,
            message: message.into(),
        }
    }

    /// The path as seen from the kubeconfig's folder.
    fn resolve(&self, file: &str) -> PathBuf {
        self.path.parent().map_or_else(|| PathBuf::from(file), |folder| folder.join(file))
    }

    /// Data goes before a file, as upstream has it.
    fn source(
        &self,
        field: &'static str,
        data: Option<&str>,
        file: Option<&String>,
    ) -> Result<Option<Source>, KubeconfigError> {
        use base64::Engine as _;
        if let Some(data) = data.filter(|data| !data.is_empty()) {
            let packed: String = data.split_ascii_whitespace().collect();
            let bytes = base64::engine::general_purpose::STANDARD.decode(packed);
            return bytes
                .map(|bytes| Some(Source::Inline(bytes)))
                .map_err(|error| self.refuse(field, format!("not base64: {error}")));
        }
        Ok(file.filter(|file| !file.is_empty()).map(|file| Source::File(self.resolve(file))))
    }

    fn target(&self, cluster: &Cluster) -> Result<Target, KubeconfigError> {
        let server = cluster.server.as_deref().unwrap_or_default();
        let server = normal_server(server).map_err(|message| self.refuse("server", message))?;
        let proxy_url = cluster.proxy_url.clone().filter(|url| !url.is_empty());
        // No one is asked yet; what is wrong is said with its field.
        proxy::choose(&server, proxy_url.as_deref(), &Environment::default())
            .map_err(|message| self.refuse("proxy-url", message))?;
        let authorities = self.source(
            "certificate-authority-data",
            cluster.certificate_authority_data.as_deref(),
            cluster.certificate_authority.as_ref(),
        )?;
        let insecure = cluster.insecure_skip_tls_verify.unwrap_or(false);
        if insecure && authorities.is_some() {
            return Err(self
                .refuse("insecure-skip-tls-verify", "must not be true when a certificate authority is set"));
        }
        Ok(Target {
            server,
            tls_server_name: cluster.tls_server_name.clone().filter(|name| !name.is_empty()),
            proxy_url,
            authorities,
            insecure,
            namespace: "default".to_owned(),
            user: User::Anonymous,
            certificate: None,
            impersonation: Box::default(),
        })
    }

    fn certificate(&self, user: &AuthInfo) -> Result<Option<(Source, Source)>, KubeconfigError> {
        let certificate = self.source(
            "client-certificate-data",
            user.client_certificate_data.as_deref(),
            user.client_certificate.as_ref(),
        )?;
        let key = user.client_key_data.as_ref().map(|key| key.expose_secret());
        let key = self.source("client-key-data", key, user.client_key.as_ref())?;
        match (certificate, key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
            (Some(_), None) => Err(self.refuse("client-key", "must be set together with client-certificate")),
            (None, Some(_)) => Err(self.refuse("client-certificate", "must be set together with client-key")),
        }
    }

    fn user(&self, user: &AuthInfo, cluster: &Cluster, target: &Target) -> Result<User, KubeconfigError> {
        if let Some(provider) = &user.auth_provider {
            let message =
                format!("{:?} is not supported: use exec, tokenFile or a client certificate", provider.name);
            return Err(self.refuse("auth-provider", message));
        }
        let token = user.token.clone().filter(|token| !token.expose_secret().is_empty());
        let token_file = user.token_file.as_ref().filter(|file| !file.is_empty());
        let name = user.username.clone().filter(|name| !name.is_empty());
        if name.is_some() && (token.is_some() || token_file.is_some()) {
            return Err(self.refuse("username", "must not be set together with a token"));
        }
        if let Some(file) = token_file {
            return Ok(User::TokenFile { path: self.resolve(file), first: token });
        }
        if let Some(token) = token {
            return Ok(User::Token(token));
        }
        if let Some(name) = name {
            let password = user.password.clone().unwrap_or_default();
            return Ok(User::Basic { name, password });
        }
        match &user.exec {
            Some(exec) => Ok(User::Exec(Box::new(self.plugin(exec, cluster, target)?))),
            None => Ok(User::Anonymous),
        }
    }

    fn plugin(
        &self,
        exec: &ExecConfig,
        cluster: &Cluster,
        target: &Target,
    ) -> Result<ExecPlugin, KubeconfigError> {
        let version = exec.api_version.as_deref().unwrap_or_default();
        let version = PluginVersion::of(version).ok_or_else(|| {
            let known = PluginVersion::ALL.map(PluginVersion::as_str).join(", ");
            self.refuse("exec", format!("apiVersion must be one of {known}, found {version:?}"))
        })?;
        let command = exec.command.clone().filter(|command| !command.is_empty());
        let command = command.ok_or_else(|| self.refuse("exec", "command is missing"))?;
        if exec.interactive_mode == Some(ExecInteractiveMode::Always) {
            let message = format!(
                "{command:?} requires a terminal (interactiveMode Always), which a node does not have"
            );
            return Err(self.refuse("exec", message));
        }
        // A path with a slash is relative to the file, a bare name is looked up in PATH.
        let command = if command.contains('/') { self.resolve(&command) } else { command.into() };
        let mut env = Vec::new();
        for variable in exec.env.iter().flatten() {
            if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
                env.push((name.clone(), value.clone()));
            }
        }
        let cluster = match exec.provide_cluster_info {
            false => None,
            true => Some(cluster_info(cluster, target)?),
        };
        Ok(ExecPlugin {
            command,
            args: exec.args.clone().unwrap_or_default(),
            env,
            version,
            install_hint: exec.install_hint.clone(),
            cluster,
        })
    }
}

/// Returns what a plugin is reported about its cluster, as `ExecCredential.spec.cluster` has it.
fn cluster_info(cluster: &Cluster, target: &Target) -> Result<serde_json::Value, KubeconfigError> {
    use base64::Engine as _;
    let authorities = target.authorities.as_ref().map(Source::read).transpose()?;
    let config = cluster.extensions.iter().flatten();
    let config = config.into_iter().find(|extension| extension.name == "client.authentication.k8s.io/exec");
    let mut info = serde_json::Map::new();
    let mut put = |name: &str, value: Option<serde_json::Value>| {
        if let Some(value) = value {
            info.insert(name.to_owned(), value);
        }
    };
    put("server", cluster.server.clone().map(Into::into));
    put("tls-server-name", target.tls_server_name.clone().map(Into::into));
    put("insecure-skip-tls-verify", target.insecure.then_some(true.into()));
    put("proxy-url", target.proxy_url.clone().map(Into::into));
    let authorities = authorities.map(|pem| base64::engine::general_purpose::STANDARD.encode(pem));
    put("certificate-authority-data", authorities.map(Into::into));
    put("config", config.map(|extension| extension.extension.clone()));
    Ok(info.into())
}

/// The server's address; without a scheme it is `http`, as upstream has it for hosts alone.
fn normal_server(server: &str) -> Result<Uri, String> {
    if server.is_empty() {
        return Err("missing".to_owned());
    }
    let full = if server.contains("://") { server.to_owned() } else { format!("http://{server}") };
    let authority = full.split("://").nth(1).and_then(|rest| rest.split(['/', '?', '#']).next());
    if authority.is_some_and(|authority| authority.contains('@')) {
        // Addresses are logged, traced and counted: the message doesn't repeat it.
        let message = "must not have a user or password in it; set the user's username and password instead";
        return Err(message.to_owned());
    }
    let uri: Uri = full.parse().map_err(|error| format!("{server:?} is not a URL: {error}"))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(uri),
        (Some("http" | "https"), _) => Err(format!("{server:?} has no host")),
        (scheme, _) => Err(format!("{server:?}: scheme {:?} is not supported", scheme.unwrap_or_default())),
    }
}
