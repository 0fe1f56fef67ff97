//! Example admission handler: images come from places that the configuration names. What it does in detail stands at the top of
//! `examples/plugins/cases/image-policy.yaml`; the same plugin exists in other languages.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod reference;

use serde::Deserialize;
use witlet_plugin_sdk::{AdmissionHandler, Error, Operation, Request, Verdict, export_admission};

use reference::Reference;

/// Reason where an image comes from elsewhere.
const NOT_ALLOWED: &str = "ImageNotAllowed";
/// Reason where an image could be another one tomorrow.
const NOT_PINNED: &str = "ImageNotPinned";

/// The handler.
pub struct ImagePolicy;

/// The plugin's `config:`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Registries, or registries with the beginning of a path.
    pub allow: Vec<String>,
    /// Whether every image must have a digest.
    #[serde(default)]
    pub require_digest: bool,
}

impl AdmissionHandler for ImagePolicy {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        if config.allow.is_empty() {
            return Err(Error::invalid("allow", "must have at least one repository"));
        }
        for (index, place) in config.allow.iter().enumerate() {
            if place.is_empty() || place.starts_with('/') || place.ends_with('/') {
                let problem = "a place isn't empty and neither begins nor ends with a slash";
                return Err(Error::invalid(format!("allow[{index}]"), problem));
            }
        }
        Ok(())
    }

    fn admit(request: &Request<'_>, config: &Config) -> Result<Verdict, Error> {
        // The images of a running pod were admitted before.
        if request.operation() == Operation::Resize {
            return Ok(Verdict::Admit);
        }
        for container in request.pod().containers() {
            if let Err((reason, problem)) = judge(&container.image, config) {
                return Ok(Verdict::reject(reason, format!("container {:?}: {problem}", container.name)));
            }
        }
        Ok(Verdict::Admit)
    }
}

/// What is wrong with an image: a reason and words.
fn judge(image: &str, config: &Config) -> Result<(), (&'static str, String)> {
    if image.is_empty() {
        return Err((NOT_ALLOWED, "no image is named".to_owned()));
    }
    let reference = Reference::parse(image);
    let place = reference.place();
    if !config.allow.iter().any(|allowed| is_within(&place, allowed)) {
        return Err((NOT_ALLOWED, format!("{place} isn't allowed")));
    }
    if config.require_digest && !reference.is_pinned() {
        return Err((NOT_PINNED, format!("{place} isn't pinned by a digest")));
    }
    Ok(())
}

/// Whether a place is the allowed one or lies below it: in whole parts between slashes.
fn is_within(place: &str, allowed: &str) -> bool {
    place.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

export_admission!(ImagePolicy);

#[cfg(test)]
mod tests;
