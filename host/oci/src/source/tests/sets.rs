//! Sets of plugins over a network that fails, and what their folder is checked by.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::set::{PLUGIN_FILE, PLUGIN_FILE_TYPE, SET_COMPONENT_TYPE, SetArtifact, SetFile};
use crate::set_folder::{SetFolderError, set_plugin_file, verify_set};

const PLUGINS: &[u8] = b"plugins: []\n";

fn set() -> SetArtifact {
    let file = |name: &str, media_type, bytes: &'static [u8]| SetFile {
        name: name.to_owned(),
        media_type,
        bytes: bytes.into(),
    };
    SetArtifact {
        files: vec![
            file(PLUGIN_FILE, PLUGIN_FILE_TYPE, PLUGINS),
            file("team/a.wasm", SET_COMPONENT_TYPE, COMPONENT),
        ],
        code: Vec::new(),
        created: "2026-01-02T03:04:05Z".parse().expect("a time"),
        annotations: BTreeMap::new(),
    }
}

/// The bodies of a set by their paths.
fn bodies(manifest: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let blobs = [PLUGINS, COMPONENT];
    let blobs = blobs.map(|bytes| (format!("/v2/probes/redis/blobs/{}", digest_of(bytes)), bytes.to_vec()));
    let manifest = (format!("/v2/probes/redis/manifests/{}", digest_of(manifest)), manifest.to_vec());
    blobs.into_iter().chain([manifest]).collect()
}

fn named(server: &Server, manifest: &[u8]) -> ComponentReference {
    reference_of(server, std::str::from_utf8(manifest).expect("JSON"))
}

#[tokio::test]
async fn a_set_whose_pull_was_cut_short_is_asked_only_for_the_rest() {
    let manifest = set().manifest();
    let (bodies, is_up) = (bodies(&manifest), Arc::new(AtomicBool::new(false)));
    let component = format!("/v2/probes/redis/blobs/{}", digest_of(COMPONENT));
    let (up, last) = (is_up.clone(), component.clone());
    let server = Server::start(move |asked| match asked.path == last && !up.load(Ordering::SeqCst) {
        true => status(404),
        false => bodies.get(&asked.path).map_or(status(404), |body| ok(body.clone())),
    })
    .await;
    let (node, reference) = (Node::new(), named(&server, &manifest));
    let folder = tempfile::tempdir().expect("a folder");
    let (digest, registries) = (reference.digest(), node.registries());
    registries.fetch_set(&reference, None, folder.path()).await.expect_err("the component isn't there");
    assert!(matches!(verify_set(folder.path(), digest), Err(SetFolderError::Read { .. })));
    is_up.store(true, Ordering::SeqCst);
    registries.fetch_set(&reference, None, folder.path()).await.expect("brought");
    verify_set(folder.path(), digest).expect("whole");
    let plugins = format!("/v2/probes/redis/blobs/{}", digest_of(PLUGINS));
    let times = |path: &str| server.asked().iter().filter(|asked| asked.path == path).count();
    assert_eq!((times(&plugins), times(&component)), (1, 2), "what was there isn't asked for again");
    assert_eq!(fs::read(set_plugin_file(folder.path())).expect("there"), PLUGINS);
    let left: Vec<String> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left.len(), 2, "no half is left: {left:?}");
}

#[tokio::test]
async fn a_file_of_a_set_with_other_bytes_than_its_digest_is_refused_and_asked_for_again() {
    let manifest = set().manifest();
    let (bodies, asked_for) = (bodies(&manifest), Arc::new(AtomicUsize::new(0)));
    let count = asked_for.clone();
    let component = format!("/v2/probes/redis/blobs/{}", digest_of(COMPONENT));
    let server = Server::start(move |asked| match asked.path == component {
        true => {
            let evil = count.fetch_add(1, Ordering::SeqCst) == 0;
            ok(if evil { vec![b'x'; COMPONENT.len()] } else { COMPONENT.to_vec() })
        }
        false => bodies.get(&asked.path).map_or(status(404), |body| ok(body.clone())),
    })
    .await;
    let (node, reference) = (Node::new(), named(&server, &manifest));
    let folder = tempfile::tempdir().expect("a folder");
    let error = node.registries().fetch_set(&reference, None, folder.path()).await.expect_err("refused");
    assert!(error.cause.to_string().contains("sha256:"), "{}", error.cause);
    // A file that was tampered with in the folder of the pull isn't taken for brought.
    let file = set_plugin_file(folder.path());
    fs::write(&file, vec![b'x'; PLUGINS.len()]).expect("tampered with");
    node.registries().fetch_set(&reference, None, folder.path()).await.expect("brought");
    assert_eq!(fs::read(file).expect("there"), PLUGINS);
    verify_set(folder.path(), reference.digest()).expect("whole");
}

#[tokio::test]
async fn a_folder_that_lost_or_changed_a_byte_of_a_set_is_not_the_set() {
    let manifest = set().manifest();
    let bodies = bodies(&manifest);
    let server =
        Server::start(move |asked| bodies.get(&asked.path).map_or(status(404), |body| ok(body.clone())))
            .await;
    let (node, reference) = (Node::new(), named(&server, &manifest));
    let folder = tempfile::tempdir().expect("a folder");
    let (digest, registries) = (reference.digest(), node.registries());
    let component = set_plugin_file(folder.path()).with_file_name("team").join("a.wasm");
    let again = async || registries.fetch_set(&reference, None, folder.path()).await.expect("brought");
    again().await;
    verify_set(folder.path(), digest).expect("whole");
    let other = verify_set(folder.path(), &digest_of(b"another set"));
    assert!(matches!(other, Err(SetFolderError::Changed { .. })), "{other:?}");
    let mut changed = COMPONENT.to_vec();
    changed[0] ^= 1;
    fs::write(&component, changed).expect("changed");
    assert!(matches!(verify_set(folder.path(), digest), Err(SetFolderError::Changed { .. })));
    fs::write(&component, "").expect("cut short, as by a loss of power");
    assert!(matches!(verify_set(folder.path(), digest), Err(SetFolderError::Changed { .. })));
    fs::remove_file(&component).expect("removed");
    assert!(matches!(verify_set(folder.path(), digest), Err(SetFolderError::Read { .. })));
    // A link isn't read through, be the bytes the right ones.
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, COMPONENT).expect("written");
    std::os::unix::fs::symlink(&elsewhere, &component).expect("linked");
    assert!(matches!(verify_set(folder.path(), digest), Err(SetFolderError::Read { .. })));
    // A pull replaces the link, and writes nothing through it.
    fs::write(&elsewhere, "mine").expect("written");
    again().await;
    assert_eq!(fs::read(&elsewhere).expect("there"), b"mine");
    verify_set(folder.path(), digest).expect("whole again");
}
