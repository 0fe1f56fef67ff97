//! Docker's configuration of credentials, as nodes and pull secrets have it.

use std::collections::BTreeMap;

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{GeneralPurposeConfig, STANDARD};
use serde::Deserialize;
use thiserror::Error;

use crate::runtime::ImageAuth;

/// The key, and the type, of the present form of a pull secret.
pub const DOCKER_CONFIG_JSON_KEY: &str = ".dockerconfigjson";
/// The type of a secret of that form.
pub const DOCKER_CONFIG_JSON_TYPE: &str = "kubernetes.io/dockerconfigjson";
/// The key of the form of old.
pub const DOCKERCFG_KEY: &str = ".dockercfg";
/// The type of a secret of that form.
pub const DOCKERCFG_TYPE: &str = "kubernetes.io/dockercfg";

/// With and without padding: both are written.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A configuration that can't be read. Says nothing of its content, which is secret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DockerConfigError {
    /// No JSON, or of another shape.
    #[error("docker configuration: invalid JSON at line {line}, column {column}")]
    Malformed {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// `auth` isn't the base64 of `user:password`.
    #[error("docker configuration: auth of {registry:?} must be the base64 encoding of USER:PASSWORD")]
    Auth { registry: String },
}

impl From<serde_json::Error> for DockerConfigError {
    fn from(error: serde_json::Error) -> Self {
        // The error's own words may quote the content.
        Self::Malformed { line: error.line(), column: error.column() }
    }
}

/// Credentials by registry. A key is a registry with an optional scheme, port and path; its host may have globs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DockerConfig {
    /// As written, each once.
    pub registries: BTreeMap<String, ImageAuth>,
}

/// `config.json` and `.dockerconfigjson`
#[derive(Deserialize)]
struct ConfigJson {
    #[serde(default)]
    auths: Option<BTreeMap<String, Entry>>,
}

/// One registry. Other fields say nothing about pulls.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    username: Option<String>,
    password: Option<String>,
    email: Option<String>,
    auth: Option<String>,
    /// What `docker login` keeps instead of a password where the registry gave one.
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

impl DockerConfig {
    /// The present form: `{"auths": {"registry": {…}}}`. Fields besides `auths` are passed over.
    ///
    /// # Errors
    /// The text isn't JSON of this form, or an `auth` isn't base64 of `USER:PASSWORD`.
    pub fn parse_json(text: &[u8]) -> Result<Self, DockerConfigError> {
        let config: ConfigJson = serde_json::from_slice(text)?;
        Self::of(config.auths.unwrap_or_default())
    }

    /// The form of old: `{"registry": {…}}`.
    ///
    /// # Errors
    /// The text isn't JSON of this form, or an `auth` isn't base64 of `USER:PASSWORD`.
    pub fn parse_dockercfg(text: &[u8]) -> Result<Self, DockerConfigError> {
        Self::of(serde_json::from_slice(text)?)
    }

    /// A pull secret by its type and data; none if it is of another type, or lacks its key, which upstream passes
    /// over (`credentialprovider/secrets`).
    ///
    /// # Errors
    /// What the secret's key has can't be read.
    pub fn parse_secret(
        kind: &str,
        data: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Option<Self>, DockerConfigError> {
        let of = |key: &str| data.get(key).filter(|text| !text.is_empty());
        match kind {
            DOCKER_CONFIG_JSON_TYPE => {
                of(DOCKER_CONFIG_JSON_KEY).map(|text| Self::parse_json(text)).transpose()
            }
            DOCKERCFG_TYPE => of(DOCKERCFG_KEY).map(|text| Self::parse_dockercfg(text)).transpose(),
            _ => Ok(None),
        }
    }

    fn of(entries: BTreeMap<String, Entry>) -> Result<Self, DockerConfigError> {
        let registries = entries
            .into_iter()
            .map(|(registry, entry)| match entry.credentials() {
                Some(auth) => Ok((registry, auth)),
                None => Err(DockerConfigError::Auth { registry }),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { registries })
    }
}

impl Entry {
    /// Returns `None` if its `auth` is malformed. What `auth` says counts above the two fields. `server_address` stays empty, as
    /// upstream leaves it: runtimes compare it with the host they talk to, which may be a mirror.
    fn credentials(self) -> Option<ImageAuth> {
        let (mut username, mut password) =
            (self.username.unwrap_or_default(), self.password.unwrap_or_default());
        if let Some(auth) = self.auth.filter(|auth| !auth.is_empty()) {
            (username, password) = decode_auth(&auth)?;
        }
        Some(ImageAuth {
            username,
            password,
            email: self.email.unwrap_or_default(),
            identity_token: self.identitytoken.unwrap_or_default(),
            registry_token: self.registrytoken.unwrap_or_default(),
            ..ImageAuth::default()
        })
    }
}

/// User and password. Only the first colon parts them.
fn decode_auth(auth: &str) -> Option<(String, String)> {
    let text = String::from_utf8(BASE64.decode(auth.trim()).ok()?).ok()?;
    let (username, password) = text.split_once(':')?;
    Some((username.to_owned(), password.to_owned()))
}

/// Returns what `auth` holds for these.
pub fn encode_auth(username: &str, password: &str) -> String {
    STANDARD.encode(format!("{username}:{password}"))
}

#[cfg(test)]
mod tests;
