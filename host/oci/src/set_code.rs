//! Compiled code as a layer of a set: what its annotations say of it. Which of it is used is decided in
//! `witlet_core::node::compiled_code`.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};
use witlet_core::node::compiled_code::{CodeOffer, CodeTarget};

use crate::artifact::TITLE;
use crate::digest::digest_of;
use crate::manifest::{Layer, is_sha256};

/// Media type of compiled code.
pub const CODE_TYPE: &str = "application/vnd.witlet.compiled-code.v1alpha1";

/// Digest of the component that it was compiled from.
const COMPONENT: &str = "dev.witlet.code.component";
/// Name of the engine.
const ENGINE: &str = "dev.witlet.code.engine";
/// Hash of everything in the engine that shapes code.
const COMPATIBILITY: &str = "dev.witlet.code.compatibility";
/// Architecture of the processor.
const ARCHITECTURE: &str = "dev.witlet.code.architecture";
/// Features of the processor, with commas between them.
const CPU_FEATURES: &str = "dev.witlet.code.cpu-features";
/// How long each of them may be.
const ANNOTATION_BYTES_MAX: usize = 1024;
/// How many letters of a digest or a hash stand in the name of a layer.
const NAME_CHARS: usize = 12;

/// Compiled code on its way into a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetCode {
    /// Digest of the component, which the set has, too.
    pub component: String,
    /// What it was compiled for.
    pub target: CodeTarget,
    pub bytes: Bytes,
}

impl SetCode {
    /// Returns its layer in the manifest. It has a name of its own, so that those who pull a set without knowing of code have a file more.
    pub(crate) fn descriptor(&self) -> Value {
        let CodeTarget { engine, compatibility, architecture, cpu_features } = &self.target;
        let head = |text: &str| text.chars().take(NAME_CHARS).collect::<String>();
        let component = self.component.rsplit(':').next().unwrap_or_default();
        let name = format!("code/{}-{engine}-{architecture}-{}.cwasm", head(component), head(compatibility));
        json!({
            "mediaType": CODE_TYPE,
            "digest": digest_of(&self.bytes),
            "size": self.bytes.len(),
            "annotations": {
                TITLE: name,
                COMPONENT: self.component,
                ENGINE: engine,
                COMPATIBILITY: compatibility,
                ARCHITECTURE: architecture,
                CPU_FEATURES: cpu_features.join(","),
            },
        })
    }
}

/// Code by the annotations of its layer; none if they don't say all of it, or say it at too great length.
pub(crate) fn offer(annotations: &BTreeMap<String, String>, layer: &Layer) -> Option<CodeOffer> {
    let said = |key| annotations.get(key).filter(|text| text.len() <= ANNOTATION_BYTES_MAX).cloned();
    let component = said(COMPONENT).filter(|digest| is_sha256(digest))?;
    let cpu_features = said(CPU_FEATURES)?;
    let cpu_features =
        cpu_features.split(',').filter(|feature| !feature.is_empty()).map(str::to_owned).collect();
    let target = CodeTarget {
        engine: said(ENGINE)?,
        compatibility: said(COMPATIBILITY)?,
        architecture: said(ARCHITECTURE)?,
        cpu_features,
    };
    Some(CodeOffer { component, target, digest: layer.digest.clone(), size: layer.size })
}
