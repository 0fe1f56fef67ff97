//! Reads the node's secrets, and reports which can't be read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use witlet_core::error::one_line;

use crate::plugin::config::SecretEntry;

/// What came of reading all secrets once.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) values: BTreeMap<String, Arc<[u8]>>,
    /// Why there is no value, by name.
    pub(super) failures: BTreeMap<String, Failure>,
}

/// A secret that can't be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) file: PathBuf,
    pub(super) message: String,
}

/// Reads them all. Blocks as long as the disk does.
pub(super) fn read(secrets: &[SecretEntry]) -> Read {
    let mut read = Read::default();
    for SecretEntry { name, file } in secrets {
        match witlet_egress::read_secret(file) {
            Ok(value) => {
                read.values.insert(name.clone(), value);
            }
            Err(error) => {
                let message = format!("secret {name}: {}", one_line(&error));
                read.failures.insert(name.clone(), Failure { file: file.clone(), message });
            }
        }
    }
    read
}
