//! Whose signature lets an artifact in, and what is said when no one's does.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use expect_test::expect;
use serde_json::Value;
use witlet_ports::ArtifactSignature;

use super::*;

/// Signatures that openssl made.
const VECTORS: &str = include_str!("../../attestation/cosign/openssl.json");
/// The digest of their manifest.
const DIGEST: &str = "sha256:f3eb2ec51a162ec62c053b2b24f178cf56be156a0d5d0822d2d351b82695f12d";

fn vector(pointer: &str) -> String {
    let vectors: Value = serde_json::from_str(VECTORS).expect("JSON");
    vectors.pointer(pointer).and_then(Value::as_str).expect(pointer).to_owned()
}

fn signed_with(kind: &str) -> ArtifactSignature {
    ArtifactSignature::Simple {
        payload: vector("/payload").into_bytes(),
        signature: vector(&format!("/payloadSignatures/{kind}")),
        certificate: false,
    }
}

/// A registry that has these signatures now, and had those before.
struct RegistryWithSignatures {
    kept: Vec<ArtifactSignature>,
    newest: Option<Vec<ArtifactSignature>>,
}

#[async_trait::async_trait]
impl ComponentFetcher for RegistryWithSignatures {
    async fn fetch(
        &self,
        reference: &ComponentReference,
        _credentials: Option<&Path>,
    ) -> Result<Arc<[u8]>, FetchError> {
        Err(FetchError { reference: reference.clone(), cause: "no one asks for it".into() })
    }

    async fn reports(
        &self,
        _reference: &ComponentReference,
        _credentials: Option<&Path>,
        _which: Reports,
    ) -> Result<Vec<Vec<u8>>, FetchError> {
        Ok(Vec::new())
    }

    async fn signatures(
        &self,
        reference: &ComponentReference,
        _credentials: Option<&Path>,
        which: Reports,
    ) -> Result<ArtifactSignatures, FetchError> {
        let gone = || FetchError { reference: reference.clone(), cause: "the registry is gone".into() };
        let signatures = match which {
            Reports::Kept => self.kept.clone(),
            Reports::Newest => self.newest.clone().ok_or_else(gone)?,
        };
        Ok(ArtifactSignatures { manifest: vector("/manifest").into_bytes(), signatures })
    }
}

/// A folder with public keys.
struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        folder.put("cosign.pub", &vector("/keys/p256"), 0o644);
        folder.put("open.pub", &vector("/keys/other"), 0o666);
        folder
    }

    fn put(&self, name: &str, content: &str, mode: u32) {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).expect("written");
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
    }

    async fn check(
        &self,
        keys: &[&str],
        kept: Vec<ArtifactSignature>,
        newest: Option<Vec<ArtifactSignature>>,
    ) -> Result<Signed, String> {
        let reference: ComponentReference =
            format!("oci://registry.example.com/a@{DIGEST}").parse().expect("a reference");
        let origin = Origin::Registry { reference: reference.clone(), credentials: None };
        let required = RequiredSignature { keys: keys.iter().map(PathBuf::from).collect() };
        let demand = SignatureDemand::new(&required, &origin, self.0.path()).expect("it is pulled");
        let fetcher: Arc<dyn ComponentFetcher> = Arc::new(RegistryWithSignatures { kept, newest });
        let checked = demand.check(&reference, None, Some(&fetcher)).await;
        checked.map_err(|error| error.sentence().replace(&*self.0.path().to_string_lossy(), "/etc/witlet"))
    }
}

#[tokio::test]
async fn a_signature_is_taken_from_what_was_kept_else_from_the_registry() {
    let folder = Fixture::new();
    let (good, bad) = (signed_with("p256"), signed_with("other"));
    let keys = ["cosign.pub"];
    let signed = folder.check(&keys, vec![good.clone()], None).await.expect("without the registry");
    assert_eq!(signed.key, folder.0.path().join("cosign.pub"));
    assert!(folder.check(&keys, vec![bad.clone()], Some(vec![bad.clone(), good.clone()])).await.is_ok());
    let error = folder.check(&keys, vec![bad], None).await.expect_err("the registry is gone");
    assert!(error.ends_with("the registry is gone"), "{error}");
}

#[tokio::test]
async fn what_is_kept_out_is_reported_with_its_reference_the_keys_and_the_way_out() {
    let folder = Fixture::new();
    let refused =
        async |keys: &[&str], found| folder.check(keys, Vec::new(), Some(found)).await.expect_err("refused");
    expect!["oci://registry.example.com/a@sha256:f3eb2ec51a162ec62c053b2b24f178cf56be156a0d5d0822d2d351b82695f12d isn't signed with /etc/witlet/cosign.pub (sign it with `cosign sign --key KEY` or `witlet plugin sign oci://registry.example.com/a@sha256:f3eb2ec51a162ec62c053b2b24f178cf56be156a0d5d0822d2d351b82695f12d --key KEY`): it has no signature"]
        .assert_eq(&refused(&["cosign.pub"], Vec::new()).await);
    expect!["oci://registry.example.com/a@sha256:f3eb2ec51a162ec62c053b2b24f178cf56be156a0d5d0822d2d351b82695f12d isn't signed with /etc/witlet/cosign.pub (sign it with `cosign sign --key KEY` or `witlet plugin sign oci://registry.example.com/a@sha256:f3eb2ec51a162ec62c053b2b24f178cf56be156a0d5d0822d2d351b82695f12d --key KEY`): it has 1 signature, and none counts: not made with one of the accepted keys"]
        .assert_eq(&refused(&["cosign.pub"], vec![signed_with("other")]).await);
    // The key that would do isn't safe.
    expect!["the key /etc/witlet/open.pub isn't safe: its mode is 0666, so that others can change it; make it 0644 or less"]
        .assert_eq(&refused(&["cosign.pub", "open.pub"], vec![signed_with("other")]).await);
}

#[test]
fn only_what_is_pulled_needs_a_signature() {
    let required = RequiredSignature { keys: Vec::new() };
    let shipped = Origin::Shipped { name: "redis", component: &[] };
    for origin in [Origin::Embedded(&[]), shipped, Origin::File("a.wasm".into())] {
        assert_eq!(SignatureDemand::new(&required, &origin, Path::new("/")), None);
    }
}
