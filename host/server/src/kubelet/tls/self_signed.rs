//! A certificate for a server that no one gave one: `kubelet.crt` and `kubelet.key`, as upstream makes them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use witlet_ports::whole_file::replace_file;

use super::{TlsError, TlsOptions};

/// How long it counts, in days.
const LIFE_DAYS: i64 = 365;

/// It is made again so many days before that.
const RENEW_DAYS: i64 = 30;

/// The files, made if they aren't there, can't be read, or come to the end of their time.
pub(super) fn ensure(options: &TlsOptions, now: Timestamp) -> Result<(PathBuf, PathBuf), TlsError> {
    let at = |name: &str| options.cert_dir.join(name);
    let files = (at("kubelet.crt"), at("kubelet.key"));
    if is_good(&files, now) {
        return Ok(files);
    }
    let failed = |message: String| TlsError::Make { name: options.node_name.clone(), message };
    let (certificate, key) = make(options, now).map_err(|error| failed(error.to_string()))?;
    let io = |action, path: &Path| {
        let path = path.to_owned();
        move |cause| TlsError::Io { action, path, cause }
    };
    let folder = &options.cert_dir;
    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(io("make the folder", folder))?;
    // The key first: a certificate without its key would be taken for a good one.
    write(&files.1, &key, 0o600).map_err(io("write", &files.1))?;
    write(&files.0, &certificate, 0o644).map_err(io("write", &files.0))?;
    Ok(files)
}

fn is_good((certificate, key): &(PathBuf, PathBuf), now: Timestamp) -> bool {
    let until = || {
        let read = CertificateDer::from_pem_slice(&fs::read(certificate).ok()?).ok()?;
        let (_, read) = x509_parser::parse_x509_certificate(&read).ok()?;
        Timestamp::from_second(read.validity().not_after.timestamp()).ok()
    };
    let lasts = until().is_some_and(|until| until > now + SignedDuration::from_hours(24 * RENEW_DAYS));
    lasts && fs::metadata(key).is_ok_and(|key| key.len() > 0)
}

/// A certificate with its CA's behind it, and its key. The CA's own key is thrown away.
fn make(options: &TlsOptions, now: Timestamp) -> Result<(String, String), rcgen::Error> {
    let (node, second) = (&options.node_name, now.as_second());
    let ca_key = KeyPair::generate()?;
    let mut ca = params(Vec::new(), &format!("{node}-ca@{second}"), now)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    let ca_certificate = ca.self_signed(&ca_key)?;
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate()?;
    let names = [node].into_iter().chain(&options.alternative_names).cloned().collect();
    let mut own = params(names, &format!("{node}@{second}"), now)?;
    own.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    own.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = own.signed_by(&key, &issuer)?;
    Ok((certificate.pem() + &ca_certificate.pem(), key.serialize_pem()))
}

fn params(names: Vec<String>, common_name: &str, now: Timestamp) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    // From the day before, for clocks that are behind.
    let day = |days: i64| {
        let date = (now + SignedDuration::from_hours(24 * days)).to_zoned(TimeZone::UTC).date();
        date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    (params.not_before, params.not_after) = (day(-1), day(LIFE_DAYS));
    Ok(params)
}

fn write(path: &Path, content: &str, mode: u32) -> io::Result<()> {
    replace_file(path, &path.with_extension("new"), content.as_bytes(), mode)
}
