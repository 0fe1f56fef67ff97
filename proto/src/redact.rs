//! Keeps secrets out of logs: the fields that the definitions mark `debug_redact`.

use std::fmt;

use crate::cri::AuthConfig;

/// Says that there is a secret, and not which.
fn hidden(secret: &str) -> &'static str {
    if secret.is_empty() { "" } else { "[redacted]" }
}

impl fmt::Debug for AuthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthConfig")
            .field("username", &self.username)
            .field("password", &hidden(&self.password))
            .field("auth", &hidden(&self.auth))
            .field("server_address", &self.server_address)
            .field("identity_token", &hidden(&self.identity_token))
            .field("registry_token", &hidden(&self.registry_token))
            .finish()
    }
}

#[cfg(test)]
mod tests;
