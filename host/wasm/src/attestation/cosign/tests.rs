//! Signatures that openssl alone made (`openssl.sh`, next to this), and ones of our own that openssl's key verifies.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use sha2::Digest as _;
use witlet_core::error::one_line;

use super::*;
use crate::attestation::KeyError;

const VECTORS: &str = include_str!("openssl.json");

fn vectors() -> Value {
    serde_json::from_str(VECTORS).expect("JSON")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn key(kind: &str) -> ArtifactKey {
    ArtifactKey::from_pem(text(&vectors()["keys"][kind]).as_bytes()).expect(kind)
}

fn digest(manifest: &[u8]) -> String {
    format!("sha256:{}", hex::encode(sha2::Sha256::digest(manifest)))
}

/// Verifies signatures of the vectors' manifest.
fn verified(signatures: &[ArtifactSignature], keys: &[ArtifactKey]) -> Result<AcceptedSignature, String> {
    let manifest = text(&vectors()["manifest"]).into_bytes();
    let artifact = SignedArtifact { digest: &digest(&manifest), manifest: &manifest };
    verify_artifact(artifact, signatures, keys).map_err(|error| one_line(&error))
}

fn simple_of(payload: &str, signature: &str, certificate: bool) -> ArtifactSignature {
    ArtifactSignature::Simple {
        payload: payload.as_bytes().to_vec(),
        signature: signature.to_owned(),
        certificate,
    }
}

fn payload_of(kind: &str) -> ArtifactSignature {
    let vectors = vectors();
    simple_of(&text(&vectors["payload"]), &text(&vectors["payloadSignatures"][kind]), false)
}

fn bundle_of(material: &Value, content: &Value) -> ArtifactSignature {
    let mut bundle = json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": material,
    });
    for (name, value) in content.as_object().expect("an object") {
        bundle[name] = value.clone();
    }
    ArtifactSignature::Bundle(bundle.to_string().into_bytes())
}

fn with_hint() -> Value {
    json!({"publicKey": {"hint": "jeQ9dw=="}, "tlogEntries": []})
}

/// A bundle with an envelope around one of the vectors' statements.
fn enveloped(statement: &str, signature: &str) -> Value {
    let payload = STANDARD.encode(text(&vectors()[statement]));
    let signatures = json!([{"sig": vectors()[signature], "keyid": ""}]);
    json!({"dsseEnvelope": {"payload": payload, "payloadType": "application/vnd.in-toto+json", "signatures": signatures}})
}

fn message() -> Value {
    let message_digest = json!({"algorithm": "SHA2_256", "digest": "AA=="});
    json!({"messageSignature": {"messageDigest": message_digest, "signature": vectors()["manifestSignature"]}})
}

#[test]
fn a_signature_of_the_tag_counts_with_every_kind_of_key() {
    for kind in ["p256", "p384", "ed25519", "rsa"] {
        let accepted = verified(&[payload_of("other"), payload_of(kind)], &[key(kind)]).expect(kind);
        assert_eq!((accepted.key_index, accepted.key_id), (0, key(kind).id()));
    }
    let keys = ["rsa", "ed25519", "p256"].map(key);
    assert_eq!(verified(&[payload_of("p256")], &keys).expect("signed").key_index, 2);
}

#[test]
fn a_bundle_counts_with_an_envelope_and_with_a_signature_of_the_manifest() {
    for content in [enveloped("statement", "statementSignature"), message()] {
        let bundle = bundle_of(&with_hint(), &content);
        assert_eq!(verified(&[bundle], &[key("p256")]).map(|it| it.key_index), Ok(0), "{content}");
    }
}

#[test]
fn what_does_not_count_says_why() {
    let vectors = vectors();
    let (payload, signature) = (text(&vectors["payload"]), text(&vectors["payloadSignatures"]["p256"]));
    let certificate = json!({"certificate": {"rawBytes": "AA=="}});
    let cases: [(&str, Vec<ArtifactSignature>, Expect); 9] = [
        ("none", vec![], expect!["it has no signature"]),
        (
            "another key's",
            vec![payload_of("other")],
            expect!["it has 1 signature, and none counts: not made with one of the accepted keys"],
        ),
        (
            "another payload",
            vec![simple_of(&payload.replace("team-rules", "team-rulez"), &signature, false)],
            expect!["it has 1 signature, and none counts: not made with one of the accepted keys"],
        ),
        (
            "keyless",
            vec![simple_of(&payload, "AA==", true), bundle_of(&certificate, &message())],
            expect![
                "it has 2 signatures, and none counts: a keyless signature (with a certificate) is not supported: sign with `cosign sign --key`"
            ],
        ),
        (
            "a bundle with another key's hint",
            vec![bundle_of(&with_hint(), &enveloped("sbom", "statementSignature"))],
            expect![[
                r#"it has 1 signature, and none counts: not made with one of the accepted keys, but with key "jeQ9dw==""#
            ]],
        ),
        (
            "an attestation that is no signature",
            vec![bundle_of(&with_hint(), &enveloped("sbom", "sbomSignature")), payload_of("other")],
            expect![[
                r#"it has 2 signatures, and none counts: the signed statement must be https://sigstore.dev/cosign/sign/v1, found "https://spdx.dev/Document""#
            ]],
        ),
        (
            "no Base64",
            vec![simple_of(&payload, "%", false)],
            expect!["it has 1 signature, and none counts: malformed: the signature isn't Base64"],
        ),
        (
            "no bundle",
            vec![ArtifactSignature::Bundle(b"{}".to_vec())],
            expect!["it has 1 signature, and none counts: malformed: not a Sigstore bundle"],
        ),
        (
            "an empty bundle",
            vec![bundle_of(&with_hint(), &json!({}))],
            expect![
                "it has 1 signature, and none counts: malformed: the bundle has neither an envelope nor a signature"
            ],
        ),
    ];
    for (what, signatures, expected) in cases {
        let keys = if what == "keyless" { vec![key("other")] } else { vec![key("p256")] };
        expected.assert_eq(&verified(&signatures, &keys).expect_err(what));
    }
}

