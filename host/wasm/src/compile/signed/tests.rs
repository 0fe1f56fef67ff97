//! Code from elsewhere lies where code of this node's own would, and goes with its key.

use super::*;

const COMPONENT: &[u8] = b"a component";

fn keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

fn opened() -> (tempfile::TempDir, PathBuf, CodeCache) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("code");
    let code = CodeCache::open(path.clone()).expect("its own");
    (folder, path, code)
}

fn files(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder).expect("readable").count()
}

#[test]
fn code_from_elsewhere_is_found_under_the_key_of_code_of_this_nodes_own() {
    let (_folder, path, code) = opened();
    let digest = component_digest(COMPONENT);
    for kind in KINDS {
        assert_eq!(code.origin(kind.name(), &digest).expect("readable"), None);
        code.store(kind.name(), &digest, b"code", "key-1").expect("stored");
        assert_eq!(code.origin(kind.name(), &digest).expect("readable"), Some(CodeOrigin::Signed));
        let engine = engine::compiling(kind).expect("an engine");
        let own = Key::new(&engine, kind, COMPONENT);
        let cache = Cache::open(path.clone()).expect("its own");
        let loaded = cache.load(&engine, &own);
        // It is checked as any other code is: these bytes are none.
        assert!(matches!(loaded, Err(CacheError::Unfit { .. })), "{loaded:?}");
    }
    assert_eq!(code.origin("synchronous", &component_digest(b"another")).expect("readable"), None);
}

#[test]
fn code_goes_when_its_key_does_not_count_any_more_and_this_nodes_own_stays() {
    let (_folder, path, code) = opened();
    let names: Vec<String> =
        [b"a", b"b", b"c"].map(|wasm: &[u8; 1]| component_digest(wasm)).into_iter().collect();
    code.store("synchronous", &names[0], b"code", "key-1").expect("stored");
    code.store("asynchronous", &names[0], b"code", "key-2").expect("stored");
    code.store("synchronous", &names[1], b"code", "key-2").expect("stored");
    let own = code.key("synchronous", &names[2]).expect("a key");
    code.cache.store(&own, file_of(b"code").expect("a file")).expect("stored");
    assert_eq!(retain_signed_code(path.clone(), &keys(&["key-1", "key-2"])).expect("usable"), 0);
    assert_eq!(retain_signed_code(path.clone(), &keys(&["key-0", "key-1"])).expect("usable"), 2);
    let origin = |engine: &str, name: &str| code.origin(engine, name).expect("readable");
    assert_eq!(origin("synchronous", &names[0]), Some(CodeOrigin::Signed));
    assert_eq!(origin("synchronous", &names[2]), Some(CodeOrigin::Own));
    assert_eq!([origin("asynchronous", &names[0]), origin("synchronous", &names[1])], [None, None]);
    assert_eq!(retain_signed_code(path.clone(), &[]).expect("usable"), 1);
    assert_eq!(origin("synchronous", &names[2]), Some(CodeOrigin::Own));
    assert_eq!(files(&path), 2, "code and digest of this node's own");
}

#[test]
fn what_is_compiled_here_takes_the_place_of_signed_code_and_the_other_way_round() {
    let (_folder, path, code) = opened();
    let digest = component_digest(COMPONENT);
    let key = code.key("synchronous", &digest).expect("a key");
    code.store("synchronous", &digest, b"theirs", "key-1").expect("stored");
    code.cache.store(&key, file_of(b"ours").expect("a file")).expect("stored");
    assert_eq!(retain_signed_code(path.clone(), &[]).expect("usable"), 0, "no key vouches for it");
    assert_eq!(std::fs::read(code.cache.path(&key)).expect("there"), b"ours");
    code.store("synchronous", &digest, b"theirs", "key-1").expect("stored");
    assert_eq!(std::fs::read(code.cache.path(&key)).expect("there"), b"theirs");
    assert_eq!(retain_signed_code(path.clone(), &[]).expect("usable"), 1);
    assert_eq!(files(&path), 0);
}

#[test]
fn a_signer_that_others_could_have_written_vouches_for_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_folder, path, code) = opened();
    let digest = component_digest(COMPONENT);
    code.store("synchronous", &digest, b"code", "key-1").expect("stored");
    let key = code.key("synchronous", &digest).expect("a key");
    let signer = code.cache.path(&key).with_extension("signer");
    std::fs::set_permissions(signer, std::fs::Permissions::from_mode(0o660)).expect("mine");
    assert_eq!(retain_signed_code(path, &keys(&["key-1"])).expect("usable"), 1);
}

#[test]
fn names_that_are_none_are_refused() {
    let (_folder, _path, code) = opened();
    let digest = component_digest(COMPONENT);
    assert!(matches!(code.origin("pulley", &digest), Err(CodeCacheError::NoEngine { .. })));
    let long = format!("{digest}00");
    for digest in ["", "sha256:", "sha512:00", "sha256:0g", &long] {
        let found = code.store("synchronous", digest, b"code", "key-1");
        assert!(matches!(found, Err(CodeCacheError::Digest { .. })), "{digest:?}: {found:?}");
    }
}

#[test]
fn a_target_says_what_the_machine_is_and_engines_differ() {
    let (_folder, _path, code) = opened();
    let [synchronous, asynchronous] = KINDS.map(|kind| code_target(kind).expect("an engine"));
    assert_eq!(code.targets(), [synchronous.clone(), asynchronous.clone()]);
    assert_eq!(synchronous.architecture, std::env::consts::ARCH);
    assert_eq!(synchronous.cpu_features, asynchronous.cpu_features);
    assert!(synchronous.cpu_features.is_sorted());
    assert_eq!((&*synchronous.engine, &*asynchronous.engine), ("synchronous", "asynchronous"));
    assert_eq!(synchronous.compatibility.len(), 64);
}
