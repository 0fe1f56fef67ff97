//! Credentials of requests: `Authorization` from a token, a token file, a password or a credential plugin.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use http::HeaderValue;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use tokio::sync::Mutex;
use tokio::time::Instant;
use witlet_ports::Clock;

use super::exec::{ExecPlugin, PluginCredential, PluginError};
use super::identity::{Identities, Identity, IdentityError};
use super::metrics::ClientMetrics;
use crate::kubeconfig::{KubeconfigError, User, read_file};

#[cfg(test)]
mod tests;

/// A token file is read again when it was read this long ago: once a minute with client-go's leeway of 10 s.
const TOKEN_FILE_AGE: Duration = Duration::from_secs(50);
/// A plugin that failed is not run again for this long.
const PLUGIN_PAUSE: Duration = Duration::from_secs(5);

/// No request can be made, for want of credentials.
#[derive(Clone, Debug, Error)]
pub enum CredentialsError {
    /// The token file can't be read, and never could.
    #[error("token file: {0}")]
    TokenFile(Arc<KubeconfigError>),
    /// The token file holds no token.
    #[error("token file {}: empty", .0.display())]
    Empty(PathBuf),
    /// A token that no header can carry.
    #[error("the token has characters that are not allowed in a header")]
    Characters,
    /// The plugin made nothing.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// The plugin's certificate can't be used.
    #[error("credential plugin: {0}")]
    Identity(#[from] IdentityError),
}

/// Makes headers for one user.
pub(crate) struct Credentials {
    way: CredentialKind,
    metrics: Arc<ClientMetrics>,
    identities: Arc<Identities>,
    clock: Arc<dyn Clock>,
}

enum CredentialKind {
    Fixed(Option<HeaderValue>),
    TokenFile { path: PathBuf, state: Mutex<FileState> },
    Exec { plugin: Box<ExecPlugin>, state: Mutex<PluginState> },
}

struct FileState {
    header: Option<HeaderValue>,
    read: Option<Instant>,
}

#[derive(Default)]
enum PluginState {
    #[default]
    Nothing,
    Good {
        header: Option<HeaderValue>,
        expires: Option<Timestamp>,
    },
    Failed {
        error: CredentialsError,
        at: Instant,
    },
}

impl Credentials {
    pub(crate) fn new(
        user: User,
        identities: Arc<Identities>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, CredentialsError> {
        let way = match user {
            User::Anonymous => CredentialKind::Fixed(None),
            User::Basic { name, password } => CredentialKind::Fixed(Some(basic(&name, &password)?)),
            User::Token(token) => CredentialKind::Fixed(Some(bearer(&token)?)),
            User::TokenFile { path, first } => {
                let header = first.as_ref().map(bearer).transpose()?;
                CredentialKind::TokenFile { path, state: Mutex::new(FileState { header, read: None }) }
            }
            User::Exec(plugin) => CredentialKind::Exec { plugin, state: Mutex::default() },
        };
        Ok(Self { way, metrics: Arc::default(), identities, clock })
    }

    /// Counts what plugins do in these metrics.
    pub(crate) fn with_metrics(self, metrics: Arc<ClientMetrics>) -> Self {
        Self { metrics, ..self }
    }

    /// The header for a request that is made now; none for users who show none. Reads the token file and runs the plugin
    /// when it is time for that; several callers at once read or run once.
    pub(crate) async fn header(&self) -> Result<Option<HeaderValue>, CredentialsError> {
        match &self.way {
            CredentialKind::Fixed(header) => Ok(header.clone()),
            CredentialKind::TokenFile { path, state } => read_again(path, &mut *state.lock().await).await,
            CredentialKind::Exec { plugin, state } => self.run(plugin, &mut *state.lock().await).await,
        }
    }

    /// The server refused this header: what was remembered is forgotten, unless it is another one by now. True if another
    /// try may do better.
    pub(crate) async fn refused(&self, used: Option<&HeaderValue>) -> bool {
        match &self.way {
            CredentialKind::Fixed(_) => false,
            CredentialKind::TokenFile { path, state } => {
                let mut state = state.lock().await;
                if state.header.as_ref() == used {
                    state.read = None;
                    // What can't be read leaves the token as it is, so that it is no better.
                    let _ = read_again(path, &mut state).await;
                }
                state.header.as_ref() != used
            }
            CredentialKind::Exec { state, .. } => {
                let mut state = state.lock().await;
                match &*state {
                    PluginState::Good { header, .. } if header.as_ref() == used => {
                        *state = PluginState::Nothing;
                        true
                    }
                    PluginState::Good { .. } => true,
                    PluginState::Nothing | PluginState::Failed { .. } => false,
                }
            }
        }
    }

    async fn run(
        &self,
        plugin: &ExecPlugin,
        state: &mut PluginState,
    ) -> Result<Option<HeaderValue>, CredentialsError> {
        match state {
            PluginState::Good { header, expires } if expires.is_none_or(|end| self.clock.now() < end) => {
                return Ok(header.clone());
            }
            PluginState::Failed { error, at } if at.elapsed() < PLUGIN_PAUSE => return Err(error.clone()),
            _ => {}
        }
        let ran = plugin.run().await;
        self.metrics.plugin_ended(ran.as_ref().err());
        let made = match ran {
            Ok(credential) => self.accept(&credential).map(|header| (header, credential.expires)),
            Err(error) => Err(error.into()),
        };
        match made {
            Ok((header, expires)) => {
                *state = PluginState::Good { header: header.clone(), expires };
                Ok(header)
            }
            Err(error) => {
                *state = PluginState::Failed { error: error.clone(), at: Instant::now() };
                Err(error)
            }
        }
    }

    fn accept(&self, credential: &PluginCredential) -> Result<Option<HeaderValue>, CredentialsError> {
        if let Some((chain, key)) = &credential.certificate {
            let identity = Identity::parse(chain.as_bytes(), key.expose_secret().as_bytes())?;
            self.metrics.plugin_certificate(identity.not_after);
            self.identities.replace(identity);
        }
        credential.token.as_ref().map(bearer).transpose()
    }
}

/// A file that can't be read any more leaves the last token in use, as client-go has it.
async fn read_again(
    path: &std::path::Path,
    state: &mut FileState,
) -> Result<Option<HeaderValue>, CredentialsError> {
    if state.read.is_some_and(|read| read.elapsed() < TOKEN_FILE_AGE) {
        return Ok(state.header.clone());
    }
    let owned = path.to_owned();
    let read = tokio::task::spawn_blocking(move || read_file(&owned)).await;
    let read = match read {
        Ok(read) => read.map_err(|error| CredentialsError::TokenFile(Arc::new(error))),
        // The runtime ends; anyone who asks ends with it.
        Err(_) => return Ok(state.header.clone()),
    };
    let header = read.and_then(|bytes| {
        let text = String::from_utf8(bytes).map_err(|_| CredentialsError::Characters)?;
        match text.trim() {
            "" => Err(CredentialsError::Empty(path.to_owned())),
            token => bearer(&SecretString::from(token)),
        }
    });
    match header {
        Ok(header) => state.header = Some(header),
        Err(error) if state.header.is_none() => return Err(error),
        Err(error) => tracing::warn!(%error, "Failed to refresh token, using the last one"),
    }
    state.read = Some(Instant::now());
    Ok(state.header.clone())
}

fn secret_header(text: String) -> Result<HeaderValue, CredentialsError> {
    let mut value = HeaderValue::try_from(text).map_err(|_| CredentialsError::Characters)?;
    value.set_sensitive(true);
    Ok(value)
}

fn bearer(token: &SecretString) -> Result<HeaderValue, CredentialsError> {
    secret_header(format!("Bearer {}", token.expose_secret()))
}

fn basic(name: &str, password: &SecretString) -> Result<HeaderValue, CredentialsError> {
    let pair = format!("{name}:{}", password.expose_secret());
    secret_header(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair)))
}
