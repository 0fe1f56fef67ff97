//! TLS material of a plugin: additional authorities and a client certificate.

use std::sync::Arc;

use crate::egress::Egress;
use crate::tls::Trust;

/// A PEM text with the name that messages have for it; none while it isn't there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPem {
    /// Such as that of a secret.
    pub name: String,
    pub pem: Option<Arc<[u8]>>,
}

/// What a plugin may trust and show beyond the node's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsMaterial {
    /// Certificate authorities that vouch for servers next to the node's.
    pub authorities: Vec<NamedPem>,
    /// The certificates, the client's first, and the key that are shown to servers that ask for them.
    pub client: Option<NamedPem>,
}

impl Egress {
    /// The same with this. What can't be used of it is no error here: then there is no TLS, and each handshake says why.
    pub fn with_material(&self, material: &TlsMaterial) -> Self {
        let trust = trust(&self.trust, material).unwrap_or_else(Trust::failing);
        Self { trust, ..self.clone() }
    }
}

fn trust(trust: &Trust, material: &TlsMaterial) -> Result<Trust, String> {
    let mut trust = trust.clone();
    for authority in &material.authorities {
        let added = trust.with_authorities(text(authority)?);
        trust = added.map_err(|error| format!("the authorities in secret {:?}: {error}", authority.name))?;
    }
    if let Some(client) = &material.client {
        let shown = trust.with_client(text(client)?);
        trust =
            shown.map_err(|error| format!("the client certificate in secret {:?}: {error}", client.name))?;
    }
    Ok(trust)
}

fn text(named: &NamedPem) -> Result<&[u8], String> {
    named.pem.as_deref().ok_or_else(|| format!("the node doesn't have the secret {:?} (now)", named.name))
}
