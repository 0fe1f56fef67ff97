//! A set of plugins as an artifact: a manifest whose layers are files, the plugin file and what it names by relative paths. `oras pull`
//! reads it, too: each layer has its file's name as its title.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;
use witlet_core::node::compiled_code::CodeOffer;

use crate::artifact::{CREATED, TITLE};
use crate::digest::digest_of;
use crate::manifest::{COMPONENT_BYTES_MAX, LAYER_TYPE, Layer, MANIFEST_TYPE, SET_TYPE, is_sha256};
use crate::referrers::{EMPTY, EMPTY_TYPE};
use crate::set_code::{CODE_TYPE, SetCode, offer};

/// Media type of the layer that is the plugin file.
pub const PLUGIN_FILE_TYPE: &str = "application/vnd.witlet.plugin-configuration.v1alpha1+yaml";
/// Media type of a component.
pub const SET_COMPONENT_TYPE: &str = LAYER_TYPE;
/// Media type of any other file.
pub const SET_FILE_TYPE: &str = "application/octet-stream";
/// What the plugin file is called in the folder of a set.
pub const PLUGIN_FILE: &str = "plugins.yaml";
/// How many files a set may have: a plugin file, components, reports, data and compiled code.
pub const SET_FILES_MAX: usize = 192;
/// How large all files of a set may be together.
pub const SET_BYTES_MAX: u64 = 256 << 20;

/// Longest name of a file.
const NAME_BYTES_MAX: usize = 255;
/// How deep folders of a set may be.
const DEPTH_MAX: usize = 8;

/// Why a manifest is of no set. Each says the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetError {
    /// No JSON, or of another shape.
    #[error("the manifest is malformed at line {line}, column {column}: push the set again")]
    Malformed {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// Another kind of thing.
    #[error("artifact type must be {SET_TYPE}, found {found:?}: push a set with `witlet plugin push-set`")]
    Type { found: String },
    /// More files than a set may have.
    #[error("it has {files} files, more than {SET_FILES_MAX}")]
    Files { files: usize },
    /// Larger than a set may be.
    #[error("its files have {bytes} bytes, more than {SET_BYTES_MAX}")]
    TooLarge { bytes: u64 },
    /// No plugin file, or not in its place.
    #[error("it has no plugin file: its first layer must be {PLUGIN_FILE_TYPE} with the title {PLUGIN_FILE}")]
    NoPluginFile,
    /// A name that leads out of the folder, or is twice there.
    #[error("its file {name:?} has no name that a set may have: relative, without `..`, and each once")]
    Name {
        /// As the manifest has it.
        name: String,
    },
    /// A digest of a kind that isn't checked here, or a file that is too large.
    #[error("its file {name:?} has no digest of SHA-256, or more than {COMPONENT_BYTES_MAX} bytes")]
    Layer { name: String },
    /// Compiled code that doesn't say of what and for what it was compiled.
    #[error(
        "its compiled code {name:?} lacks an annotation that says of what and for what it is: push the set again"
    )]
    Code { name: String },
}

/// A file of a set on its way into a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetFile {
    /// Its name in the set's folder: relative, with `/`.
    pub name: String,
    pub media_type: &'static str,
    pub bytes: Bytes,
}

/// A set on its way into a registry.
#[derive(Clone, Debug)]
pub struct SetArtifact {
    /// Its files, the plugin file first.
    pub files: Vec<SetFile>,
    /// Compiled code of components among them.
    pub code: Vec<SetCode>,
    /// When it was made; the same files and time give the same manifest.
    pub created: Timestamp,
    /// Annotations of the manifest, next to the time.
    pub annotations: BTreeMap<String, String>,
}

/// A file of a set in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetLayer {
    pub(crate) name: String,
    pub(crate) layer: Layer,
}

/// The compiled code of a set in a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeOfSet {
    /// Digests of the components in the set.
    pub components: Vec<String>,
    /// What it has of them in compiled form.
    pub offers: Vec<CodeOffer>,
}

/// A layer of any kind.
struct ReadLayer {
    found: SetLayer,
    media_type: String,
    annotations: BTreeMap<String, String>,
}

