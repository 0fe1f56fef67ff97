//! Certificate authorities and a client certificate that a plugin was granted. It never sees the key.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use witlet_egress::{Egress, NamedPem, TlsMaterial};

use super::secrets::Secrets;
use crate::plugin::config::Grants;

/// What a plugin trusts and shows beyond the node's own, as its secrets have it now. Clones share what was made of them.
#[derive(Clone, Default)]
pub(crate) struct TlsAccess {
    secrets: Arc<Secrets>,
    authorities: Arc<[String]>,
    client: Option<Arc<str>>,
    /// The newest material, and the way out with it.
    made: Arc<Mutex<Option<(TlsMaterial, Egress)>>>,
}

impl fmt::Debug for TlsAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { authorities, client, .. } = self;
        f.debug_struct("TlsAccess")
            .field("authorities", authorities)
            .field("client", client)
            .finish_non_exhaustive()
    }
}

impl TlsAccess {
    /// What these grants name of `secrets`.
    pub(crate) fn new(secrets: Arc<Secrets>, grants: &Grants) -> Self {
        let client = grants.tls_client_certificate.as_deref().map(Arc::from);
        Self { secrets, authorities: grants.tls_authorities.clone().into(), client, made: Arc::default() }
    }

    /// Whether there is anything.
    pub(crate) fn is_granted(&self) -> bool {
        !self.authorities.is_empty() || self.client.is_some()
    }

    /// The way out with what was granted. It is made again when a secret was replaced.
    pub(crate) fn egress(&self, egress: &Egress) -> Egress {
        if !self.is_granted() {
            return egress.clone();
        }
        let named = |name: &str| NamedPem { name: name.to_owned(), pem: self.secrets.value(name) };
        let material = TlsMaterial {
            authorities: self.authorities.iter().map(|name| named(name)).collect(),
            client: self.client.as_deref().map(named),
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, egress)) = made.as_ref().filter(|(of, _)| *of == material) {
            return egress.clone();
        }
        let egress = egress.with_material(&material);
        *made = Some((material, egress.clone()));
        egress
    }
}