#[test]
fn a_signature_of_another_manifest_does_not_count() {
    let signed = digest(text(&vectors()["manifest"]).as_bytes());
    let other = b"{}";
    let artifact = SignedArtifact { digest: &digest(other), manifest: other };
    let bundle = bundle_of(&with_hint(), &enveloped("statement", "statementSignature"));
    for signature in [payload_of("p256"), bundle] {
        let fault = verify_artifact(artifact, &[signature], &[key("p256")]).expect_err("another's");
        let nearest = SignatureFault::OtherArtifact { found: vec![signed.clone()] };
        assert_eq!(fault, SignaturesError::NoneCounts { count: 1, nearest });
    }
    let bundle = bundle_of(&with_hint(), &message());
    let fault = verify_artifact(artifact, std::slice::from_ref(&bundle), &[key("p256")]);
    assert!(matches!(
        fault,
        Err(SignaturesError::NoneCounts { nearest: SignatureFault::OtherKey { .. }, .. })
    ));
    let without = SignedArtifact { digest: &signed, manifest: b"" };
    assert!(verify_artifact(without, &[bundle], &[key("p256")]).is_err(), "its bytes aren't known");
}

#[test]
fn our_own_signature_is_one_of_the_key_that_openssl_made() {
    let vectors = vectors();
    let signing =
        ArtifactSigningKey::from_pem(text(&vectors["privateKey"]).as_bytes()).expect("a private key");
    assert_eq!(signing.public(), key("p256"));
    let signed = digest(text(&vectors["manifest"]).as_bytes());
    let made = sign_artifact("registry.example.com/plugins/team-rules", &signed, &signing).expect("signed");
    assert_eq!(String::from_utf8(made.payload.clone()).expect("text"), text(&vectors["payload"]));
    let made =
        ArtifactSignature::Simple { payload: made.payload, signature: made.signature, certificate: false };
    assert_eq!(verified(&[made], &[key("p256")]).map(|it| it.key_index), Ok(0));
}

#[test]
fn our_own_bundle_is_one_of_the_key_that_openssl_made() {
    let vectors = vectors();
    let signing =
        ArtifactSigningKey::from_pem(text(&vectors["privateKey"]).as_bytes()).expect("a private key");
    let manifest = text(&vectors["manifest"]);
    let signed = digest(manifest.as_bytes());
    let made = ArtifactSignature::Bundle(sign_bundle(&signed, &signing).expect("signed"));
    assert_eq!(verified(std::slice::from_ref(&made), &[key("p256")]).map(|it| it.key_index), Ok(0));
    let ArtifactSignature::Bundle(bundle) = &made else { panic!("a bundle") };
    let bundle: Value = serde_json::from_slice(bundle).expect("JSON");
    assert_eq!(bundle["mediaType"], "application/vnd.dev.sigstore.bundle.v0.3+json");
    assert_eq!(bundle["verificationMaterial"]["publicKey"]["hint"], key("p256").hint());
    let other = SignedArtifact { digest: &digest(b"{}"), manifest: b"{}" };
    assert!(verify_artifact(other, &[made], &[key("p256")]).is_err(), "it is of one manifest");
}

#[test]
fn what_is_no_key_for_this_says_what_to_do() {
    let vectors = vectors();
    let pem = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
    let public = |text: &str| ArtifactKey::from_pem(text.as_bytes()).expect_err("refused");
    assert_eq!(public(&text(&vectors["privateKey"])), KeyError::Private);
    assert_eq!(public(&pem("ENCRYPTED SIGSTORE PRIVATE KEY")), KeyError::Private);
    assert_eq!(public(&pem("PUBLIC KEY")), KeyError::ArtifactKind);
    assert_eq!(public(&pem("CERTIFICATE")), KeyError::ArtifactKind);
    assert_eq!(public("none"), KeyError::NotPem);
    let private = |text: &str| ArtifactSigningKey::from_pem(text.as_bytes()).expect_err("refused");
    assert_eq!(private(&pem("ENCRYPTED SIGSTORE PRIVATE KEY")), KeyError::OfCosign);
    assert_eq!(private(&pem("ENCRYPTED PRIVATE KEY")), KeyError::Encrypted);
    assert_eq!(private(&text(&vectors["keys"]["p256"])), KeyError::Public);
    assert_eq!(private(&pem("EC PRIVATE KEY")), KeyError::ArtifactKind);
}