impl SetArtifact {
    /// The manifest.
    pub(crate) fn manifest(&self) -> Vec<u8> {
        let mut annotations = self.annotations.clone();
        annotations.entry(CREATED.to_owned()).or_insert_with(|| self.created.to_string());
        let layers = self.files.iter().map(|file| {
            json!({
                "mediaType": file.media_type,
                "digest": digest_of(&file.bytes),
                "size": file.bytes.len(),
                "annotations": {TITLE: file.name},
            })
        });
        let layers = layers.chain(self.code.iter().map(SetCode::descriptor));
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "artifactType": SET_TYPE,
            "config": {"mediaType": EMPTY_TYPE, "digest": digest_of(EMPTY), "size": EMPTY.len()},
            "layers": layers.collect::<Vec<_>>(),
            "annotations": annotations,
        });
        manifest.to_string().into_bytes()
    }
}

/// Whether a set may have a file of this name.
pub fn is_set_name(name: &str) -> bool {
    let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    // As it is written: `a//b` and `a/./b` are other names of the same file.
    let is_written_so = name.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    is_plain
        && is_written_so
        && name.len() <= NAME_BYTES_MAX
        && name.split('/').count() <= DEPTH_MAX
        && !name.chars().any(char::is_control)
}

/// The files of a set, the plugin file first, without compiled code.
///
/// # Errors
///
/// When the manifest is of something else, or of a set that no node takes.
pub(crate) fn set_layers(manifest: &[u8]) -> Result<Vec<SetLayer>, SetError> {
    let layers = read_layers(manifest)?.into_iter();
    Ok(layers.filter(|layer| layer.media_type != CODE_TYPE).map(|layer| layer.found).collect())
}

/// The compiled code of a set, and what it can be of.
///
/// # Errors
///
/// As [`set_layers`], and when code doesn't say what it is.
pub(crate) fn set_code(manifest: &[u8]) -> Result<CodeOfSet, SetError> {
    let mut code = CodeOfSet::default();
    for ReadLayer { found: SetLayer { name, layer }, media_type, annotations } in read_layers(manifest)? {
        match &*media_type {
            SET_COMPONENT_TYPE => code.components.push(layer.digest),
            CODE_TYPE => code.offers.push(offer(&annotations, &layer).ok_or(SetError::Code { name })?),
            _ => {}
        }
    }
    Ok(code)
}

/// Returns all layers of a set.
fn read_layers(manifest: &[u8]) -> Result<Vec<ReadLayer>, SetError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Manifest {
        #[serde(default)]
        artifact_type: String,
        #[serde(default)]
        layers: Vec<FileDescriptor>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct FileDescriptor {
        media_type: String,
        digest: String,
        size: u64,
        #[serde(default)]
        annotations: BTreeMap<String, String>,
    }
    let Manifest { artifact_type, layers } = serde_json::from_slice(manifest)
        .map_err(|error| SetError::Malformed { line: error.line(), column: error.column() })?;
    if artifact_type != SET_TYPE {
        return Err(SetError::Type { found: artifact_type.chars().take(NAME_BYTES_MAX).collect() });
    }
    if layers.len() > SET_FILES_MAX {
        return Err(SetError::Files { files: layers.len() });
    }
    let bytes = layers.iter().fold(0_u64, |bytes, layer| bytes.saturating_add(layer.size));
    if bytes > SET_BYTES_MAX {
        return Err(SetError::TooLarge { bytes });
    }
    let (mut names, mut found) = (BTreeSet::new(), Vec::new());
    for (index, mut layer) in layers.into_iter().enumerate() {
        let name = layer.annotations.remove(TITLE).unwrap_or_default();
        let is_first = index == 0 && layer.media_type == PLUGIN_FILE_TYPE && name == PLUGIN_FILE;
        if index == 0 && !is_first {
            return Err(SetError::NoPluginFile);
        }
        // No file stands where another has a folder.
        let is_free = |name: &str| {
            let folder = format!("{name}/");
            names.iter().all(|known: &String| {
                known != name && !known.starts_with(&folder) && !name.starts_with(&format!("{known}/"))
            })
        };
        if !is_set_name(&name) || !is_free(&name) {
            return Err(SetError::Name { name: name.chars().take(NAME_BYTES_MAX).collect() });
        }
        if !is_sha256(&layer.digest) || layer.size > COMPONENT_BYTES_MAX {
            return Err(SetError::Layer { name });
        }
        names.insert(name.clone());
        let FileDescriptor { media_type, digest, size, annotations } = layer;
        let layer = SetLayer { name, layer: Layer { digest, size } };
        found.push(ReadLayer { found: layer, media_type, annotations });
    }
    if found.is_empty() { Err(SetError::NoPluginFile) } else { Ok(found) }
}

#[cfg(test)]
mod tests;
