//! What data an entry names next to its configuration, where they are, and how often they are looked for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use witlet_core::error::one_line;
use witlet_core::refresh::{
    MAX_AGE_MAX, MAX_AGE_MIN, MAX_AGE_REFRESHES_MIN, REFRESH_DEFAULT, REFRESH_MAX, REFRESH_MIN,
};
use witlet_egress::DownloadUrl;
use witlet_ports::{Target, is_sha256};

use super::document::DataDocument;
use super::values::{DurationText, format_duration};
use super::{ConfigError, PluginEntry, References, check_between, check_count, check_name, field};

/// How many data an entry can have.
pub const DATA_MAX: usize = 8;
/// How many data all entries of a file can have together: their bytes are in memory.
pub const DATA_ALL_MAX: usize = 32;
/// How much of the digest of a query stands for it.
const QUERY_DIGITS: usize = 16;
/// Why data that a digest names have no times.
const UNCHANGING: &str = "must not be set with a digest, whose content never changes: remove one of them";

/// One of an entry's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataEntry {
    /// What the plugin asks for; unique in its entry.
    pub name: String,
    /// Where its bytes are.
    pub source: DataSource,
    /// How often they are fetched; none for files, and for what never changes.
    pub refresh: Option<Duration>,
    /// How long the last good ones serve before the node counts as not ready; none is for ever.
    pub max_age: Option<Duration>,
}

/// Where data are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataSource {
    /// A file; relative ones are looked up next to the configuration.
    File(PathBuf),
    /// Elsewhere: it is fetched now and then.
    Remote(RemoteData),
}

/// What is fetched. Relative files are looked up next to the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemoteData {
    Url {
        url: DownloadUrl,
        /// SHA-256 of the only bytes that count, in hexadecimal.
        sha256: Option<String>,
        /// The file of the secret that is sent to its server.
        token: Option<PathBuf>,
        /// A file with authorities that count next to the node's.
        authorities: Option<PathBuf>,
    },
    Artifact {
        target: Target,
        /// A file in the form of a docker configuration; none leaves it to the node's own credentials.
        credentials: Option<PathBuf>,
    },
}

impl DataSource {
    /// The same, looked up next to a configuration in this folder.
    pub(crate) fn below(&self, folder: &Path) -> Self {
        let below = |path: &PathBuf| folder.join(path.strip_prefix(".").unwrap_or(path));
        match self {
            Self::File(path) => Self::File(below(path)),
            Self::Remote(RemoteData::Url { url, sha256, token, authorities }) => {
                Self::Remote(RemoteData::Url {
                    url: url.clone(),
                    sha256: sha256.clone(),
                    token: token.as_ref().map(below),
                    authorities: authorities.as_ref().map(below),
                })
            }
            Self::Remote(RemoteData::Artifact { target, credentials }) => {
                let credentials = credentials.as_ref().map(below);
                Self::Remote(RemoteData::Artifact { target: target.clone(), credentials })
            }
        }
    }

    /// Returns the text as people read it: without a URL's query, which may have a signature.
    pub(crate) fn location(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Remote(remote) => remote.location(),
        }
    }

    /// Whether it is fetched.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self, Self::Remote(_))
    }

    /// Returns what it is kept under: no other source has it.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::File(_) => self.location(),
            Self::Remote(remote) => remote.key(),
        }
    }
}

impl RemoteData {
    /// Returns the text as people read it.
    pub(crate) fn location(&self) -> String {
        match self {
            Self::Url { url, .. } => url.to_string(),
            Self::Artifact { target, .. } => target.to_string(),
        }
    }

    fn key(&self) -> String {
        match self {
            Self::Url { url, .. } if url.as_str().contains('?') => {
                let digest = hex::encode(Sha256::digest(url.as_str()));
                format!("{url}{}", digest.get(..QUERY_DIGITS).unwrap_or_default())
            }
            Self::Url { .. } | Self::Artifact { .. } => self.location(),
        }
    }

    /// Whether these are always the same bytes.
    pub(crate) fn is_pinned(&self) -> bool {
        match self {
            Self::Url { sha256, .. } => sha256.is_some(),
            Self::Artifact { target, .. } => target.digest().is_some(),
        }
    }

    /// Whether bytes with this digest can be these data.
    pub(crate) fn takes(&self, digest: &str) -> bool {
        match self {
            Self::Url { sha256, .. } => sha256.as_deref().is_none_or(|sha256| sha256 == digest),
            // The digest there is the manifest's.
            Self::Artifact { .. } => true,
        }
    }
}

/// Refuses more than all entries together can have.
pub(super) fn check_all(plugins: &[PluginEntry]) -> Result<(), ConfigError> {
    let count: usize = plugins.iter().map(|entry| entry.data.len()).sum();
    if count <= DATA_ALL_MAX {
        return Ok(());
    }
    field("plugins", format!("their entries have {count} data, more than {DATA_ALL_MAX} together"))
}

