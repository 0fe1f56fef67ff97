//! What the handler objects to.

use serde::Deserialize;
use witlet_plugin_sdk::{Container, Error, Rejection};

use crate::image::{Pin, Reference, parse};

/// The tag that moves.
const LATEST: &str = "latest";

/// The handler's `config:`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Registries that images may come from, with their ports; none means any. Files on the node have no registry
    /// and are always allowed.
    #[serde(default)]
    pub allowed_registries: Vec<String>,
}

/// Refuses names that no image's registry can have.
pub(crate) fn validate(config: &Config) -> Result<(), Error> {
    match config.allowed_registries.iter().find(|name| name.is_empty() || name.contains(['/', ' '])) {
        Some(name) => {
            Err(Error::invalid("allowedRegistries", format!("{name:?} is no registry: give host[:port]")))
        }
        None => Ok(()),
    }
}

/// What is wrong with a container's image, if anything. A container without an image isn't judged: it can't run.
pub(crate) fn objection(container: &Container, config: &Config) -> Option<Rejection> {
    let Container { name, image, .. } = container;
    if image.is_empty() {
        return None;
    }
    let Reference::Registry { registry, pin } = parse(image) else { return None };
    let reject = |reason: &str, problem: String| {
        let message = format!("container {name}: the image {image} {problem}");
        Some(Rejection { reason: reason.to_owned(), message })
    };
    let allowed = &config.allowed_registries;
    if !allowed.is_empty() && !allowed.iter().any(|name| name == registry) {
        return reject(
            "RegistryNotAllowed",
            format!("comes from {registry}, not from {}", allowed.join(" or ")),
        );
    }
    match pin {
        Pin::Digest => None,
        Pin::Tag(LATEST) => reject("LatestTag", "has the tag latest, which moves".to_owned()),
        Pin::Tag(_) => None,
        Pin::Nothing => reject("LatestTag", "has no tag, which means latest".to_owned()),
    }
}

#[cfg(test)]
mod tests;
