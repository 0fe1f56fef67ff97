//! Reports that count, and everything that keeps one from counting.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Checks, LAYERS, SigningKey, Statement, Tested};
use super::*;

const DIGEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// A key of which nothing is known but its number.
fn key(number: u8) -> SigningKey {
    let prefix =
        [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    let der = [prefix.as_slice(), [number; 32].as_slice()].concat();
    let pem = super::super::pem::write("PRIVATE KEY", &der);
    SigningKey::from_pem(pem.as_bytes()).expect("any 32 bytes are a private key")
}

/// Numbers of these layers, and none of the others.
fn all(some: &[(&str, Checks)]) -> BTreeMap<String, Checks> {
    let none = LAYERS.iter().map(|layer| (*layer, Checks::default()));
    none.chain(some.iter().copied()).map(|(layer, checks)| (layer.to_owned(), checks)).collect()
}

fn good() -> Conformance {
    Conformance {
        kit_version: "0.1.0".to_owned(),
        roles: vec![Tested { role: "admission".to_owned(), version: "0.1.0".to_owned() }],
        config_digest: "0".repeat(64),
        passed: true,
        checks: all(&[("load", Checks { passed: 5, failed: 0, skipped: 1 })]),
        seed: 42,
        time: "2026-01-01T00:00:00Z".parse().expect("a time"),
    }
}

fn signed(conformance: Conformance) -> Vec<u8> {
    Statement::new("tags.wasm", DIGEST, conformance).sign(&key(1))
}

fn required() -> Requirements<'static> {
    Requirements { digest: DIGEST, roles: &["admission"], kit_version: None, failed_too: false }
}

fn refused(envelope: &[u8], required: &Requirements<'_>) -> VerifyError {
    verify(envelope, &[key(1).public()], required).expect_err("refused")
}

fn check(envelope: &[u8], expected: &Expect) {
    expected.assert_eq(&refused(envelope, &required()).to_string());
}

/// An envelope around any payload, signed in earnest.
fn around(payload: &[u8]) -> Vec<u8> {
    envelope::sign(payload, &key(1))
}

/// A good envelope, changed without signing it again.
fn forged(change: impl Fn(&mut Value)) -> Vec<u8> {
    let mut envelope: Value = serde_json::from_slice(&signed(good())).expect("JSON");
    change(&mut envelope);
    envelope.to_string().into_bytes()
}

/// A good statement, changed and signed.
fn stated(change: impl Fn(&mut Value)) -> Vec<u8> {
    let envelope = envelope::open(&signed(good())).unwrap_or_else(|fault| panic!("{fault:?}"));
    let mut statement: Value = serde_json::from_slice(&envelope.payload).expect("JSON");
    change(&mut statement);
    around(statement.to_string().as_bytes())
}

#[test]
fn a_good_report_tells_who_signed_it_and_what_it_says() {
    let (own, other) = (key(1).public(), key(2).public());
    let accepted = verify(&signed(good()), &[other, own], &required()).expect("accepted");
    let expected = Accepted {
        key_id: own.id(),
        key_index: 1,
        kit_version: "0.1.0".to_owned(),
        passed: true,
        config_digest: "0".repeat(64),
        time: "2026-01-01T00:00:00Z".parse().expect("a time"),
    };
    assert_eq!(accepted, expected);
    assert_eq!(signed(good()), signed(good()), "the same statement gives the same bytes");
}

#[test]
fn the_envelope_is_what_others_read() {
    let envelope: Value = serde_json::from_slice(&signed(good())).expect("JSON");
    assert_eq!(envelope["payloadType"], "application/vnd.in-toto+json");
    let payload = STANDARD.decode(envelope["payload"].as_str().expect("a text")).expect("Base64");
    let statement: Value = serde_json::from_slice(&payload).expect("JSON");
    assert_eq!(
        statement,
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": "tags.wasm", "digest": {"sha256": DIGEST}}],
            "predicateType": "https://witlet.dev/conformance/v1alpha1",
            "predicate": {
                "kitVersion": "0.1.0",
                "roles": [{"role": "admission", "version": "0.1.0"}],
                "configDigest": "0".repeat(64),
                "passed": true,
                "checks": good().checks,
                "seed": 42,
                "time": "2026-01-01T00:00:00Z",
            },
        })
    );
    assert_eq!(
        envelope::authenticated("http://example.com/HelloWorld", b"hello world"),
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    );
}

