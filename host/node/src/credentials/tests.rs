//! Files that change, and secrets that are there or not.

use std::collections::BTreeMap;
use std::fs;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, LocalObjectReference, PodSpec};
use witlet_core::container::spec::ServiceAddress;
use witlet_core::image::docker_config::encode_auth;
use witlet_core::pod::PodUid;
use witlet_ports::{ObjectError, Token, TokenWish};

use super::*;

const IMAGE: &str = "reg.io/team/app:1";

fn config(user: &str) -> String {
    format!(r#"{{"auths": {{"reg.io": {{"auth": "{}"}}}}}}"#, encode_auth(user, "p"))
}

fn pod(secrets: &[&str]) -> Pod {
    let reference = |name: &&str| LocalObjectReference { name: (*name).to_owned() };
    let mut pod = Pod {
        spec: Some(PodSpec {
            image_pull_secrets: Some(secrets.iter().map(reference).collect()),
            ..PodSpec::default()
        }),
        ..Pod::default()
    };
    pod.metadata.namespace = Some("shop".to_owned());
    pod
}

/// Users in order, and the missing secrets.
async fn users(credentials: &NodeCredentials, secrets: &[&str], image: &str) -> (Vec<String>, Vec<String>) {
    let (found, missing) = match credentials.for_image(&pod(secrets), image).await {
        Ok(found) => (found, Vec::new()),
        Err(error) => {
            assert!(!error.secrets.is_empty(), "an error names what is missing");
            (error.found, error.secrets)
        }
    };
    (found.into_iter().map(|found| found.auth.username).collect(), missing)
}

async fn node_users(credentials: &NodeCredentials) -> Vec<String> {
    users(credentials, &[], IMAGE).await.0
}

#[tokio::test]
async fn the_nodes_configuration_is_read_again_whenever_it_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.json");
    let credentials = NodeCredentials::new(Some(path.clone()), None);
    assert_eq!(node_users(&credentials).await, [""; 0], "the file need not be there");
    fs::write(&path, config("ann")).expect("write");
    assert_eq!(node_users(&credentials).await, ["ann"]);
    assert_eq!(node_users(&credentials).await, ["ann"]);
    // Replaced by a file of the same size, as tools do.
    let temporary = folder.path().join("new");
    fs::write(&temporary, config("bob")).expect("write");
    fs::rename(&temporary, &path).expect("rename");
    assert_eq!(node_users(&credentials).await, ["bob"]);
    assert_eq!(users(&credentials, &[], "other.io/app").await.0, [""; 0]);
    fs::remove_file(&path).expect("remove");
    assert_eq!(node_users(&credentials).await, [""; 0]);
    fs::write(&path, config("cat")).expect("write");
    assert_eq!(node_users(&credentials).await, ["cat"]);
}

#[tokio::test]
async fn a_configuration_that_can_not_be_read_leaves_the_last_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.json");
    let credentials = NodeCredentials::new(Some(path.clone()), None);
    fs::write(&path, config("ann")).expect("write");
    assert_eq!(node_users(&credentials).await, ["ann"]);
    let too_large = format!("{}{}", config("bob"), " ".repeat(1 << 20));
    for broken in ["{", r#"{"auths": {"reg.io": {"auth": "?"}}}"#, &too_large] {
        fs::write(&path, broken).expect("write");
        assert_eq!(node_users(&credentials).await, ["ann"]);
    }
    fs::remove_file(&path).expect("remove");
    fs::create_dir(&path).expect("make a folder of this name");
    assert_eq!(node_users(&credentials).await, ["ann"]);
    fs::remove_dir(&path).expect("remove");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).expect("make a pipe of this name");
    assert_eq!(node_users(&credentials).await, ["ann"]);
    fs::remove_file(&path).expect("remove");
    fs::write(&path, config("bob")).expect("write");
    assert_eq!(node_users(&credentials).await, ["bob"]);
}

#[tokio::test]
async fn a_node_without_a_configuration_has_no_credentials() {
    let credentials = NodeCredentials::new(None, None);
    assert_eq!(node_users(&credentials).await, [""; 0]);
}

#[tokio::test]
async fn secrets_that_no_one_has_are_named_and_the_nodes_credentials_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.json");
    fs::write(&path, config("ann")).expect("write");
    let credentials = NodeCredentials::new(Some(path), None);
    let (found, missing) = users(&credentials, &["one", "", "two", "one"], IMAGE).await;
    assert_eq!((found, missing), (vec!["ann".to_owned()], vec!["one".to_owned(), "two".to_owned()]));
}

