//! Certificates that are made, exchanged and broken.

use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::kubelet::tests::world::Ca;

/// A clock that a test moves.
struct Moved(Mutex<Timestamp>);

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

fn set_up() -> (tempfile::TempDir, TlsOptions, Arc<Moved>) {
    let folder = tempfile::tempdir().unwrap();
    let options = TlsOptions {
        certificate: None,
        client_ca: None,
        cert_dir: folder.path().join("pki"),
        node_name: "node-1".to_owned(),
        alternative_names: vec!["10.0.0.1".to_owned(), "node-1.local".to_owned()],
        only_tls13: false,
    };
    (folder, options, Arc::new(Moved(Mutex::new("2026-06-01T12:00:00Z".parse().unwrap()))))
}

#[test]
fn a_certificate_is_made_once_and_again_before_it_ends() {
    let (folder, options, clock) = set_up();
    let tls = ServerTls::open(options.clone(), clock.clone()).unwrap();
    let at = |name: &str| folder.path().join("pki").join(name);
    let first = fs::read(at("kubelet.crt")).unwrap();
    assert_eq!(fs::metadata(at("kubelet.key")).unwrap().permissions().mode() & 0o777, 0o600);
    let own = certificates(&at("kubelet.crt")).unwrap();
    assert_eq!(own.len(), 2, "its CA is behind it");
    let (_, read) = x509_parser::parse_x509_certificate(&own[0]).unwrap();
    assert_eq!(read.subject().to_string(), "CN=node-1@1780315200");
    let names = read.subject_alternative_name().unwrap().unwrap().value.general_names.len();
    assert_eq!(names, 3, "the node's name and both others");
    // Nothing changes over a restart, and for most of its time.
    *clock.0.lock().unwrap() += SignedDuration::from_hours(24 * 330);
    assert!(!tls.reload().unwrap());
    drop(ServerTls::open(options, clock.clone()).unwrap());
    assert_eq!(fs::read(at("kubelet.crt")).unwrap(), first);
    *clock.0.lock().unwrap() += SignedDuration::from_hours(24 * 10);
    assert!(tls.reload().unwrap(), "it is made again, and used");
    assert_ne!(fs::read(at("kubelet.crt")).unwrap(), first);
}

#[test]
fn files_that_change_are_read_again_and_bad_ones_are_not_used() {
    let (folder, made, clock) = set_up();
    drop(ServerTls::open(made, clock.clone()).unwrap());
    let at = |name: &str| folder.path().join(name);
    let (certificate, key) = (at("pki/kubelet.crt"), at("pki/kubelet.key"));
    let ca = Ca::new("clients");
    fs::write(at("ca.pem"), &ca.pem).unwrap();
    let (_other, mut options, _) = set_up();
    options.certificate = Some((certificate.clone(), key.clone()));
    options.client_ca = Some(at("ca.pem"));
    let tls = ServerTls::open(options.clone(), clock.clone()).unwrap();
    assert!(!tls.reload().unwrap());
    let before = tls.config();
    fs::write(&certificate, "no certificate").unwrap();
    assert!(matches!(tls.reload(), Err(TlsError::Malformed { .. })));
    assert!(Arc::ptr_eq(&before, &tls.config()), "the old one stays in use");
    fs::remove_file(&key).unwrap();
    assert!(tls.reload().is_err());
    let (again, fresh, _) = set_up();
    drop(ServerTls::open(fresh, clock.clone()).unwrap());
    fs::copy(again.path().join("pki/kubelet.key"), &key).unwrap();
    fs::copy(again.path().join("pki/kubelet.crt"), &certificate).unwrap();
    assert!(tls.reload().unwrap());
    assert!(!Arc::ptr_eq(&before, &tls.config()));
    fs::write(at("ca.pem"), "").unwrap();
    let refused = ServerTls::open(options, clock).err().unwrap().to_string();
    assert!(refused.contains("ca.pem") && refused.contains("no PEM certificate"), "{refused}");
}

#[test]
fn a_clients_certificate_counts_no_more_once_its_authority_is_taken_away_and_again_when_it_is_back() {
    let (folder, mut options, clock) = set_up();
    let ca = Ca::new("clients");
    let path = folder.path().join("ca.pem");
    fs::write(&path, &ca.pem).unwrap();
    options.client_ca = Some(path.clone());
    let tls = ServerTls::open(options, clock).unwrap();
    let signed = ca.sign(Some("alice"), "team", 2040);
    let shown = Shown::new(tls.clone(), Some(signed.chain()));
    assert!(matches!(shown.certificate(), Certificate::Of(who, _) if who.user == "alice"));
    fs::write(&path, Ca::new("others").pem).unwrap();
    assert!(tls.reload().unwrap());
    assert_eq!(shown.certificate(), Certificate::Refused);
    fs::write(&path, format!("{}\n", ca.pem)).unwrap();
    assert!(tls.reload().unwrap());
    assert!(matches!(shown.certificate(), Certificate::Of(..)));
    assert_eq!(Shown::new(tls, None).certificate(), Certificate::None);
}

#[test]
fn a_key_of_another_certificate_is_refused_at_the_start() {
    let (first, options, clock) = set_up();
    drop(ServerTls::open(options, clock.clone()).unwrap());
    let (second, mut options, _) = set_up();
    drop(ServerTls::open(options.clone(), clock.clone()).unwrap());
    options.certificate = Some((first.path().join("pki/kubelet.crt"), second.path().join("pki/kubelet.key")));
    assert!(matches!(ServerTls::open(options, clock), Err(TlsError::Unusable { .. })));
}
