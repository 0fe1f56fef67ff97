//! Which manifests are of a component.

use serde_json::{Value, json};

use super::*;

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn layer() -> Value {
    json!({"mediaType": "application/wasm", "digest": DIGEST, "size": 8})
}

fn manifest() -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": {"mediaType": "application/vnd.wasm.config.v0+json", "digest": DIGEST, "size": 2},
        "layers": [layer()],
        "annotations": {"org.opencontainers.image.title": "redis"},
    })
}

fn judged(value: &Value) -> Result<Layer, ManifestError> {
    component_layer(value.to_string().as_bytes())
}

#[test]
fn the_standard_form_and_the_one_before_it_are_taken() {
    let expected = Ok(Layer { digest: DIGEST.to_owned(), size: 8 });
    assert_eq!(judged(&manifest()), expected);
    let mut untyped = manifest();
    untyped.as_object_mut().expect("an object").remove("mediaType");
    assert_eq!(judged(&untyped), expected);
    let mut legacy = manifest();
    legacy["config"]["mediaType"] = json!("application/vnd.wasm.config.v1+json");
    legacy["layers"][0]["mediaType"] = json!("application/vnd.wasm.content.layer.v1+wasm");
    assert_eq!(judged(&legacy), expected);
}

#[test]
fn anything_else_is_refused_by_what_it_is() {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut value = manifest();
        change(&mut value);
        judged(&value).expect_err("refused")
    };
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{"digest": DIGEST}, {"digest": DIGEST}],
    });
    assert_eq!(judged(&index), Err(ManifestError::Index { manifests: 2 }));
    let untyped = json!({"schemaVersion": 2, "manifests": [{"digest": DIGEST}]});
    assert_eq!(judged(&untyped), Err(ManifestError::Index { manifests: 1 }));
    let docker = "application/vnd.docker.distribution.manifest.v2+json";
    assert_eq!(
        changed(&|value| value["mediaType"] = json!(docker)),
        ManifestError::Type { media_type: docker.to_owned() }
    );
    assert_eq!(changed(&|value| value["artifactType"] = json!(SET_TYPE)), ManifestError::Set);
    let image = "application/vnd.oci.image.config.v1+json";
    assert_eq!(
        changed(&|value| value["config"]["mediaType"] = json!(image)),
        ManifestError::Config { media_type: image.to_owned() }
    );
    assert_eq!(
        changed(&|value| value["layers"] = json!([layer(), layer()])),
        ManifestError::Layers { layers: 2 }
    );
    assert_eq!(changed(&|value| value["layers"] = json!([])), ManifestError::Layers { layers: 0 });
    let tar = "application/vnd.oci.image.layer.v1.tar+gzip";
    assert_eq!(
        changed(&|value| value["layers"][0]["mediaType"] = json!(tar)),
        ManifestError::Layer { media_type: tar.to_owned() }
    );
    for digest in ["sha512:00", "sha256:0", "sha256:../../../etc/passwd", &DIGEST.to_uppercase()] {
        assert_eq!(changed(&|value| value["layers"][0]["digest"] = json!(digest)), ManifestError::Digest);
    }
    let bytes = COMPONENT_BYTES_MAX + 1;
    assert_eq!(
        changed(&|value| value["layers"][0]["size"] = json!(bytes)),
        ManifestError::TooLarge { bytes }
    );
    assert!(matches!(
        changed(&|value| value["layers"][0]["size"] = json!(-1)),
        ManifestError::Malformed { .. }
    ));
    assert!(matches!(component_layer(b"<html>"), Err(ManifestError::Malformed { line: 1, column: 1 })));
}
