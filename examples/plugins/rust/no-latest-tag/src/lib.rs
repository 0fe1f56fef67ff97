//! Example admission handler: images must be pinned by a tag other than `latest` or by a digest, and come from
//! registries that the operator allows.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod image;
mod policy;

use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Verdict, export_admission};

use policy::Config;

/// The handler.
pub struct NoLatestTag;

impl AdmissionHandler for NoLatestTag {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        policy::validate(config)
    }

    fn admit(request: &Request<'_>, config: &Config) -> Result<Verdict, Error> {
        let containers = request.pod().containers();
        let objection = containers.iter().find_map(|container| policy::objection(container, config));
        Ok(objection.map_or(Verdict::Admit, Verdict::Reject))
    }
}

export_admission!(NoLatestTag);

#[cfg(test)]
mod tests;
