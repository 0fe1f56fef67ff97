//! The cluster's certificate authority: certificates of the server and its clients, and whose they are.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertificateSigningRequestParams, DistinguishedName,
    DnType, DnValue, Error, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::identity::Identity;
use crate::server::lock;

/// Certificates whose owners are remembered; beyond, requests with new ones are answered 401.
const ISSUED_MAX: usize = 10_000;
/// Names of the server's certificate.
const SERVER_NAMES: [&str; 5] =
    ["localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default.svc.cluster.local"];
/// How far certificates reach back, for clocks that differ.
const BACKDATED: SignedDuration = SignedDuration::from_mins(5);

/// A certificate with its key.
pub struct Issued {
    /// The certificate as PEM.
    pub certificate_pem: String,
    /// Its key as PEM (PKCS #8).
    pub key_pem: String,
    pub(crate) der: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
}

struct Owner {
    identity: Identity,
    end: Timestamp,
}

/// The authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
    issued: Mutex<BTreeMap<Vec<u8>, Owner>>,
}

/// A time in the form of certificates, whose type has no name here; before 1970 it is 1970.
macro_rules! at {
    ($time:expr) => {
        rcgen::date_time_ymd(1970, 1, 1)
            + Duration::from_secs(u64::try_from($time.as_second()).unwrap_or_default())
    };
}

impl Authority {
    /// A new authority, whose own certificate holds from 1970 to 2100.
    pub(crate) fn new() -> Result<Self, Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = name("witlet test cluster", &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        params.not_before = rcgen::date_time_ymd(1970, 1, 1);
        params.not_after = rcgen::date_time_ymd(2100, 1, 1);
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(Self { issuer: Issuer::new(params, key), certificate, issued: Mutex::default() })
    }

    /// The authority's certificate.
    pub(crate) fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// A certificate for the server, with the names of this machine's loopback.
    pub(crate) fn server(&self) -> Result<Issued, Error> {
        let names: Vec<String> = SERVER_NAMES.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = name("kube-apiserver", &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.not_before = rcgen::date_time_ymd(1970, 1, 1);
        params.not_after = rcgen::date_time_ymd(2100, 1, 1);
        self.issue(&params)
    }

    /// A client's certificate.
    pub(crate) fn client(
        &self,
        who: &Identity,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<Issued, Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name = name(&who.user, &who.groups);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let end = limit(&mut params, now, life);
        let issued = self.issue(&params)?;
        self.remember(&issued.der, who.clone(), end);
        Ok(issued)
    }

    fn issue(&self, params: &CertificateParams) -> Result<Issued, Error> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let der = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        Ok(Issued {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            der: certificate.der().clone(),
            key: der,
        })
    }

    /// Signs a request as it is; the certificate as PEM. Its owner is whom the request names.
    pub(crate) fn sign(&self, request: &str, now: Timestamp, life: SignedDuration) -> Result<String, Error> {
        let mut request = CertificateSigningRequestParams::from_pem(request)?;
        let end = limit(&mut request.params, now, life);
        let names = &request.params.distinguished_name;
        let user = names.get(&DnType::CommonName).map(plain).unwrap_or_default();
        let organizations = names.iter().filter(|(kind, _)| **kind == DnType::OrganizationName);
        let groups = organizations.map(|(_, value)| plain(value)).collect();
        let signed = request.signed_by(&self.issuer)?;
        self.remember(signed.der(), Identity { user, groups, ..Identity::default() }, end);
        Ok(signed.pem())
    }

    fn remember(&self, der: &CertificateDer<'_>, identity: Identity, end: Timestamp) {
        let mut issued = lock(&self.issued);
        if issued.len() < ISSUED_MAX {
            issued.insert(der.to_vec(), Owner { identity, end });
        }
    }

    /// Whose certificate this is, if it isn't over.
    pub(crate) fn owner(&self, der: &[u8], now: Timestamp) -> Option<Identity> {
        let issued = lock(&self.issued);
        issued.get(der).filter(|owner| now < owner.end).map(|owner| owner.identity.clone())
    }

    /// Ends every client's certificate.
    pub(crate) fn forget(&self) {
        lock(&self.issued).clear();
    }
}

fn limit(params: &mut CertificateParams, now: Timestamp, life: SignedDuration) -> Timestamp {
    let end = now.checked_add(life).unwrap_or(Timestamp::MAX);
    params.not_before = at!(now.checked_sub(BACKDATED).unwrap_or(now));
    params.not_after = at!(end);
    end
}

fn name(user: &str, groups: &[String]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    // One organization is all that this form can hold; what tests use has one.
    if let Some(group) = groups.first() {
        name.push(DnType::OrganizationName, group.as_str());
    }
    name.push(DnType::CommonName, user);
    name
}

fn plain(value: &DnValue) -> String {
    match value {
        DnValue::Utf8String(text) => text.clone(),
        DnValue::PrintableString(text) => text.as_str().to_owned(),
        DnValue::Ia5String(text) => text.as_str().to_owned(),
        _ => String::new(),
    }
}
