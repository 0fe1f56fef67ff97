//! Images of all containers and of image volumes, their references taken apart as container runtimes do.

use serde::Deserialize;
use witlet_plugin_sdk::{Error, Pod};

/// An image, and where the pod names it.
pub(crate) struct Image {
    place: String,
    /// Registry and repository; none of what is in no registry.
    name: Option<String>,
    /// As the pod has it.
    written: String,
    tag: Option<String>,
    digest: Option<String>,
}

/// What has an image.
#[derive(Default, Deserialize)]
struct Used {
    #[serde(default)]
    image: String,
}

/// A volume that may have one.
#[derive(Deserialize)]
struct Volume {
    image: Option<Source>,
}

/// `image` of a volume.
#[derive(Deserialize)]
struct Source {
    #[serde(default)]
    reference: String,
}

impl Image {
    fn new(place: String, written: String) -> Self {
        if written.starts_with("file:") || written.is_empty() {
            return Self { place, name: None, written, tag: None, digest: None };
        }
        let (name, digest) = match written.split_once('@') {
            Some((name, digest)) => (name, Some(digest.to_owned())),
            None => (written.as_str(), None),
        };
        let is_registry = |first: &str| first == "localhost" || first.contains(['.', ':']);
        let (registry, path) = match name.split_once('/') {
            Some((first, path)) if is_registry(first) => (first, path),
            _ => ("docker.io", name),
        };
        // A colon before the last slash isn't a tag's.
        let last = path.rfind('/').map_or(0, |slash| slash + 1);
        let (repository, tag) = match path[last..].find(':') {
            Some(colon) => (&path[..last + colon], Some(path[last + colon + 1..].to_owned())),
            None => (path, None),
        };
        let folder = if registry == "docker.io" && !repository.contains('/') { "library/" } else { "" };
        let tag = tag.or_else(|| digest.is_none().then(|| "latest".to_owned()));
        Self { place, name: Some(format!("{registry}/{folder}{repository}")), written, tag, digest }
    }

    /// As messages have it, with all that its name leaves out.
    pub(crate) fn shown(&self) -> String {
        let Self { place, name, written, tag, digest } = self;
        let tag = tag.as_ref().map_or_else(String::new, |tag| format!(":{tag}"));
        let digest = digest.as_ref().map_or_else(String::new, |digest| format!("@{digest}"));
        let full = name.as_ref().map_or_else(|| written.clone(), |name| format!("{name}{tag}{digest}"));
        format!("image {full:?} ({place})")
    }

    /// Whether it is in this place or below it, in whole parts between slashes.
    pub(crate) fn is_within(&self, place: &str) -> bool {
        let rest = self.name.as_ref().and_then(|name| name.strip_prefix(place));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        self.tag.as_deref() == Some(tag)
    }

    pub(crate) fn is_pinned(&self) -> bool {
        self.digest.is_some()
    }
}

/// Those of init containers, containers, ephemeral containers and volumes.
pub(crate) fn images(pod: &Pod) -> Result<Vec<Image>, Error> {
    let mut all = Vec::new();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let used: Vec<Used> = pod.at(&format!("/spec/{list}"))?.unwrap_or_default();
        let used = used.into_iter().enumerate();
        all.extend(used.map(|(at, used)| Image::new(format!("spec.{list}[{at}].image"), used.image)));
    }
    let volumes: Vec<Volume> = pod.at("/spec/volumes")?.unwrap_or_default();
    all.extend(volumes.into_iter().enumerate().filter_map(|(at, volume)| {
        Some(Image::new(format!("spec.volumes[{at}].image.reference"), volume.image?.reference))
    }));
    Ok(all)
}
