//! What counts as a signature, and how one more is put next to those that are there.

use super::*;

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn layer(media_type: &str, digest: &str, annotations: Value) -> Value {
    json!({"mediaType": media_type, "digest": digest, "size": 200, "annotations": annotations})
}

fn found(layers_of: &[Value]) -> Vec<SignedLayer> {
    layers(json!({"layers": layers_of}).to_string().as_bytes()).expect("a manifest")
}

#[test]
fn only_signed_layers_are_checked_and_not_too_many() {
    let signed = json!({SIGNATURE_ANNOTATION: "c2ln"});
    let keyless = json!({SIGNATURE_ANNOTATION: "c2ln", CERTIFICATE_ANNOTATION: "-----BEGIN"});
    let others = [
        layer("application/wasm", DIGEST, signed.clone()),
        layer(SIMPLE_TYPE, "sha512:00", signed.clone()),
        layer(SIMPLE_TYPE, "../../etc/passwd", signed.clone()),
        layer(SIMPLE_TYPE, DIGEST, json!({"other": "c2ln"})),
        layer(SIMPLE_TYPE, DIGEST, json!({SIGNATURE_ANNOTATION: "x".repeat(SIGNATURE_CHARS_MAX + 1)})),
        json!({"mediaType": SIMPLE_TYPE, "digest": DIGEST, "size": 1 << 20, "annotations": signed}),
    ];
    assert_eq!(found(&others), []);
    let good = layer(SIMPLE_TYPE, DIGEST, signed);
    let expected = |certificate| SignedLayer {
        layer: Layer { digest: DIGEST.to_owned(), size: 200 },
        signature: "c2ln".to_owned(),
        certificate,
    };
    assert_eq!(
        found(&[good.clone(), layer(SIMPLE_TYPE, DIGEST, keyless)]),
        [expected(false), expected(true)]
    );
    assert_eq!(found(&vec![good; 100]).len(), SIGNATURES_MAX);
    assert_eq!(layers(b"{}"), Ok(Vec::new()));
    assert_eq!(layers(b"["), Err(ReferrersError::Malformed { line: 1, column: 1 }));
}

#[test]
fn bundles_are_kept_apart_from_reports_and_attestations_of_other_kinds() {
    let listed = |artifact_type: &str| json!({"mediaType": MANIFEST_TYPE, "digest": DIGEST, "size": 9, "artifactType": artifact_type});
    let index = json!({"manifests": [listed("application/spdx+json"), listed(BUNDLE_TYPE)]});
    assert_eq!(bundles(index.to_string().as_bytes()).expect("a list").len(), 1);
    let manifest = |media_type: &str, size: usize| {
        let layer = json!({"mediaType": media_type, "digest": DIGEST, "size": size});
        bundle_layer(json!({"layers": [layer]}).to_string().as_bytes()).expect("a manifest")
    };
    assert_eq!(manifest(BUNDLE_TYPE, 9).map(|layer| layer.size), Some(9));
    assert_eq!(manifest("application/wasm", 9), None);
    assert_eq!(manifest(BUNDLE_TYPE, SIGNATURE_BYTES_MAX + 1), None);
}

#[test]
fn one_more_signature_is_what_cosign_reads_and_keeps_the_others() {
    let first = with_signature(None, b"payload", "c2ln").expect("made");
    let manifest: Value = serde_json::from_slice(&first.manifest).expect("JSON");
    assert_eq!(manifest["config"]["digest"], digest_of(&first.config));
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.oci.image.config.v1+json");
    let found = layers(&first.manifest).expect("a manifest");
    assert_eq!((found.len(), &*found[0].signature), (1, "c2ln"));
    let again = with_signature(Some(&first.manifest), b"payload", "c2ln").expect("made");
    assert_eq!(again.manifest, first.manifest, "each once");
    let both = with_signature(Some(&first.manifest), b"payload", "b3RoZXI=").expect("made");
    assert_eq!(layers(&both.manifest).expect("a manifest").len(), 2, "two may sign the same");
    assert!(with_signature(Some(b"[]"), b"payload", "c2ln").is_err());
    assert!(with_signature(Some(b"none"), b"payload", "c2ln").is_err());
}

#[test]
fn what_is_kept_is_read_again() {
    let signatures = [
        ArtifactSignature::Simple {
            payload: b"{}".to_vec(),
            signature: "c2ln".to_owned(),
            certificate: true,
        },
        ArtifactSignature::Bundle(b"{\"a\":1}".to_vec()),
    ];
    assert_eq!(from_kept(&to_kept(&signatures)), signatures);
    assert_eq!(from_kept(&to_kept(&[ArtifactSignature::Bundle(vec![0xff])])), []);
    assert_eq!(from_kept(b"noise"), []);
}

#[test]
fn the_tag_is_the_digest_with_a_dash_and_an_end() {
    assert_eq!(tag("sha256:00"), "sha256-00.sig");
}
