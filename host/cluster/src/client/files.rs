//! Files that a kubeconfig names and that someone else replaces: client certificates and certificate authorities.

use std::fmt::Display;
use std::time::Duration;

use super::{Connection, Link, identity_of};
use crate::kubeconfig::Source;

/// How often the files are checked.
pub(super) const FILES_PERIOD: Duration = Duration::from_secs(60);

/// Logs each error of a file once.
#[derive(Default)]
struct FileErrors(String);

impl FileErrors {
    /// Takes the result of reading; returns the content.
    fn note<T>(&mut self, read: Result<T, impl Display>, what: &str) -> Option<T> {
        let (words, found) = match read {
            Ok(found) => (String::new(), Some(found)),
            Err(error) => (error.to_string(), None),
        };
        if !words.is_empty() && words != self.0 {
            tracing::warn!(error = words, file = what, "Failed to reload file, using the last content");
        }
        self.0 = words;
        found
    }
}

impl Connection {
    /// Files that someone else replaces are used from then on. Ones that can't be used leave the last ones.
    pub(super) async fn watch_files(&self) {
        let certificate = self.watch_certificate();
        let authorities = watch_authorities(&self.link);
        let bootstrap = async {
            if let Some(link) = &self.bootstrap {
                watch_authorities(link).await;
            }
        };
        tokio::join!(certificate, authorities, bootstrap);
    }

    async fn watch_certificate(&self) {
        let pair = self.link.target.certificate.clone();
        let Some(pair) = pair.filter(|pair| !self.manages_certificate() && is_file(pair)) else { return };
        let mut errors = FileErrors::default();
        loop {
            tokio::time::sleep(FILES_PERIOD).await;
            let (pair, path) = (pair.clone(), self.link.path.clone());
            let read = tokio::task::spawn_blocking(move || identity_of(&path, &pair)).await;
            let Ok(read) = read else { return };
            if let Some(identity) = errors.note(read, "client-certificate")
                && self.link.identities.replace(identity)
            {
                tracing::info!("Client certificate changed, closing connections");
            }
        }
    }
}

fn is_file(pair: &(Source, Source)) -> bool {
    matches!(pair, (Source::File(_), _) | (_, Source::File(_)))
}

/// A changed file of authorities closes connections: servers may not be trusted any more.
async fn watch_authorities(link: &Link) {
    let (Some(authorities), Some(source @ Source::File(_))) = (&link.authorities, &link.target.authorities)
    else {
        return;
    };
    let mut errors = FileErrors::default();
    loop {
        tokio::time::sleep(FILES_PERIOD).await;
        let source = source.clone();
        let Ok(read) = tokio::task::spawn_blocking(move || source.read()).await else { return };
        const WHAT: &str = "certificate-authority";
        let replaced = match read {
            Ok(pem) => errors.note(authorities.replace(pem), WHAT),
            Err(error) => errors.note(Err(error), WHAT),
        };
        if replaced == Some(true) {
            tracing::info!("Certificate authorities changed, closing connections");
            link.identities.end_connections();
        }
    }
}
