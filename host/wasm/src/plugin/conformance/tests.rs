//! Who may vouch for a component, and what is said when no one does.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use crate::attestation::{Conformance, LAYERS, SigningKey, Statement, Tested};
use expect_test::{Expect, expect};
use witlet_core::error::one_line;

use super::*;

const DIGEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const SIGNER: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIZEkyYXsYlcllWOfZF8F777/U9QikkTEVLr7IYygXbg
-----END PRIVATE KEY-----
";
const OTHER_SIGNER: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIKperKQVcmgf9wrNtPfpz1b0vkF5kzwFV4RX5Rbp+mBo
-----END PRIVATE KEY-----
";

fn key(pem: &str) -> SigningKey {
    SigningKey::from_pem(pem.as_bytes()).expect("a key")
}

fn report(digest: &str, signer: &str) -> Vec<u8> {
    let conformance = Conformance {
        kit_version: "0.1.0".to_owned(),
        roles: vec![Tested { role: "admission".to_owned(), version: "0.1.0".to_owned() }],
        config_digest: "0".repeat(64),
        passed: true,
        checks: LAYERS.map(|layer| (layer.to_owned(), Default::default())).into(),
        seed: 1,
        time: jiff::Timestamp::UNIX_EPOCH,
    };
    Statement::new("a.wasm", digest, conformance).sign(&key(signer))
}

/// A folder with the signer's public key, where `a.wasm` would be.
struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a folder"));
        place.put("ci.pub.pem", key(SIGNER).public().to_pem().as_bytes(), 0o644);
        place
    }

    fn put(&self, name: &str, content: &[u8], mode: u32) {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).expect("written");
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
    }

    async fn check(&self, keys: &[&str]) -> Result<Vouched, String> {
        let required = RequiredConformance {
            keys: keys.iter().map(PathBuf::from).collect(),
            kit_version: None,
            failed_too: false,
        };
        let origin = Origin::File(self.0.path().join("a.wasm"));
        let demand = Demand::new(&required, &origin, None, self.0.path()).expect("it isn't shipped");
        let checked = demand.check(DIGEST, vec![Role::Admission], &origin, None).await;
        checked.map_err(|error| one_line(&error).replace(&*self.0.path().to_string_lossy(), "/etc/witlet"))
    }

    async fn refused(&self, keys: &[&str], expected: Expect) {
        expected.assert_eq(&self.check(keys).await.expect_err("refused"));
    }
}

#[tokio::test]
async fn a_report_next_to_the_component_lets_it_in() {
    let place = Fixture::new();
    place.put("a.wasm.conformance.json", &report(DIGEST, SIGNER), 0o666);
    let vouched = place.check(&["ci.pub.pem"]).await.expect("let in");
    assert_eq!(vouched.key, place.0.path().join("ci.pub.pem"));
    assert_eq!(vouched.report.key_id, key(SIGNER).public().id());
}

