//! Certificates on disk.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use jiff::Timestamp;

use super::{CertificateStore, StoreError};
use crate::client::fixture::{ALWAYS, Authority};

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

#[test]
fn a_certificate_is_kept_as_the_kubelet_keeps_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = CertificateStore::new(folder.path().join("pki"));
    assert!(store.current().expect("no folder yet").is_none());
    let authority = Authority::new();
    let (first, key) = authority.issue("a", ALWAYS);
    let kept = store.update(first.as_bytes(), key.as_bytes(), at("2030-02-03T04:05:06Z")).expect("kept");
    assert_eq!(store.current().expect("a file"), Some(kept));
    let file = folder.path().join("pki/kubelet-client-2030-02-03-04-05-06.pem");
    assert_eq!(fs::read_link(store.current_path()).expect("a link"), file);
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&file).expect("text"), format!("{first}{key}"));
    let (second, key) = authority.issue("b", ALWAYS);
    let kept = store.update(second.as_bytes(), key.as_bytes(), at("2030-02-04T00:00:00Z")).expect("kept");
    assert_eq!(store.current().expect("a file"), Some(kept));
    assert!(file.exists(), "the one before stays");
    let names = fs::read_dir(folder.path().join("pki")).expect("a folder").count();
    assert_eq!(names, 3, "no draft is left");
}

#[test]
fn what_a_kill_left_behind_is_in_no_ones_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = CertificateStore::new(folder.path().to_owned());
    fs::write(folder.path().join("kubelet-client-updated.pem"), "half").expect("written");
    fs::write(folder.path().join("kubelet-client-2030-01-01-00-00-00.pem.new"), "half").expect("written");
    let (chain, key) = Authority::new().issue("a", ALWAYS);
    let kept = store.update(chain.as_bytes(), key.as_bytes(), at("2030-01-01T00:00:00Z")).expect("kept");
    assert_eq!(store.current().expect("a file"), Some(kept));
}

#[test]
fn a_pair_that_is_none_replaces_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = CertificateStore::new(folder.path().to_owned());
    let authority = Authority::new();
    let (chain, key) = authority.issue("a", ALWAYS);
    let kept = store.update(chain.as_bytes(), key.as_bytes(), at("2030-01-01T00:00:00Z")).expect("kept");
    let (_, other) = authority.issue("b", ALWAYS);
    let refused = store.update(chain.as_bytes(), other.as_bytes(), at("2030-01-02T00:00:00Z"));
    assert!(matches!(refused, Err(StoreError::Identity { .. })));
    assert_eq!(store.current().expect("a file"), Some(kept));
}

#[test]
fn a_key_is_kept_until_its_request_is_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = CertificateStore::new(folder.path().join("pki"));
    let first = store.begun_key().expect("a key").serialize_pem();
    assert_eq!(store.begun_key().expect("a key").serialize_pem(), first);
    let path = folder.path().join("pki/kubelet-client.key.tmp");
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    fs::write(&path, "garbage").expect("written");
    let second = store.begun_key().expect("a key").serialize_pem();
    assert_ne!(second, first);
    store.forget_key().expect("forgotten");
    store.forget_key().expect("forgotten already");
    assert_ne!(store.begun_key().expect("a key").serialize_pem(), second);
}
