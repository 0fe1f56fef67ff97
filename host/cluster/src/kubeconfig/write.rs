//! The kubeconfig that a bootstrap leaves behind.

use std::path::Path;

use serde_json::{Value, json};

use super::{Source, Target};

/// A kubeconfig for this server whose user is the certificate and key in one file. Names are those that upstream gives.
///
/// # Errors
/// What the writer of YAML says, in words.
pub fn kubeconfig_of(target: &Target, certificate: &Path) -> Result<String, String> {
    use base64::Engine as _;
    let mut cluster = json!({ "server": target.server.to_string().trim_end_matches('/') });
    let mut put = |name: &str, value: Value| {
        if let Some(cluster) = cluster.as_object_mut() {
            cluster.insert(name.to_owned(), value);
        }
    };
    match &target.authorities {
        Some(Source::File(path)) => put("certificate-authority", path.display().to_string().into()),
        Some(Source::Inline(pem)) => {
            put("certificate-authority-data", base64::engine::general_purpose::STANDARD.encode(pem).into());
        }
        None => {}
    }
    if target.insecure {
        put("insecure-skip-tls-verify", true.into());
    }
    if let Some(name) = &target.tls_server_name {
        put("tls-server-name", name.clone().into());
    }
    if let Some(proxy) = &target.proxy_url {
        put("proxy-url", proxy.clone().into());
    }
    let certificate = certificate.display().to_string();
    let file = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "default-cluster", "cluster": cluster }],
        "users": [{
            "name": "default-auth",
            "user": { "client-certificate": certificate, "client-key": certificate },
        }],
        "contexts": [{
            "name": "default-context",
            "context": {
                "cluster": "default-cluster", "namespace": target.namespace, "user": "default-auth",
            },
        }],
        "current-context": "default-context",
    });
    serde_saphyr::to_string(&file).map_err(|error| error.to_string())
}
