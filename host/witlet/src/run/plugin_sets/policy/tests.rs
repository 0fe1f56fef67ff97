//! What is noticed of a policy that changes.

use std::fs;
use std::path::Path;

use witlet_wasm::attestation::SigningKey;
use witlet_wasm::attestation::cosign::ArtifactSigningKey;

use super::*;

const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIZEkyYXsYlcllWOfZF8F777/U9QikkTEVLr7IYygXbg
-----END PRIVATE KEY-----
";
const OTHER: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIKperKQVcmgf9wrNtPfpz1b0vkF5kzwFV4RX5Rbp+mBo
-----END PRIVATE KEY-----
";

fn id(key: &str) -> String {
    ArtifactSigningKey::from_pem(key.as_bytes()).expect("a key").public().id()
}

fn write(folder: &Path, keys: &str, rest: &str) {
    let text = format!(
        "apiVersion: witlet.dev/v1alpha1\nkind: PluginSetPolicy\nrepositories: [a.example.com/*]\nkeys: [{keys}]\n{rest}"
    );
    fs::write(folder.join("policy.yaml"), text).expect("written");
}

#[tokio::test]
async fn keys_that_are_taken_out_and_files_that_are_gone_count_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join("kept.yaml");
    let file = PolicyFiles { file: folder.path().join("policy.yaml"), kept };
    for (name, key) in [("a.pub", KEY), ("b.pub", OTHER)] {
        let public = SigningKey::from_pem(key.as_bytes()).expect("a key").public().to_pem();
        fs::write(folder.path().join(name), public).expect("written");
    }
    write(folder.path(), "a.pub, b.pub", "");
    let first = KnownPolicy::first(&file).await;
    assert_eq!(first.key_ids, [id(KEY), id(OTHER)]);
    assert_eq!(first.again(&file).await, first, "nothing has changed");

    write(folder.path(), "b.pub", "");
    let without = first.again(&file).await;
    assert_eq!((&without.key_ids[..], &without.problem), (&[id(OTHER)][..], &None));

    write(folder.path(), "b.pub", "jitter: 1s\n");
    let slower = without.again(&file).await;
    assert_eq!(slower.policy.sets.jitter, Duration::from_secs(1));

    // A file that makes no sense, or is gone, takes nothing back.
    write(folder.path(), "b.pub", "jitter: soon\n");
    let broken = slower.again(&file).await;
    assert!(broken.problem.as_ref().is_some_and(|problem| problem.contains("jitter")), "{broken:?}");
    assert_eq!((&broken.policy, &broken.key_ids), (&slower.policy, &slower.key_ids));
    fs::remove_file(&file.file).expect("removed");
    let gone = broken.again(&file).await;
    assert_eq!((&gone.policy, &gone.key_ids), (&slower.policy, &slower.key_ids));

    // A start goes on with it, too, and allows nothing where there is none.
    let start = KnownPolicy::first(&file).await;
    assert!(start.problem.as_ref().is_some_and(|problem| problem.contains("policy.yaml")), "{start:?}");
    assert_eq!((&start.policy, &start.key_ids), (&slower.policy, &slower.key_ids));
    let new =
        KnownPolicy::first(&PolicyFiles { kept: folder.path().join("none.yaml"), ..file.clone() }).await;
    assert_eq!((new.policy, new.key_ids), (PluginSetPolicy::none(), Vec::new()));
    fs::write(&file.kept, "kind: Nonsense").expect("written");
    assert_eq!(KnownPolicy::first(&file).await.policy, PluginSetPolicy::none(), "a damaged one is none");

    fs::remove_file(folder.path().join("b.pub")).expect("removed");
    assert_eq!(gone.again(&file).await.key_ids, Vec::<String>::new());
}