/// Secrets of namespace `shop` by name: type, key and value.
struct Cluster(BTreeMap<&'static str, (&'static str, &'static str, String)>);

#[async_trait]
impl PullSecrets for Cluster {
    async fn get(&self, namespace: &str, name: &str) -> Result<Secret, PullSecretError> {
        let Some((kind, key, value)) = self.0.get(name).filter(|_| namespace == "shop") else {
            return Err(PullSecretError { message: format!("secrets {name:?} not found") });
        };
        let data = BTreeMap::from([((*key).to_owned(), ByteString(value.as_bytes().to_vec()))]);
        Ok(Secret { type_: Some((*kind).to_owned()), data: Some(data), ..Secret::default() })
    }
}

#[tokio::test]
async fn secrets_come_before_the_node_and_broken_ones_are_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.json");
    fs::write(&path, config("ann")).expect("write");
    let legacy = format!(r#"{{"https://reg.io/team": {{"auth": "{}"}}}}"#, encode_auth("old", "p"));
    let cluster = Cluster(BTreeMap::from([
        ("new", ("kubernetes.io/dockerconfigjson", ".dockerconfigjson", config("new"))),
        ("legacy", ("kubernetes.io/dockercfg", ".dockercfg", legacy)),
        ("same", ("kubernetes.io/dockerconfigjson", ".dockerconfigjson", config("ann"))),
        ("opaque", ("Opaque", "password", "x".to_owned())),
        ("broken", ("kubernetes.io/dockercfg", ".dockercfg", "[".to_owned())),
    ]));
    let credentials = NodeCredentials::new(Some(path), Some(Arc::new(cluster)));
    for (secrets, found, missing) in [
        (&["new"][..], &["new", "ann"][..], &[][..]),
        (&["new", "legacy"], &["old", "new", "ann"], &[]),
        (&["same"], &["ann"], &[]),
        (&["opaque"], &["ann"], &[]),
        (&["broken", "gone", "new"], &["new", "ann"], &["broken", "gone"]),
    ] {
        let reported = users(&credentials, secrets, IMAGE).await;
        let expected = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(reported, (expected(found), expected(missing)), "{secrets:?}");
    }
}

/// A cluster whose only secret is `shop/pull`.
struct OneSecret;

#[async_trait]
impl ClusterObjects for OneSecret {
    fn register(&self, _: &Arc<Pod>) {}

    fn unregister(&self, _: &PodUid) {}

    async fn config_map(&self, _: &str, _: &str) -> Result<Option<Arc<ConfigMap>>, ObjectError> {
        Ok(None)
    }

    async fn secret(&self, namespace: &str, name: &str) -> Result<Option<Arc<Secret>>, ObjectError> {
        match (namespace, name) {
            ("shop", "pull") => {
                let data =
                    BTreeMap::from([(".dockerconfigjson".to_owned(), ByteString(config("ann").into()))]);
                let type_ = Some("kubernetes.io/dockerconfigjson".to_owned());
                Ok(Some(Arc::new(Secret { type_, data: Some(data), ..Secret::default() })))
            }
            (_, "silent") => {
                let message = "no answer".to_owned();
                Err(ObjectError::Unavailable { object: "secret \"shop/silent\"".to_owned(), message })
            }
            _ => Ok(None),
        }
    }

    async fn token(&self, _: &Pod, _: &TokenWish) -> Result<Token, ObjectError> {
        Err(ObjectError::Unavailable { object: "token".to_owned(), message: "none here".to_owned() })
    }

    fn services(&self, _: &str) -> Option<Vec<Arc<ServiceAddress>>> {
        None
    }

    async fn changed(&self) -> Vec<PodUid> {
        std::future::pending().await
    }

    fn runtime_classes(&self) -> Option<Arc<BTreeMap<String, String>>> {
        None
    }
}

#[tokio::test]
async fn secrets_of_the_cluster_are_those_that_pods_draw() {
    let secrets = Arc::new(ClusterSecrets::new(Arc::new(OneSecret)));
    let why = async |name: &str| secrets.get("shop", name).await.map_err(|error| error.to_string()).err();
    assert_eq!(why("pull").await, None);
    assert_eq!(why("gone").await.as_deref(), Some("secret \"gone\" not found"));
    assert_eq!(why("silent").await.as_deref(), Some("secret \"shop/silent\": no answer"));
    let credentials = NodeCredentials::new(None, Some(secrets));
    let (found, missing) = users(&credentials, &["pull", "silent", "gone"], IMAGE).await;
    assert_eq!((found, missing), (vec!["ann".to_owned()], vec!["silent".to_owned(), "gone".to_owned()]));
}
