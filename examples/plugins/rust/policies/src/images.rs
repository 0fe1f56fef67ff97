//! Where images come from, and how they are pinned: those of all containers and of image volumes.

use std::collections::BTreeSet;

use serde::Deserialize;
use witlet_plugin_sdk_0_2::{AdmissionHandler, Error, Image, Operation, Request, Setup, Verdict};

/// Images come from these places: registries, or registries with the beginning of a path. What is in no registry doesn't.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedRegistries {
    /// Such as `registry.example.com` or `docker.io/library`.
    pub allow: Vec<String>,
}

impl AdmissionHandler for AllowedRegistries {
    fn validate(&self, _: &Setup<'_>) -> Result<(), Error> {
        let is_no_place =
            |place: &&String| place.is_empty() || place.starts_with('/') || place.ends_with('/');
        match self.allow.iter().find(is_no_place) {
            Some(place) => {
                Err(Error::invalid("allow", &format!("{place:?} is no registry, nor a path of one")))
            }
            None if self.allow.is_empty() => Err(Error::invalid("allow", "name one place at least")),
            None => Ok(()),
        }
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let is_allowed = |image: &Image| self.allow.iter().any(|place| image.is_within(place));
        let foreign = request.pod().images().filter(|image| !is_allowed(image));
        let objections =
            foreign.map(|image| format!("{image} doesn't come from {}", self.allow.join(" or ")));
        Ok(Verdict::reject_first("ImageNotAllowed", objections))
    }
}

/// No image has the tag `latest`, which is also that of images that name no tag; a digest outweighs it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoLatestTag {}

impl AdmissionHandler for NoLatestTag {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let images = request.pod().images();
        let latest =
            images.filter(|image| image.digest().is_none() && image.tag().as_deref() == Some("latest"));
        Ok(Verdict::reject_first("LatestTag", latest.map(|image| format!("{image} may change at any time"))))
    }
}

/// Every image has a digest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DigestRequired {}

impl AdmissionHandler for DigestRequired {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let unpinned = request.pod().images().filter(|image| image.digest().is_none());
        Ok(Verdict::reject_first("ImageNotPinned", unpinned.map(|image| format!("{image} has no digest"))))
    }
}

/// Containers state this pull policy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PullPolicy {
    /// Such as `Always`.
    pub image_pull_policy: String,
}

impl AdmissionHandler for PullPolicy {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let policy = &self.image_pull_policy;
        let others = request.pod().containers().filter(|container| container.pull_policy() != *policy);
        let objections = others.map(|container| format!("{container} doesn't have the pull policy {policy}"));
        Ok(Verdict::reject_first("PullPolicy", objections))
    }
}

/// A pod has at most so many different images.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImagesAtMost {
    /// How many.
    pub count: usize,
}

impl AdmissionHandler for ImagesAtMost {
    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let images: BTreeSet<String> = request.pod().images().map(|image| image.name()).collect();
        let excess = (images.len() > self.count)
            .then(|| format!("{} images are more than {}", images.len(), self.count));
        Ok(Verdict::reject_first("TooManyImages", excess))
    }
}

/// An image of a running pod is replaced by another tag or digest of its repository only.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageUpdates {}

impl AdmissionHandler for ImageUpdates {
    fn subscribes(&self) -> Vec<Operation> {
        vec![Operation::Update]
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let Some(old) = request.old_pod() else { return Ok(Verdict::admit()) };
        let part = |image: &Image| (image.place(), image.registry(), image.repository());
        let before: Vec<_> = old.images().map(|image| part(&image)).collect();
        let others = request.pod().images().filter(|image| !before.contains(&part(image)));
        let objections = others.map(|image| format!("{image} is no version of the image before"));
        Ok(Verdict::reject_first("OtherImage", objections))
    }
}
