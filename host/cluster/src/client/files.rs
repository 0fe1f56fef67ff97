//! Files that a kubeconfig names and that someone else replaces: client certificates and certificate authorities.

use std::fmt::Display;
use std::time::Duration;

use super::{Connection, Link, identity_of};
use crate::kubeconfig::Source;

/// How often the files are looked at.
pub(super) const FILES_PERIOD: Duration = Duration::from_secs(60);

/// Says what is wrong with a file once.
#[derive(Default)]
struct Complaint(String);

impl Complaint {
    /// Takes what became of the file; gives what is new of it.
    fn hear<T>(&mut self, read: Result<T, impl Display>, goes_on: &str) -> Option<T> {
        let (words, found) = match read {
            Ok(found) => (String::new(), Some(found)),
            Err(error) => (error.to_string(), None),
        };
        if !words.is_empty() && words != self.0 {
            tracing::warn!(error = words, "{goes_on}");
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
        let mut complaint = Complaint::default();
        loop {
            tokio::time::sleep(FILES_PERIOD).await;
            let (pair, path) = (pair.clone(), self.link.path.clone());
            let read = tokio::task::spawn_blocking(move || identity_of(&path, &pair)).await;
            let Ok(read) = read else { return };
            if let Some(identity) = complaint.hear(read, "the last client certificate goes on")
                && self.link.identities.replace(identity)
            {
                tracing::info!("the client certificate was replaced; connections begin anew");
            }
        }
    }
}

fn is_file(pair: &(Source, Source)) -> bool {
    matches!(pair, (Source::File(_), _) | (_, Source::File(_)))
}

/// A file of authorities that changed ends connections too: who isn't trusted any more isn't talked to.
async fn watch_authorities(link: &Link) {
    let (Some(authorities), Some(source @ Source::File(_))) = (&link.authorities, &link.target.authorities)
    else {
        return;
    };
    let mut complaint = Complaint::default();
    loop {
        tokio::time::sleep(FILES_PERIOD).await;
        let source = source.clone();
        let Ok(read) = tokio::task::spawn_blocking(move || source.read()).await else { return };
        const GOES_ON: &str = "the last certificate authorities go on";
        let replaced = match read {
            Ok(pem) => complaint.hear(authorities.replace(pem), GOES_ON),
            Err(error) => complaint.hear(Err(error), GOES_ON),
        };
        if replaced == Some(true) {
            tracing::info!("the certificate authorities were replaced; connections begin anew");
            link.identities.end_connections();
        }
    }
}
