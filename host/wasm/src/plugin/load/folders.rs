//! The folders that a plugin is granted.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use super::error::LoadError;
use crate::guest::GuestServices;
use crate::plugin::Spec;
use crate::plugin::config::Grants;

/// Makes the plugin's own folder, if it is granted one. Refuses grants of what isn't a folder: WASI has no others.
pub(super) async fn state_folder(spec: &Spec, given: &GuestServices) -> Result<Option<PathBuf>, LoadError> {
    check_folders(&spec.grants).await?;
    if !spec.grants.state {
        return Ok(None);
    }
    let folder = given.state_folder.as_ref().ok_or(LoadError::NoStateFolder)?.join(&*spec.name);
    let made = {
        let folder = folder.clone();
        tokio::task::spawn_blocking(move || {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
        })
    };
    match made.await.unwrap_or(Err(std::io::ErrorKind::Interrupted.into())) {
        Ok(()) => Ok(Some(folder)),
        Err(cause) => Err(LoadError::StateFolder { path: folder, cause }),
    }
}

async fn check_folders(grants: &Grants) -> Result<(), LoadError> {
    let folders: Vec<PathBuf> = grants.files.iter().map(|grant| grant.path.clone()).collect();
    let check = move || {
        folders.into_iter().try_for_each(|path| match std::fs::read_dir(&path) {
            Ok(_) => Ok(()),
            Err(cause) => Err(LoadError::Folder { path, cause }),
        })
    };
    tokio::task::spawn_blocking(check).await.unwrap_or(Err(LoadError::Interrupted))
}
