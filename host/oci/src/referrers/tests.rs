//! Lists of reports, and what isn't one.

use super::*;

const SUBJECT: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn listed(artifact_type: &str, media_type: &str, digest: &str, size: u64) -> Value {
    json!({"mediaType": media_type, "digest": digest, "size": size, "artifactType": artifact_type})
}

fn index(manifests: &[Value]) -> Vec<u8> {
    json!({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": manifests}).to_string().into_bytes()
}

#[test]
fn only_reports_of_a_list_are_checked_and_not_too_many() {
    let good = listed(REPORT_TYPE, MANIFEST_TYPE, SUBJECT, 500);
    let others = [
        listed("application/vnd.dev.cosign.artifact.sig.v1+json", MANIFEST_TYPE, SUBJECT, 500),
        listed(REPORT_TYPE, INDEX_TYPE, SUBJECT, 500),
        listed(REPORT_TYPE, MANIFEST_TYPE, "sha512:00", 500),
        listed(REPORT_TYPE, MANIFEST_TYPE, "../../etc/passwd", 500),
        listed(REPORT_TYPE, MANIFEST_TYPE, SUBJECT, 2 << 20),
        json!({"mediaType": MANIFEST_TYPE, "digest": SUBJECT, "size": 500}),
    ];
    let all: Vec<Value> = others.iter().chain([&good]).cloned().collect();
    let found = reports(&index(&all)).expect("a list");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].digest.as_str(), found[0].size), (SUBJECT, 500));
    assert_eq!(reports(&index(&vec![good; 1000])).expect("a list").len(), REPORTS_MAX);
    assert_eq!(reports(b"{}"), Ok(Vec::new()));
    assert_eq!(reports(b"["), Err(ReferrersError::Malformed { line: 1, column: 1 }));
}

#[test]
fn a_reports_manifest_has_one_layer_of_its_kind() {
    let manifest = referrer_manifest(REPORT, b"{\"payload\":\"\"}", SUBJECT, 700);
    let layer = report_layer(&manifest).expect("a report");
    assert_eq!((layer.digest, layer.size), (digest_of(b"{\"payload\":\"\"}"), 14));
    let value: Value = serde_json::from_slice(&manifest).expect("JSON");
    assert_eq!(value["subject"], json!({"mediaType": MANIFEST_TYPE, "digest": SUBJECT, "size": 700}));
    assert_eq!(value["artifactType"], REPORT_TYPE);
    // The digest of the empty configuration that the specification gives.
    let empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(value["config"]["digest"], empty);
    let change = |change: &dyn Fn(&mut Value)| {
        let mut changed = value.clone();
        change(&mut changed);
        report_layer(changed.to_string().as_bytes())
    };
    let cases: [&dyn Fn(&mut Value); 4] = [
        &|manifest| manifest["layers"] = json!([]),
        &|manifest| manifest["layers"][0]["mediaType"] = json!("application/wasm"),
        &|manifest| manifest["layers"][0]["size"] = json!(REPORT_BYTES_MAX + 1),
        &|manifest| manifest["layers"][0]["digest"] = json!("sha256:0"),
    ];
    for case in cases {
        assert_eq!(change(case), Err(ReferrersError::NoReport));
    }
}

#[test]
fn other_kinds_have_their_own_types_and_annotations() {
    let kind = ReferrerKind { artifact_type: "a/b", layer_type: "c/d", annotations: &[("e", "f")] };
    let manifest = referrer_manifest(kind, b"{}", SUBJECT, 700);
    let value: Value = serde_json::from_slice(&manifest).expect("JSON");
    assert_eq!((&value["artifactType"], &value["layers"][0]["mediaType"]), (&json!("a/b"), &json!("c/d")));
    assert_eq!(value["annotations"], json!({"e": "f"}));
    let list: Value =
        serde_json::from_slice(&with_referrer(None, kind, &manifest).expect("a list")).expect("JSON");
    assert_eq!(list["manifests"][0]["artifactType"], "a/b");
}

#[test]
fn a_list_gets_one_more_report_and_keeps_what_it_has() {
    let manifest = referrer_manifest(REPORT, b"{}", SUBJECT, 700);
    let first = with_referrer(None, REPORT, &manifest).expect("a list");
    assert_eq!(reports(&first).expect("a list")[0].digest, digest_of(&manifest));
    assert_eq!(with_referrer(Some(&first), REPORT, &manifest), Ok(first), "each once");
    let foreign = json!({"mediaType": MANIFEST_TYPE, "digest": SUBJECT, "size": 1, "artifactType": "x", "annotations": {"a": "b"}});
    let both =
        with_referrer(Some(&index(std::slice::from_ref(&foreign))), REPORT, &manifest).expect("a list");
    let both: Value = serde_json::from_slice(&both).expect("JSON");
    assert_eq!(
        (both["manifests"][0].clone(), both["manifests"].as_array().map(Vec::len)),
        (foreign.clone(), Some(2))
    );
    assert_eq!(
        with_referrer(Some(&index(&vec![foreign; 10_000])), REPORT, &manifest),
        Err(ReferrersError::Full)
    );
    assert!(with_referrer(Some(b"[]"), REPORT, &manifest).is_err());
    assert!(with_referrer(Some(b"no list"), REPORT, &manifest).is_err());
}

#[test]
fn the_fallback_tag_is_the_digest_with_a_dash() {
    assert_eq!(fallback_tag("sha256:00"), "sha256-00");
}
