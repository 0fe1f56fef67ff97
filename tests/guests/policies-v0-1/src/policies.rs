//! The policies. Each begins with its configuration; what it decodes of the pod by itself stands before it.

use std::path::Path;

use serde::Deserialize;
use witlet_plugin_sdk::{Error, Pod};

use crate::Policy;
use crate::containers::containers;
use crate::images::{Image, images};

/// Images come from these places.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedRegistries {
    allow: Vec<String>,
}

impl Policy for AllowedRegistries {
    const REASON: &'static str = "ImageNotAllowed";

    fn validate(&self) -> Result<(), Error> {
        let is_no_place =
            |place: &&String| place.is_empty() || place.starts_with('/') || place.ends_with('/');
        match self.allow.iter().find(is_no_place) {
            Some(place) => {
                Err(Error::invalid("allow", format!("{place:?} is no registry, nor a path of one")))
            }
            None if self.allow.is_empty() => Err(Error::invalid("allow", "name one place at least")),
            None => Ok(()),
        }
    }

    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error> {
        let is_allowed = |image: &Image| self.allow.iter().any(|place| image.is_within(place));
        let foreign = images(pod)?.into_iter().find(|image| !is_allowed(image));
        Ok(foreign.map(|image| format!("{} doesn't come from {}", image.shown(), self.allow.join(" or "))))
    }
}

/// No image has the tag `latest` without a digest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoLatestTag {}

impl Policy for NoLatestTag {
    const REASON: &'static str = "LatestTag";

    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error> {
        let latest = images(pod)?.into_iter().find(|image| !image.is_pinned() && image.has_tag("latest"));
        Ok(latest.map(|image| format!("{} may change at any time", image.shown())))
    }
}

/// Every image has a digest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DigestRequired {}

impl Policy for DigestRequired {
    const REASON: &'static str = "ImageNotPinned";

    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error> {
        let unpinned = images(pod)?.into_iter().find(|image| !image.is_pinned());
        Ok(unpinned.map(|image| format!("{} has no digest", image.shown())))
    }
}

/// No container is privileged.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoPrivileged {}

impl Policy for NoPrivileged {
    const REASON: &'static str = "Privileged";

    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error> {
        let privileged = containers(pod)?.into_iter().find(|it| it.security_context.privileged);
        Ok(privileged.map(|it| format!("{} is privileged", it.shown())))
    }
}

/// Containers add no capabilities but these, and drop those.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    drop: Vec<String>,
}

impl Policy for Capabilities {
    const REASON: &'static str = "Capabilities";

    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error> {
        for container in containers(pod)? {
            let has = &container.security_context.capabilities;
            if let Some(excess) = has.add.iter().find(|name| !self.allow.contains(name)) {
                return Ok(Some(format!("{} adds the capability {excess}", container.shown())));
            }
            if let Some(kept) = self.drop.iter().find(|name| !has.drop.contains(name)) {
                return Ok(Some(format!("{} doesn't drop the capability {kept}", container.shown())));
            }
        }
        Ok(None)
    }
}

/// No container may start as root.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunAsNonRoot {}

impl Policy for RunAsNonRoot {
    const REASON: &'static str = "RunAsRoot";

    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error> {
        let root = containers(pod)?.into_iter().find(|it| it.security_context.run_as_non_root != Some(true));
        Ok(root.map(|it| format!("{} may start as root", it.shown())))
    }
}

/// Every container states a seccomp profile that filters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeccompRequired {}

impl Policy for SeccompRequired {
    const REASON: &'static str = "NoSeccomp";

    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error> {
        let unfiltered = containers(pod)?.into_iter().find(|it| {
            let profile = it.security_context.seccomp_profile.as_ref();
            profile.is_none_or(|profile| profile.kind == "Unconfined")
        });
        Ok(unfiltered.map(|it| format!("{} has no seccomp profile", it.shown())))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HostPathVolume {
    name: String,
    host_path: Option<HostPath>,
}

#[derive(Deserialize)]
struct HostPath {
    path: String,
}

/// Volumes bring no paths of the host but these and what is below them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoHostPath {
    #[serde(default)]
    allow: Vec<String>,
}

impl Policy for NoHostPath {
    const REASON: &'static str = "HostPath";

    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error> {
        let allowed = |path: &str| self.allow.iter().any(|folder| Path::new(path).starts_with(folder));
        let volumes: Vec<HostPathVolume> = pod.at("/spec/volumes")?.unwrap_or_default();
        let foreign = volumes.into_iter().find_map(|HostPathVolume { name, host_path }| {
            let path = host_path?.path;
            (path.contains("..") || !allowed(&path)).then_some((name, path))
        });
        Ok(foreign.map(|(name, path)| format!("volume {name:?} brings {path} of the host")))
    }
}

/// Pods share no namespace with the host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoHostNamespaces {}

impl Policy for NoHostNamespaces {
    const REASON: &'static str = "HostNamespace";

    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error> {
        for field in ["hostNetwork", "hostPID", "hostIPC"] {
            if pod.at(&format!("/spec/{field}"))? == Some(true) {
                return Ok(Some(format!("the pod has {field}")));
            }
        }
        Ok(None)
    }
}

/// Containers are limited in these resources; ephemeral containers have no resources.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsRequired {
    resources: Vec<String>,
}

impl Policy for LimitsRequired {
    const REASON: &'static str = "NoLimit";

    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error> {
        let containers = containers(pod)?.into_iter().filter(|it| !it.is_ephemeral());
        let mut objections = containers.filter_map(|it| {
            let missing = self.resources.iter().find(|name| !it.resources.limits.contains_key(*name))?;
            Some(format!("{} has no limit of {missing}", it.shown()))
        });
        Ok(objections.next())
    }
}

#[derive(Deserialize)]
struct ProjectedVolume {
    projected: Option<Projected>,
}

#[derive(Deserialize)]
struct Projected {
    #[serde(default)]
    sources: Vec<ProjectedSource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProjectedSource {
    service_account_token: Option<Token>,
}

#[derive(Deserialize)]
struct Token {}

/// No volume brings a token of a service account.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoServiceAccountToken {}

impl Policy for NoServiceAccountToken {
    const REASON: &'static str = "ServiceAccountToken";

    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error> {
        let volumes: Vec<ProjectedVolume> = pod.at("/spec/volumes")?.unwrap_or_default();
        let mut sources = volumes.into_iter().filter_map(|it| it.projected).flat_map(|it| it.sources);
        if !sources.any(|source| source.service_account_token.is_some()) {
            return Ok(None);
        }
        let account: Option<String> = pod.at("/spec/serviceAccountName")?;
        let account = account.unwrap_or_else(|| "default".to_owned());
        Ok(Some(format!("a volume brings a token of the service account {account}")))
    }
}
