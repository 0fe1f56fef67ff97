//! Requests for certificates, and what their answers mean.

use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequestCondition, CertificateSigningRequestStatus,
};
use rcgen::KeyPair;

use super::{CsrState, Order, SIGNER, csr_state, digested_name};

#[test]
fn a_name_follows_from_key_and_subject_alone() {
    let name = digested_name(b"key", "system:node:a");
    assert_eq!(name, digested_name(b"key", "system:node:a"));
    assert_ne!(name, digested_name(b"kez", "system:node:a"));
    assert_ne!(name, digested_name(b"key", "system:node:b"));
    let digest = name.strip_prefix("node-csr-").expect("upstream's prefix");
    // 256 bits in digits of 6 bits each, without padding.
    assert_eq!(digest.len(), 43);
    assert!(digest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{digest}");
}

#[test]
fn an_order_is_what_the_signer_of_nodes_accepts() {
    let key = KeyPair::generate().expect("a key");
    let order = Order { node_name: "n1", key: &key, resumable: true };
    let object = order.object().expect("a request");
    assert_eq!(object.spec.signer_name, "kubernetes.io/kube-apiserver-client-kubelet");
    assert_eq!(
        object.spec.usages.as_deref(),
        Some(&["digital signature".to_owned(), "client auth".to_owned()][..])
    );
    let (_, pem) = x509_parser::pem::parse_x509_pem(&object.spec.request.0).expect("PEM");
    assert_eq!(pem.label, "CERTIFICATE REQUEST");
    let (_, request) =
        <x509_parser::certification_request::X509CertificationRequest<'_> as x509_parser::prelude::FromDer<
            '_,
            _,
        >>::from_der(&pem.contents)
        .expect("a request");
    let subject = request.certification_request_info.subject.to_string();
    assert_eq!(subject, "O=system:nodes, CN=system:node:n1");
    assert!(
        request.requested_extensions().is_none_or(|mut extensions| extensions.next().is_none()),
        "no other names"
    );
}

#[test]
fn only_a_request_of_this_key_and_signer_is_resumed() {
    let (key, other) = (KeyPair::generate().expect("a key"), KeyPair::generate().expect("a key"));
    let order = |key| Order { node_name: "n1", key, resumable: true };
    let mine = order(&key).object().expect("a request");
    assert!(order(&key).is(&mine));
    assert!(!order(&other).is(&mine));
    let mut elsewhere = mine.clone();
    elsewhere.spec.signer_name = format!("{SIGNER}-serving");
    assert!(!order(&key).is(&elsewhere));
    let mut garbage = mine;
    garbage.spec.request = ByteString(b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n".to_vec());
    assert!(!order(&key).is(&garbage));
}

#[test]
fn an_answer_is_read_from_its_conditions() {
    let status = |conditions: &[&str], certificate: Option<&str>| CertificateSigningRequestStatus {
        certificate: certificate.map(|text| ByteString(text.as_bytes().to_vec())),
        conditions: Some(
            conditions
                .iter()
                .map(|kind| CertificateSigningRequestCondition {
                    type_: (*kind).to_owned(),
                    reason: Some("R".to_owned()),
                    message: Some("m".to_owned()),
                    status: "True".to_owned(),
                    ..CertificateSigningRequestCondition::default()
                })
                .collect(),
        ),
    };
    let (reason, message) = ("R".to_owned(), "m".to_owned());
    assert_eq!(csr_state(None), CsrState::Waiting);
    assert_eq!(csr_state(Some(&status(&[], Some("c")))), CsrState::Waiting, "not approved");
    assert_eq!(csr_state(Some(&status(&["Approved"], None))), CsrState::Waiting);
    assert_eq!(csr_state(Some(&status(&["Approved"], Some("")))), CsrState::Waiting);
    assert_eq!(csr_state(Some(&status(&["Approved"], Some("c")))), CsrState::Signed(b"c".to_vec()));
    let denied = CsrState::Denied { reason: reason.clone(), message: message.clone() };
    assert_eq!(csr_state(Some(&status(&["Denied"], None))), denied);
    let failed = CsrState::Failed { reason, message };
    assert_eq!(csr_state(Some(&status(&["Approved", "Failed"], Some("c")))), failed);
}
