//! Credential plugins: programs that print a token or a client certificate.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::SecretString;
use serde::Deserialize;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

#[cfg(test)]
mod tests;

/// How long a plugin may run.
const RUN_MAX: Duration = Duration::from_secs(60);
/// How much it may print, in bytes.
const OUTPUT_MAX: u64 = 1024 * 1024;
/// How much of its standard error is shown, in bytes.
const STDERR_SHOWN_MAX: usize = 1024;

/// Versions of `ExecCredential` that plugins speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PluginVersion {
    V1,
    V1beta1,
}

impl PluginVersion {
    pub(crate) const ALL: [Self; 2] = [Self::V1, Self::V1beta1];

    /// Returns the name as it stands in `apiVersion`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "client.authentication.k8s.io/v1",
            Self::V1beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }

    pub(crate) fn of(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }
}

/// A plugin and how it is run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExecPlugin {
    /// A path, or a name in PATH.
    pub(crate) command: PathBuf,
    pub(crate) args: Vec<String>,
    /// Variables next to the daemon's own.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) version: PluginVersion,
    /// What to tell anyone who hasn't the program.
    pub(crate) install_hint: Option<String>,
    /// `spec.cluster` of what the plugin is reported.
    pub(crate) cluster: Option<serde_json::Value>,
}

/// What a plugin made.
#[derive(Debug, Default)]
pub(crate) struct PluginCredential {
    pub(crate) token: Option<SecretString>,
    /// PEM of a certificate chain and of its key.
    pub(crate) certificate: Option<(String, SecretString)>,
    /// When it ends; none if it is good until the server says otherwise.
    pub(crate) expires: Option<Timestamp>,
}

/// A plugin that made nothing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PluginError {
    /// It can't be started.
    #[error("credential plugin {command}: {message}")]
    Start {
        command: String,
        /// Why, and where to get it.
        message: String,
    },
    #[error("credential plugin {command}: {status}: {stderr}")]
    Failed {
        command: String,
        status: String,
        /// Its exit code; -1 if a signal ended it.
        code: i32,
        /// The beginning of what it wrote to its standard error.
        stderr: String,
    },
    /// It ran for too long and was killed.
    #[error("credential plugin {command}: no response within {RUN_MAX:?}")]
    Slow { command: String },
    /// It printed too much and was killed.
    #[error("credential plugin {command}: printed more than {OUTPUT_MAX} bytes")]
    Large { command: String },
    /// What it printed is no credential.
    #[error("credential plugin {command}: {message}")]
    Answer {
        command: String,
        /// What is wrong with the answer.
        message: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    api_version: String,
    status: Option<ExecCredentialStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredentialStatus {
    expiration_timestamp: Option<Timestamp>,
    #[serde(default)]
    token: String,
    #[serde(default)]
    client_certificate_data: String,
    #[serde(default)]
    client_key_data: String,
}

/// Reads what a plugin printed. The version must be the one that it was asked for in.
fn read_answer(bytes: &[u8], version: PluginVersion) -> Result<PluginCredential, String> {
    // The error of the decoder names places and kinds, and never repeats what stands there.
    let answer: ExecCredential = serde_json::from_slice(bytes).map_err(|error| {
        format!("output must be an ExecCredential (line {}, column {})", error.line(), error.column())
    })?;
    if answer.kind != "ExecCredential" {
        return Err(format!("kind must be ExecCredential, found {:?}", answer.kind));
    }
    if answer.api_version != version.as_str() {
        let expected = version.as_str();
        return Err(format!("apiVersion must be {expected:?}, found {:?}", answer.api_version));
    }
    let status = answer.status.ok_or("output has no status")?;
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let certificate = match (some(status.client_certificate_data), some(status.client_key_data)) {
        (Some(certificate), Some(key)) => Some((certificate, SecretString::from(key))),
        (None, None) => None,
        _ => return Err("clientCertificateData and clientKeyData must be set together".to_owned()),
    };
    let token = some(status.token).map(SecretString::from);
    if token.is_none() && certificate.is_none() {
        return Err("output has neither a token nor a certificate".to_owned());
    }
    Ok(PluginCredential { token, certificate, expires: status.expiration_timestamp })
}

impl ExecPlugin {
    /// Runs it once. Ends within [`RUN_MAX`]; the program's whole process group is killed when it is slow or prints
    /// without end.
    pub(crate) async fn run(&self) -> Result<PluginCredential, PluginError> {
        let name = self.command.display().to_string();
        let mut child = self.start(&name)?;
        let mut group = Group::of(&child);
        let output = tokio::time::timeout(RUN_MAX, collect(&mut child)).await;
        if matches!(output, Ok(Ok(_))) {
            group.spare();
        }
        drop(group);
        let (status, out, stderr) = match output {
            Err(_) => return Err(PluginError::Slow { command: name }),
            Ok(Err(Stopped::Large)) => return Err(PluginError::Large { command: name }),
            Ok(Err(Stopped::Io(cause))) => {
                return Err(PluginError::Start { command: name, message: cause.to_string() });
            }
            Ok(Ok(output)) => output,
        };
        if !status.success() {
            let end = stderr.len().min(STDERR_SHOWN_MAX);
            let stderr = String::from_utf8_lossy(&stderr[..end]).trim().to_owned();
            let code = status.code().unwrap_or(-1);
            return Err(PluginError::Failed { command: name, status: status.to_string(), code, stderr });
        }
        read_answer(&out, self.version).map_err(|message| PluginError::Answer { command: name, message })
    }

    fn start(&self, name: &str) -> Result<Child, PluginError> {
        let mut spec = serde_json::json!({ "interactive": false });
        if let Some(cluster) = &self.cluster {
            spec["cluster"] = cluster.clone();
        }
        let info = serde_json::json!({
            "kind": "ExecCredential", "apiVersion": self.version.as_str(), "spec": spec,
        });
        let child = Command::new(&self.command)
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env("KUBERNETES_EXEC_INFO", info.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        child.map_err(|cause| {
            let hint = self.install_hint.as_deref().unwrap_or_default();
            let message = if hint.is_empty() { cause.to_string() } else { format!("{cause}; {hint}") };
            PluginError::Start { command: name.to_owned(), message }
        })
    }
}

/// Kills a plugin, and what it started, unless it has ended.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    /// The leader was waited for, so that its number may be someone else's by now.
    fn spare(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended meanwhile, and that's the aim.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

enum Stopped {
    Large,
    Io(std::io::Error),
}

type Output = (std::process::ExitStatus, Vec<u8>, Vec<u8>);

async fn collect(child: &mut Child) -> Result<Output, Stopped> {
    let (out, stderr) = (child.stdout.take(), child.stderr.take());
    let (out, stderr) = tokio::try_join!(read_some(out), read_some(stderr))?;
    let status = child.wait().await.map_err(Stopped::Io)?;
    Ok((status, out, stderr))
}

async fn read_some(pipe: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, Stopped> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(OUTPUT_MAX + 1).read_to_end(&mut bytes).await.map_err(Stopped::Io)?;
    }
    if bytes.len() as u64 > OUTPUT_MAX { Err(Stopped::Large) } else { Ok(bytes) }
}