#[tokio::test]
async fn what_keeps_a_component_out_is_reported_in_one_sentence() {
    let place = Fixture::new();
    let keys = ["ci.pub.pem"];
    place.refused(&keys, expect!["there is no conformance report at /etc/witlet/a.wasm.conformance.json: make one with `witlet plugin test FILE --sign KEY.pem --attestation REPORT`, there or where `conformance` of its entry says"]).await;
    place.put("a.wasm.conformance.json", &report(&"0".repeat(64), SIGNER), 0o644);
    place.refused(&keys, expect![[r#"the conformance report at /etc/witlet/a.wasm.conformance.json doesn't count (make another with `witlet plugin test FILE --sign KEY.pem --attestation REPORT`): about "a.wasm" (sha256:0000000000000000000000000000000000000000000000000000000000000000), not about this component (sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08)"#]]).await;
    place.put("a.wasm.conformance.json", &report(DIGEST, OTHER_SIGNER), 0o644);
    place.refused(&keys, expect!["the conformance report at /etc/witlet/a.wasm.conformance.json doesn't count (make another with `witlet plugin test FILE --sign KEY.pem --attestation REPORT`): signed with key 2e33cb69c37a, which is not one of the accepted keys"]).await;
    place.put("a.wasm.conformance.json", &vec![b'{'; 10 << 20], 0o644);
    place.refused(&keys, expect!["the conformance report at /etc/witlet/a.wasm.conformance.json doesn't count (make another with `witlet plugin test FILE --sign KEY.pem --attestation REPORT`): a report must have at most 262144 bytes"]).await;
    std::fs::remove_file(place.0.path().join("a.wasm.conformance.json")).expect("it is there");
    std::fs::create_dir(place.0.path().join("a.wasm.conformance.json")).expect("made");
    place
        .refused(
            &keys,
            expect!["failed to read the conformance report /etc/witlet/a.wasm.conformance.json: not a file"],
        )
        .await;
}

#[tokio::test]
async fn a_key_that_others_could_change_or_that_is_none_does_not_count() {
    let place = Fixture::new();
    place.put("a.wasm.conformance.json", &report(DIGEST, SIGNER), 0o644);
    let pem = key(SIGNER).public().to_pem();
    place.put("open.pem", pem.as_bytes(), 0o646);
    place.refused(&["open.pem"], expect!["the key /etc/witlet/open.pem isn't safe: its mode is 0646, so that others can change it; make it 0644 or less"]).await;
    place.put("group.pem", pem.as_bytes(), 0o664);
    assert!(place.check(&["group.pem"]).await.is_err());
    place
        .refused(
            &["gone.pem"],
            expect!["failed to read the key /etc/witlet/gone.pem: No such file or directory (os error 2)"],
        )
        .await;
    place.put("private.pem", SIGNER.as_bytes(), 0o600);
    place.refused(&["private.pem"], expect!["the key /etc/witlet/private.pem can't be used: expected a public key, found a private one: export it with `openssl pkey -in KEY.pem -pubout`"]).await;
    place.put("huge.pem", &vec![b'-'; 1 << 20], 0o644);
    place
        .refused(
            &["huge.pem"],
            expect!["the key /etc/witlet/huge.pem can't be used: a key must have at most 65536 bytes"],
        )
        .await;
    // Another key that is good is enough.
    let vouched = place.check(&["gone.pem", "open.pem", "ci.pub.pem"]).await.expect("let in");
    assert_eq!(vouched.key, place.0.path().join("ci.pub.pem"));
}

/// A registry that has these reports now, and had those before.
struct FakeRegistry {
    kept: Vec<Vec<u8>>,
    newest: Option<Vec<Vec<u8>>>,
}

#[async_trait::async_trait]
impl ComponentFetcher for FakeRegistry {
    async fn fetch(
        &self,
        reference: &witlet_ports::ComponentReference,
        _credentials: Option<&Path>,
    ) -> Result<Arc<[u8]>, FetchError> {
        Err(FetchError { reference: reference.clone(), cause: "no one asks for it".into() })
    }

    async fn reports(
        &self,
        reference: &witlet_ports::ComponentReference,
        _credentials: Option<&Path>,
        which: Reports,
    ) -> Result<Vec<Vec<u8>>, FetchError> {
        let gone = || FetchError { reference: reference.clone(), cause: "the registry is gone".into() };
        match which {
            Reports::Kept => Ok(self.kept.clone()),
            Reports::Newest => self.newest.clone().ok_or_else(gone),
        }
    }
}

#[tokio::test]
async fn reports_in_a_registry_are_kept_for_the_time_without_it() {
    let place = Fixture::new();
    let reference = format!("oci://registry.example.com/a@sha256:{}", "1".repeat(64));
    let origin = Origin::Registry { reference: reference.parse().expect("a reference"), credentials: None };
    let required =
        RequiredConformance { keys: vec!["ci.pub.pem".into()], kit_version: None, failed_too: false };
    let demand = Demand::new(&required, &origin, None, place.0.path()).expect("it isn't shipped");
    let check = async |kept: &[Vec<u8>], newest: Option<Vec<Vec<u8>>>| {
        let fetcher: Arc<dyn ComponentFetcher> = Arc::new(FakeRegistry { kept: kept.to_vec(), newest });
        let checked = demand.check(DIGEST, vec![Role::Admission], &origin, Some(&fetcher)).await;
        checked.map(|_| ()).map_err(|error| one_line(&error))
    };
    let (good, bad) = (report(DIGEST, SIGNER), report(DIGEST, OTHER_SIGNER));
    assert_eq!(check(std::slice::from_ref(&good), None).await, Ok(()), "without the registry");
    assert_eq!(check(&[], Some(vec![bad.clone(), b"noise".to_vec(), good.clone()])).await, Ok(()));
    assert_eq!(check(std::slice::from_ref(&bad), Some(vec![good])).await, Ok(()), "a new one replaces it");
    let error = check(&[], None).await.expect_err("the registry is gone");
    assert!(error.ends_with("the registry is gone"), "{error}");
    let error = check(&[], Some(vec![b"noise".to_vec(), bad])).await.expect_err("no one vouches");
    assert!(
        error.contains(&reference) && error.contains("signed with key"),
        "the nearest is reported: {error}"
    );
    let error = check(&[], Some(Vec::new())).await.expect_err("no one vouches");
    assert!(error.contains("witlet plugin push"), "{error}");
}

#[test]
fn what_ships_needs_no_report() {
    let required = RequiredConformance { keys: Vec::new(), kit_version: None, failed_too: false };
    for origin in [Origin::Embedded(&[]), Origin::Shipped { name: "redis", component: &[] }] {
        assert_eq!(Demand::new(&required, &origin, None, Path::new("/")), None);
    }
}
