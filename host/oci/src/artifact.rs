//! What a component becomes in a registry: the CNCF's guidance for WebAssembly artifacts, as `wkg` and `oci-wasm` have it.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::json;

use crate::digest::digest_of;
use crate::manifest::{CONFIG_TYPE, LAYER_TYPE, MANIFEST_TYPE};

/// When the artifact was made.
pub(crate) const CREATED: &str = "org.opencontainers.image.created";
/// What a layer's file is called: `oras pull` writes only layers that say so.
pub(crate) const TITLE: &str = "org.opencontainers.image.title";

/// A component on its way into a registry.
#[derive(Clone, Debug)]
pub struct Artifact {
    pub wasm: Bytes,
    /// What others call its file when they pull it.
    pub file_name: String,
    /// Names of what it exports.
    pub exports: Vec<String>,
    /// Names of what it imports.
    pub imports: Vec<String>,
    /// When it was made; the same component and time give the same manifest.
    pub created: Timestamp,
    /// Annotations of the manifest, next to the time.
    pub annotations: BTreeMap<String, String>,
    /// A signed conformance report that goes next to it.
    pub report: Option<Bytes>,
}

/// The documents of an artifact.
pub(crate) struct Documents {
    pub(crate) config: Bytes,
    pub(crate) manifest: Bytes,
}

impl Artifact {
    pub(crate) fn documents(&self) -> Documents {
        let layer = digest_of(&self.wasm);
        let config = json!({
            "created": self.created.to_string(),
            "author": null,
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [layer],
            "component": {"exports": self.exports, "imports": self.imports, "target": null},
        });
        let config = config.to_string().into_bytes();
        let mut annotations = self.annotations.clone();
        annotations.entry(CREATED.to_owned()).or_insert_with(|| self.created.to_string());
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": {"mediaType": CONFIG_TYPE, "digest": digest_of(&config), "size": config.len()},
            "layers": [{
                "mediaType": LAYER_TYPE,
                "digest": layer,
                "size": self.wasm.len(),
                "annotations": {TITLE: self.file_name},
            }],
            "annotations": annotations,
        });
        Documents { config: config.into(), manifest: manifest.to_string().into_bytes().into() }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn an_artifact_is_what_others_read() {
        let artifact = Artifact {
            wasm: Bytes::from_static(b"\0asm\x0d\0\x01\0"),
            file_name: "a.wasm".to_owned(),
            exports: vec!["witlet:admission/handler@0.1.0".to_owned()],
            imports: vec!["witlet:host/log@0.1.0".to_owned()],
            created: "2026-01-02T03:04:05Z".parse().expect("a time"),
            annotations: BTreeMap::from([("org.opencontainers.image.title".to_owned(), "a.wasm".to_owned())]),
            report: None,
        };
        let Documents { config, manifest } = artifact.documents();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        expect![[r#"{"architecture":"wasm","author":null,"component":{"exports":["witlet:admission/handler@0.1.0"],"imports":["witlet:host/log@0.1.0"],"target":null},"created":"2026-01-02T03:04:05Z","layerDigests":["sha256:24eaf3439a60c96764c4f2c92a0a81b52bd4fe5d5b91f090184a0f6486b1bf29"],"os":"wasip2"}"#]].assert_eq(&text(&config));
        expect![[r#"{"annotations":{"org.opencontainers.image.created":"2026-01-02T03:04:05Z","org.opencontainers.image.title":"a.wasm"},"config":{"digest":"sha256:71c3571d4902eb7a9b812c22602552296974bfbf67e8ea90eefc57b97e5d058d","mediaType":"application/vnd.wasm.config.v0+json","size":284},"layers":[{"annotations":{"org.opencontainers.image.title":"a.wasm"},"digest":"sha256:24eaf3439a60c96764c4f2c92a0a81b52bd4fe5d5b91f090184a0f6486b1bf29","mediaType":"application/wasm","size":8}],"mediaType":"application/vnd.oci.image.manifest.v1+json","schemaVersion":2}"#]].assert_eq(&text(&manifest));
        assert_eq!(artifact.documents().manifest, manifest, "the same again");
    }
}
