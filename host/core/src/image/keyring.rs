//! Which credentials are for an image's registry (upstream: `credentialprovider/keyring.go`).

use crate::go::glob::Glob;
use crate::image::docker_config::DockerConfig;
use crate::image::records::{PullCredential, PullSecret, credential_hash};
use crate::image::reference::{DEFAULT_REGISTRY, ImageReference};

/// What the default registry is called in docker's own configurations: `https://index.docker.io/v1/`.
const DEFAULT_REGISTRY_KEY: &str = "index.docker.io";

/// Credentials of some configurations, the most specific registry first.
#[derive(Clone, Debug, Default)]
pub struct Keyring {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    registry: Registry,
    credential: PullCredential,
}

/// A registry as configurations name it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Registry {
    host: String,
    port: String,
    path: String,
}

impl Keyring {
    /// Of these configurations together, each that of the node or of a secret, whose hash is made here. Keys that name no
    /// host are of no use and are passed over.
    pub fn new<'a>(configs: impl IntoIterator<Item = (&'a DockerConfig, Option<&'a PullSecret>)>) -> Self {
        let mut entries: Vec<(String, Entry)> = Vec::new();
        for (config, secret) in configs {
            for (key, auth) in &config.registries {
                let Some(registry) = Registry::parse(key) else { continue };
                let secret = secret
                    .map(|secret| PullSecret { credential_hash: credential_hash(auth), ..secret.clone() });
                let credential = PullCredential { auth: auth.clone(), secret };
                entries.push((registry.sort_key(), Entry { registry, credential }));
            }
        }
        // Of two that match, the longer one comes later in the order of texts. Stable, so that equal ones stay in
        // the order of their configurations.
        entries.sort_by(|(a, _), (b, _)| b.cmp(a));
        Self { entries: entries.into_iter().map(|(_, entry)| entry).collect() }
    }

    /// Credentials for this image in the order in which they are to be tried. None means that no one has any; a name
    /// that is no reference has none.
    pub fn lookup(&self, image: &str) -> Vec<PullCredential> {
        let Ok(reference) = ImageReference::parse(image) else { return Vec::new() };
        let (host, port) = split_port(&reference.registry);
        let target =
            Registry { host: host.to_owned(), port: port.to_owned(), path: format!("/{}", reference.path) };
        let matching = |matches: &dyn Fn(&Registry) -> bool| -> Vec<PullCredential> {
            let mut found: Vec<PullCredential> = Vec::new();
            for entry in self.entries.iter().filter(|entry| matches(&entry.registry)) {
                if !found.contains(&entry.credential) {
                    found.push(entry.credential.clone());
                }
            }
            found
        };
        let found = matching(&|registry| registry.matches(&target));
        if found.is_empty() && reference.registry == DEFAULT_REGISTRY {
            return matching(&|registry| registry.sort_key() == DEFAULT_REGISTRY_KEY);
        }
        found
    }

    /// Whether it has nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Registry {
    /// `[http[s]://]host[:port][/path]`; docker's API version at the beginning of the path isn't a part of it. None
    /// without a host.
    fn parse(key: &str) -> Option<Self> {
        let bare = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
        let bare = bare.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = bare.split_at(bare.find('/').unwrap_or(bare.len()));
        if authority.is_empty() || authority.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return None;
        }
        // Only the version goes: what follows keeps its slash.
        let path = if path.starts_with("/v1/") || path.starts_with("/v2/") { &path[3..] } else { path };
        let (host, port) = split_port(authority);
        let path = if path == "/" { "" } else { path };
        Some(Self { host: host.to_owned(), port: port.to_owned(), path: path.to_owned() })
    }

    fn sort_key(&self) -> String {
        let Self { host, port, path } = self;
        if port.is_empty() { format!("{host}{path}") } else { format!("{host}:{port}{path}") }
    }

    /// Ports are the same, hosts have equally many labels which match one by one, and the path begins with ours.
    fn matches(&self, target: &Self) -> bool {
        let (ours, theirs) = (self.host.split('.'), target.host.split('.'));
        self.port == target.port
            && target.path.starts_with(&self.path)
            && ours.clone().count() == theirs.clone().count()
            && ours.zip(theirs).all(|(pattern, label)| glob_matches(pattern, label))
    }
}

/// The host and the port, which is empty if there is none.
fn split_port(authority: &str) -> (&str, &str) {
    if let Some((host, rest)) = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host, rest.strip_prefix(':').unwrap_or_default());
    }
    match authority.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, port),
        Some(_) | None => (authority, ""),
    }
}

/// Whether a label fits a pattern of the shell's kind. A malformed one fits nothing.
fn glob_matches(pattern: &str, label: &str) -> bool {
    Glob::new(pattern).is_some_and(|glob| glob.matches(label))
}

#[cfg(test)]
mod tests;
