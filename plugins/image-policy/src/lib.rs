//! Admission handler: images come from allowed places only and, if configured, are pinned by digest.
//!
//! Shipped, but off. Its configuration:
//!
//! ```yaml
//! config:
//!   allow: ["registry.example.com", "docker.io/library/*"]   # a registry, or a glob over registry and repository
//!   requireDigest: true                                       # default: false
//!   exemptNamespaces: ["kube-system"]                         # names or globs; default: none
//! ```
//!
//! All images of a pod count: of init containers, sidecars, app and ephemeral containers and of image volumes. It decides
//! when a pod is new; an ephemeral container that is added to a running pod later isn't seen by admission.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod glob;
mod reference;

use serde::Deserialize;
use witlet_plugin_sdk::{
    AdmissionHandler, ContainerKind, Error, Operation, Pod, Request, Verdict, export_admission,
};

use glob::matches;
use reference::Reference;

/// Reason where an image comes from elsewhere, or from an unknown place.
pub const NOT_ALLOWED: &str = "ImageNotAllowed";

/// Reason where an image has no digest.
pub const NOT_PINNED: &str = "ImageNotPinned";

/// How many entries a list of the configuration may have.
const ENTRIES_MAX: usize = 1_000;

/// How long an entry may be.
const ENTRY_BYTES_MAX: usize = 512;

/// The handler.
pub struct ImagePolicy;

/// What is allowed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Config {
    /// Where images may come from: a registry (`registry.example.com:5000`), or a glob over registry and repository, without
    /// tag and digest (`docker.io/library/*`). `*` stands for anything without a slash, `**` for anything. Not empty.
    pub allow: Vec<String>,
    /// Whether every image must be named with a digest.
    #[serde(default)]
    pub require_digest: bool,
    /// Namespaces whose pods aren't checked, as names or globs.
    #[serde(default)]
    pub exempt_namespaces: Vec<String>,
}

/// The part of a volume that matters here.
#[derive(Deserialize)]
struct Volume {
    name: String,
    image: Option<ImageVolume>,
}

/// `image` of a volume.
#[derive(Deserialize)]
struct ImageVolume {
    reference: Option<String>,
}

impl AdmissionHandler for ImagePolicy {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        if config.allow.is_empty() {
            return Err(Error::invalid("allow", "must have at least one repository"));
        }
        check_entries("allow", &config.allow, |entry| {
            let registry = entry.split('/').next().unwrap_or_default();
            let has_tag = entry.contains('@')
                || entry.rsplit('/').next().is_some_and(|last| entry != last && last.contains(':'));
            if has_tag {
                Some("tags and digests aren't matched: name registry and repository only")
            } else if registry.contains(|letter: char| letter.is_ascii_uppercase()) {
                Some("names of registries are matched in small letters")
            } else {
                None
            }
        })?;
        check_entries("exemptNamespaces", &config.exempt_namespaces, |entry| {
            entry.contains('/').then_some("a namespace has no slash")
        })
    }

    fn admit(request: &Request<'_>, config: &Config) -> Result<Verdict, Error> {
        let pod = request.pod();
        let namespace = pod.identity().namespace;
        let is_exempt = config.exempt_namespaces.iter().any(|glob| matches(glob, &namespace));
        if request.operation() == Operation::Resize || is_exempt {
            return Ok(Verdict::Admit);
        }
        for (user, image) in images(&pod)? {
            if let Err((reason, problem)) = judge(&image, config) {
                return Ok(Verdict::reject(reason, format!("{user}: {problem}")));
            }
        }
        Ok(Verdict::Admit)
    }
}

/// Who uses which image, in the spec's order, volumes last.
fn images(pod: &Pod) -> Result<Vec<(String, String)>, Error> {
    let kind = |kind| match kind {
        ContainerKind::Init => "init container",
        ContainerKind::Sidecar => "sidecar",
        ContainerKind::App => "container",
        ContainerKind::Ephemeral => "ephemeral container",
    };
    let mut found: Vec<(String, String)> = pod
        .containers()
        .into_iter()
        .map(|container| (format!("{} {:?}", kind(container.kind), container.name), container.image))
        .collect();
    let volumes: Vec<Volume> = pod.at("/spec/volumes")?.unwrap_or_default();
    found.extend(volumes.into_iter().filter_map(|Volume { name, image }| {
        Some((format!("volume {name:?}"), image?.reference.unwrap_or_default()))
    }));
    Ok(found)
}

/// The error is a reason and one sentence.
fn judge(image: &str, config: &Config) -> Result<(), (&'static str, String)> {
    if image.is_empty() {
        return Err((NOT_ALLOWED, "no image is named".to_owned()));
    }
    let Some(reference) = Reference::parse(image) else {
        return Err((NOT_ALLOWED, format!("{image:?} is no reference to an image")));
    };
    let place = format!("{}/{}", reference.registry, reference.repository);
    let is_allowed = config.allow.iter().any(|entry| match entry.contains('/') {
        true => matches(entry, &place),
        false => matches(entry, &reference.registry),
    });
    if !is_allowed {
        return Err((NOT_ALLOWED, format!("image {place} is not from an allowed repository")));
    }
    if config.require_digest && reference.digest.is_none() {
        return Err((NOT_PINNED, format!("image {place} isn't pinned by a digest")));
    }
    Ok(())
}

/// Checks a list of the configuration; `problem` says what is wrong with an entry.
fn check_entries(
    key: &str,
    entries: &[String],
    problem: impl Fn(&str) -> Option<&'static str>,
) -> Result<(), Error> {
    if entries.len() > ENTRIES_MAX {
        return Err(Error::invalid(key, format!("{} entries are more than {ENTRIES_MAX}", entries.len())));
    }
    for (index, entry) in entries.iter().enumerate() {
        let problem = match entry.len() {
            0 => Some("may not be empty"),
            length if length > ENTRY_BYTES_MAX => Some("is too long"),
            _ => problem(entry),
        };
        if let Some(problem) = problem {
            return Err(Error::invalid(format!("{key}[{index}]"), problem));
        }
    }
    Ok(())
}

export_admission!(ImagePolicy);

#[cfg(test)]
mod tests;
