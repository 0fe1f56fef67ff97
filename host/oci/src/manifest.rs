//! What of a manifest counts: the one layer that is the component (OCI image specification 1.1).

use serde::Deserialize;
use thiserror::Error;
pub(crate) use witlet_ports::is_sha256;

/// The only kind of manifest that is taken.
pub const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// A list of manifests.
pub const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
/// The layer that is a component.
pub const LAYER_TYPE: &str = "application/wasm";
/// `artifactType` of a set of plugins, which is no component.
pub const SET_TYPE: &str = "application/vnd.witlet.plugin-set.v1alpha1";
/// What stands next to that layer.
pub const CONFIG_TYPE: &str = "application/vnd.wasm.config.v0+json";
/// How large a manifest may be; registries refuse larger ones than 4 MiB, and those of components have a thousand bytes.
pub const MANIFEST_BYTES_MAX: usize = 1 << 20;
/// How large a component may be.
pub const COMPONENT_BYTES_MAX: u64 = 64 << 20;

/// The layer's media types: the standard one, and the one from before there was one.
const LAYER_TYPES: [&str; 2] = [LAYER_TYPE, "application/vnd.wasm.content.layer.v1+wasm"];
/// The configuration's media types that belong to them.
const CONFIG_TYPES: [&str; 2] = [CONFIG_TYPE, "application/vnd.wasm.config.v1+json"];
/// Lists of manifests, one for each platform.
const INDEX_TYPES: [&str; 2] = [INDEX_TYPE, "application/vnd.docker.distribution.manifest.list.v2+json"];
/// How much of a foreign text is reported.
const TEXT_CHARS_MAX: usize = 128;

/// The layer that is the component, or the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// `sha256:` and 64 hexadecimal digits in lower case.
    pub digest: String,
    /// In bytes, at most as many as there may be.
    pub size: u64,
}

/// Why a manifest is of no component. Each says the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// No JSON, or of another shape.
    #[error("the manifest is malformed at line {line}, column {column}: push the component again")]
    Malformed {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// A list of manifests.
    #[error(
        "the digest is that of an image index with {manifests} manifests: use the digest of the component's manifest"
    )]
    Index {
        /// How many it lists.
        manifests: usize,
    },
    /// Another kind of thing.
    #[error(
        "the manifest is {media_type:?}, expected {MANIFEST_TYPE}: push the component as an OCI artifact, with `witlet plugin push` or `wkg oci push`"
    )]
    Type {
        /// What it says it is.
        media_type: String,
    },
    /// A set of plugins.
    #[error(
        "expected a component, found a set of plugins: the annotation witlet.dev/plugin-set of a Node chooses it"
    )]
    Set,
    /// The artifact isn't one of WebAssembly.
    #[error(
        "its configuration is {media_type:?}, expected {}: push the component with `wkg oci push`", CONFIG_TYPES[0]
    )]
    Config { media_type: String },
    #[error("the manifest must have one layer, found {layers}: push the component with `wkg oci push`")]
    Layers { layers: usize },
    /// The layer is something else.
    #[error("its layer is {media_type:?}, expected {}: push it with `wkg oci push`", LAYER_TYPES[0])]
    Layer { media_type: String },
    /// The layer's digest is of a kind that isn't checked here.
    #[error(
        "its layer's digest must be `sha256:` and 64 lower-case hexadecimal digits: push the component again"
    )]
    Digest,
    /// Larger than any component should be.
    #[error("its layer must have at most {COMPONENT_BYTES_MAX} bytes, found {bytes}")]
    TooLarge {
        /// As the manifest says.
        bytes: u64,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u32,
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    manifests: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
}

/// The component's layer. The bytes are those that have the digest which was asked for: what the registry says next to
/// them counts for nothing.
///
/// # Errors
/// The manifest is malformed, or isn't a component's.
pub fn component_layer(manifest: &[u8]) -> Result<Layer, ManifestError> {
    let document: Document = serde_json::from_slice(manifest)
        .map_err(|error| ManifestError::Malformed { line: error.line(), column: error.column() })?;
    let kind = document.media_type.as_deref().unwrap_or(MANIFEST_TYPE);
    if INDEX_TYPES.contains(&kind) || (document.config.is_none() && !document.manifests.is_empty()) {
        return Err(ManifestError::Index { manifests: document.manifests.len() });
    }
    if kind != MANIFEST_TYPE || document.schema_version != 2 {
        return Err(ManifestError::Type { media_type: shortened(kind) });
    }
    if document.artifact_type.as_deref() == Some(SET_TYPE) {
        return Err(ManifestError::Set);
    }
    let config = document.config.as_ref().map(|config| config.media_type.as_str()).unwrap_or_default();
    if !CONFIG_TYPES.contains(&config) {
        return Err(ManifestError::Config { media_type: shortened(config) });
    }
    let [layer] = document.layers.as_slice() else {
        return Err(ManifestError::Layers { layers: document.layers.len() });
    };
    if !LAYER_TYPES.contains(&layer.media_type.as_str()) {
        return Err(ManifestError::Layer { media_type: shortened(&layer.media_type) });
    }
    if !is_sha256(&layer.digest) {
        return Err(ManifestError::Digest);
    }
    if layer.size > COMPONENT_BYTES_MAX {
        return Err(ManifestError::TooLarge { bytes: layer.size });
    }
    Ok(Layer { digest: layer.digest.clone(), size: layer.size })
}

/// Why a manifest is of no artifact with one file. Each says the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayerError {
    /// No JSON, or of another shape.
    #[error("the manifest is malformed at line {line}, column {column}: push the file again")]
    Malformed {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// Another kind of thing, a list of manifests among them.
    #[error("the manifest is {media_type:?}, expected {MANIFEST_TYPE}: push the file with `oras push`")]
    Type {
        /// What it says it is.
        media_type: String,
    },
    #[error("the artifact must have one layer, found {layers}: push one file alone")]
    Layers { layers: usize },
    /// The layer's digest is of a kind that isn't checked here.
    #[error("its layer's digest must be `sha256:` and 64 lower-case hexadecimal digits: push the file again")]
    Digest,
    /// Larger than it may be.
    #[error("its layer must have at most {bytes_max} bytes, found {bytes}")]
    TooLarge {
        /// As the manifest says.
        bytes: u64,
        /// As many as there may be.
        bytes_max: u64,
    },
}

/// The one layer of an artifact, whatever it is.
///
/// # Errors
/// The manifest is malformed, isn't an artifact's, or its layer isn't one that may be taken.
pub fn only_layer(manifest: &[u8], bytes_max: u64) -> Result<Layer, LayerError> {
    let document: Document = serde_json::from_slice(manifest)
        .map_err(|error| LayerError::Malformed { line: error.line(), column: error.column() })?;
    let kind = document.media_type.as_deref().unwrap_or(MANIFEST_TYPE);
    if kind != MANIFEST_TYPE || document.schema_version != 2 {
        return Err(LayerError::Type { media_type: shortened(kind) });
    }
    let [Descriptor { digest, size, .. }] = document.layers.as_slice() else {
        return Err(LayerError::Layers { layers: document.layers.len() });
    };
    if !is_sha256(digest) {
        return Err(LayerError::Digest);
    }
    if *size > bytes_max {
        return Err(LayerError::TooLarge { bytes: *size, bytes_max });
    }
    Ok(Layer { digest: digest.clone(), size: *size })
}

fn shortened(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests;