pub(super) fn parse(
    documents: Vec<DataDocument>,
    known: &References<'_>,
    path: &str,
) -> Result<Vec<DataEntry>, ConfigError> {
    check_count(&format!("{path}.data"), documents.len(), DATA_MAX)?;
    let mut names = BTreeSet::new();
    let mut data = Vec::with_capacity(documents.len());
    for (index, document) in documents.into_iter().enumerate() {
        let path = format!("{path}.data[{index}]");
        let name = document.name.clone();
        check_name(&name, &format!("{path}.name"))?;
        if !names.insert(name.clone()) {
            return field(
                &format!("{path}.name"),
                format!("{name} is the name of other data of the entry too"),
            );
        }
        let refresh = document.refresh.as_ref().map(|DurationText(every)| *every);
        let max_age = document.max_age.as_ref().map(|DurationText(age)| *age);
        let source = source(document, known, &path)?;
        let refresh = interval(refresh, &source, &path)?;
        check_max_age(max_age, &source, refresh, &path)?;
        data.push(DataEntry { name, source, refresh, max_age });
    }
    Ok(data)
}

fn source(document: DataDocument, known: &References<'_>, path: &str) -> Result<DataSource, ConfigError> {
    let DataDocument { file, url, oci, sha256, token, ca_file, pull_credentials, .. } = document;
    let of_url = [("sha256", sha256.is_some()), ("token", token.is_some()), ("caFile", ca_file.is_some())];
    let of_artifact = [("pullCredentials", pull_credentials.is_some())];
    let refuse = |fields: &[(&str, bool)], what: &str| match fields.iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => {
            field(&format!("{path}.{name}"), format!("only allowed for data with `{what}`: remove it"))
        }
        None => Ok(()),
    };
    match (file, url, oci) {
        (Some(file), None, None) => {
            refuse(&of_url, "url")?;
            refuse(&of_artifact, "oci")?;
            if file.as_os_str().is_empty() {
                return field(&format!("{path}.file"), "must not be empty");
            }
            Ok(DataSource::File(file))
        }
        (None, Some(text), None) => {
            refuse(&of_artifact, "oci")?;
            let url = text.parse::<DownloadUrl>();
            let url = url.or_else(|error| field(&format!("{path}.url"), error.to_string()))?;
            let sha256 = sha256.map(|text| digest(&text, path)).transpose()?;
            let token = token.map(|name| secret(&name, known, path)).transpose()?;
            Ok(DataSource::Remote(RemoteData::Url { url, sha256, token, authorities: ca_file }))
        }
        (None, None, Some(text)) => {
            refuse(&of_url, "url")?;
            let target = text.parse::<Target>();
            let target = target
                .or_else(|error| field(&format!("{path}.oci"), format!("{text:?}: {}", one_line(&error))))?;
            let credentials = pull_credentials.or_else(|| known.pull_credentials.map(Path::to_owned));
            Ok(DataSource::Remote(RemoteData::Artifact { target, credentials }))
        }
        (None, None, None) => field(path, "must have one of `file`, `url` and `oci`, found none"),
        (Some(_), _, _) | (None, Some(_), Some(_)) => {
            field(path, "must have only one of `file`, `url` and `oci`")
        }
    }
}

fn digest(text: &str, path: &str) -> Result<String, ConfigError> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    if is_sha256(&format!("sha256:{digits}")) {
        return Ok(digits.to_owned());
    }
    field(&format!("{path}.sha256"), "must be 64 lower-case hexadecimal digits, as sha256sum prints them")
}

fn secret(name: &str, known: &References<'_>, path: &str) -> Result<PathBuf, ConfigError> {
    match known.secrets.iter().find(|secret| secret.name == name) {
        Some(secret) => Ok(secret.file.clone()),
        None => field(&format!("{path}.token"), format!("{name:?} is not in the file's `secrets`")),
    }
}

/// How often a source is looked for.
fn interval(
    refresh: Option<Duration>,
    source: &DataSource,
    path: &str,
) -> Result<Option<Duration>, ConfigError> {
    let name = format!("{path}.refresh");
    match (source, refresh) {
        (DataSource::File(_), None) => Ok(None),
        (DataSource::File(_), Some(_)) => {
            field(&name, "must not be set with `file`, which is checked once a second")
        }
        (DataSource::Remote(remote), Some(_)) if remote.is_pinned() => field(&name, UNCHANGING),
        (DataSource::Remote(remote), None) => Ok(Some(REFRESH_DEFAULT).filter(|_| !remote.is_pinned())),
        (DataSource::Remote(_), Some(every)) => {
            check_between(&name, every, REFRESH_MIN, REFRESH_MAX)?;
            Ok(Some(every))
        }
    }
}

fn check_max_age(
    max_age: Option<Duration>,
    source: &DataSource,
    refresh: Option<Duration>,
    path: &str,
) -> Result<(), ConfigError> {
    let Some(max_age) = max_age else { return Ok(()) };
    let name = format!("{path}.maxAge");
    if refresh.is_none() && source.is_remote() {
        return field(&name, UNCHANGING);
    }
    check_between(&name, max_age, MAX_AGE_MIN, MAX_AGE_MAX)?;
    match refresh.map(|every| every * MAX_AGE_REFRESHES_MIN) {
        Some(least) if max_age < least => {
            let (age, least) = (format_duration(max_age), format_duration(least));
            field(&name, format!("{age} is shorter than {least}, twice `refresh`: one fetch may fail"))
        }
        Some(_) | None => Ok(()),
    }
}