#[test]
fn another_components_report_does_not_count() {
    let other = "0".repeat(64);
    let required = Requirements { digest: &other, ..required() };
    expect![[r#"about "tags.wasm" (sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08), not about this component (sha256:0000000000000000000000000000000000000000000000000000000000000000)"#]]
        .assert_eq(&refused(&signed(good()), &required).to_string());
    check(
        &stated(|statement| statement["subject"] = json!([])),
        &expect![
            "about nothing, not about this component (sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08)"
        ],
    );
    let without = stated(|statement| statement["subject"][0]["digest"] = json!({"sha512": DIGEST}));
    assert!(matches!(refused(&without, &self::required()), VerifyError::OtherComponent { .. }));
}

#[test]
fn one_of_several_subjects_is_enough() {
    let several = stated(|statement| {
        let own = statement["subject"][0].clone();
        statement["subject"] = json!([{"name": "other.wasm", "digest": {"sha256": "0"}}, own]);
    });
    assert!(verify(&several, &[key(1).public()], &required()).is_ok());
}

#[test]
fn signatures_of_other_keys_do_not_count() {
    let envelope = signed(good());
    let error = verify(&envelope, &[key(2).public(), key(3).public()], &required()).expect_err("refused");
    assert_eq!(error, VerifyError::UnknownKey { found: vec![key(1).public().id()] });
    assert!(error.to_string().contains(&key(1).public().id()[..12]), "{error}");
    assert!(matches!(verify(&envelope, &[], &required()), Err(VerifyError::UnknownKey { .. })));
    // The id is a hint: who names a key that counts hasn't signed with it.
    let claimed = forged(|envelope| envelope["signatures"][0]["sig"] = json!(STANDARD.encode([7; 64])));
    assert_eq!(refused(&claimed, &required()), VerifyError::Signature { key: key(1).public().id() });
    check(&forged(|envelope| envelope["signatures"] = json!([])), &expect!["it has no signature"]);
}

#[test]
fn a_signature_without_a_keys_name_or_next_to_others_counts() {
    let unnamed = forged(|envelope| {
        envelope["signatures"][0].as_object_mut().expect("an object").remove("keyid");
    });
    assert!(verify(&unnamed, &[key(1).public()], &required()).is_ok());
    let additional = forged(|envelope| {
        let own = envelope["signatures"][0].clone();
        envelope["signatures"] = json!([{"keyid": "someone", "sig": "AAAA"}, own]);
    });
    assert!(verify(&additional, &[key(1).public()], &required()).is_ok());
    // Both alphabets of Base64 are read.
    let url_safe = forged(|envelope| {
        let payload = STANDARD.decode(envelope["payload"].as_str().expect("a text")).expect("Base64");
        envelope["payload"] = json!(URL_SAFE_NO_PAD.encode(payload));
    });
    assert!(verify(&url_safe, &[key(1).public()], &required()).is_ok());
}

#[test]
fn what_was_changed_after_it_was_signed_does_not_count() {
    let other = forged(|envelope| {
        let payload = STANDARD.decode(envelope["payload"].as_str().expect("a text")).expect("Base64");
        let text = String::from_utf8(payload).expect("text").replace("\"failed\":0", "\"failed\":1");
        envelope["payload"] = json!(STANDARD.encode(text));
    });
    assert!(matches!(refused(&other, &required()), VerifyError::Signature { .. }));
    check(
        &forged(|envelope| envelope["payloadType"] = json!("application/vnd.cyclonedx+json")),
        &expect![[
            r#"payloadType must be application/vnd.in-toto+json, found "application/vnd.cyclonedx+json""#
        ]],
    );
}

#[test]
fn statements_of_another_kind_do_not_count() {
    check(
        &stated(|statement| statement["_type"] = json!("https://in-toto.io/Statement/v0.1")),
        &expect![[
            r#"_type must be https://in-toto.io/Statement/v1, found "https://in-toto.io/Statement/v0.1""#
        ]],
    );
    check(
        &stated(|statement| statement["predicateType"] = json!("https://slsa.dev/provenance/v1")),
        &expect![[
            r#"predicateType must be https://witlet.dev/conformance/v1alpha1 (a conformance report), found "https://slsa.dev/provenance/v1""#
        ]],
    );
    check(&around(b"no statement"), &expect!["malformed statement at line 1, column 2"]);
    let without = stated(|statement| {
        statement["predicate"].as_object_mut().expect("an object").remove("passed");
    });
    assert!(matches!(refused(&without, &required()), VerifyError::Statement { line: 1, .. }));
}

#[test]
fn a_report_of_failures_counts_only_where_that_is_enough() {
    let failed = Conformance {
        passed: false,
        checks: all(&[
            ("load", Checks { passed: 5, failed: 0, skipped: 1 }),
            ("budget", Checks { passed: 1, failed: 2, skipped: 0 }),
        ]),
        ..good()
    };
    check(&signed(failed.clone()), &expect!["2 of 8 checks of the kit failed"]);
    let too = Requirements { failed_too: true, ..required() };
    let accepted = verify(&signed(failed.clone()), &[key(1).public()], &too).expect("accepted");
    assert!(!accepted.passed);
    // One that says it passed and counts failures contradicts itself.
    assert!(matches!(
        refused(&signed(Conformance { passed: true, ..failed }), &required()),
        VerifyError::Failed { .. }
    ));
    assert!(matches!(
        refused(&signed(Conformance { passed: false, ..good() }), &required()),
        VerifyError::Failed { failed: 0, .. }
    ));
}

#[test]
fn the_kit_must_be_new_enough_and_have_tried_each_role() {
    let newer = Requirements { kit_version: "0.2.0".parse().ok(), ..required() };
    expect!["made by kit 0.1.0, must be made by kit 0.2.0 or later"]
        .assert_eq(&refused(&signed(good()), &newer).to_string());
    let strange = signed(Conformance { kit_version: "tomorrow".to_owned(), ..good() });
    assert!(matches!(refused(&strange, &newer), VerifyError::KitTooOld { .. }));
    // Found, demanded, whether it is enough: what is before a release is less than it, and a build's name counts for nothing.
    let table = [
        ("0.1.0", "0.1.0", true),
        ("0.1.0+elsewhere", "0.1.0", true),
        ("0.1.10", "0.1.9", true),
        ("0.2.0-rc.1", "0.1.9", true),
        ("0.2.0-rc.1", "0.2.0", false),
        ("0.1.9", "0.1.10", false),
    ];
    for (found, demanded, is_enough) in table {
        let report = signed(Conformance { kit_version: found.to_owned(), ..good() });
        let demand = Requirements { kit_version: demanded.parse().ok(), ..required() };
        let verified = verify(&report, &[key(1).public()], &demand);
        assert_eq!(verified.is_ok(), is_enough, "{found} for {demanded}: {verified:?}");
    }
    let both = Requirements { roles: &["admission", "probe"], ..required() };
    expect!["the component was not tested as probe, only as admission"]
        .assert_eq(&refused(&signed(good()), &both).to_string());
    let none = signed(Conformance { roles: Vec::new(), ..good() });
    expect!["the component was not tested as admission, only as nothing"]
        .assert_eq(&refused(&none, &required()).to_string());
}

#[test]
fn a_part_of_the_kit_is_not_enough() {
    let mut partial = good();
    partial.checks.retain(|layer, _| layer != "hostile" && layer != "budget");
    check(&signed(partial), &expect!["incomplete: made without the layers hostile, budget"]);
    let mut later = good();
    later.checks.insert("side-channels".to_owned(), Checks::default());
    assert!(verify(&signed(later), &[key(1).public()], &required()).is_ok(), "a later kit's layer");
}

#[test]
fn sizes_and_numbers_are_bounded() {
    check(&vec![b' '; ENVELOPE_BYTES_MAX + 1], &expect!["a report must have at most 262144 bytes"]);
    check(b"\0asm", &expect!["not a signed report: malformed at line 1, column 1"]);
    check(
        &forged(|envelope| envelope["signatures"] = json!(vec![json!({"sig": ""}); SIGNATURES_MAX + 1])),
        &expect!["a report must have at most 16 signatures, found 17"],
    );
    check(
        &forged(|envelope| envelope["payload"] = json!("?")),
        &expect!["damaged: payload and signatures must be Base64"],
    );
    let long = forged(|envelope| envelope["payloadType"] = json!("\u{1b}[2J".repeat(1000)));
    let message = refused(&long, &required()).to_string();
    assert!(message.len() < 400 && !message.contains('\u{1b}'), "{message}");
}

#[test]
fn what_a_report_is_about_is_known_without_a_key() {
    assert_eq!(subjects(&signed(good())), Ok(vec![("tags.wasm".to_owned(), DIGEST.to_owned())]));
    assert!(subjects(b"{}").is_err());
}

#[test]
fn of_several_reasons_the_one_that_came_nearest_is_the_largest() {
    let ordered = [
        VerifyError::TooLarge,
        VerifyError::Unsigned,
        VerifyError::UnknownKey { found: Vec::new() },
        VerifyError::Signature { key: String::new() },
        VerifyError::Statement { line: 1, column: 1 },
        VerifyError::OtherComponent { required: String::new(), found: Vec::new() },
        VerifyError::RoleNotTested { role: String::new(), tested: Vec::new() },
        VerifyError::Failed { failed: 1, checks: 2 },
    ];
    assert!(ordered.windows(2).all(|pair| pair[0].nearness() < pair[1].nearness()));
}

proptest! {
    #[test]
    fn whatever_bytes_come_they_are_refused_and_nothing_breaks(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(verify(&bytes, &[key(1).public()], &required()).is_err());
    }

    /// The position counts whole letters of the payload and the signature; what stands around them is no part of the report.
    #[test]
    fn no_changed_bit_of_the_signed_part_goes_unnoticed(at in 0_usize..400, bit in 0_u8..8) {
        let changed = forged(|envelope| {
            let mut payload = STANDARD.decode(envelope["payload"].as_str().unwrap_or_default()).unwrap_or_default();
            let at = at % payload.len();
            payload[at] ^= 1 << bit;
            envelope["payload"] = json!(STANDARD.encode(payload));
        });
        prop_assert!(verify(&changed, &[key(1).public()], &required()).is_err());
    }
}
