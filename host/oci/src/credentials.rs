//! Credentials for registries, from docker configurations.

use std::io::Read;
use std::path::Path;

use witlet_core::image::docker_config::DockerConfig;
use witlet_core::image::keyring::Keyring;
use witlet_core::runtime::ImageAuth;

use crate::error::TransferError;

/// How large a file with credentials may be.
const CREDENTIALS_BYTES_MAX: u64 = 1 << 20;

/// Returns what a docker configuration has for a repository, the best first.
pub(crate) async fn credentials(
    path: &Path,
    must_exist: bool,
    name: String,
) -> Result<Vec<ImageAuth>, TransferError> {
    let path = path.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let text = match read_bounded(&path) {
            Ok(text) => text,
            Err(error) if !must_exist && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Vec::new());
            }
            Err(cause) => return Err(TransferError::CredentialsFile { path, cause }),
        };
        let config =
            DockerConfig::parse_json(&text).map_err(|cause| TransferError::Credentials { path, cause })?;
        let found = Keyring::new([(&config, None)]).lookup(&name);
        Ok(found.into_iter().map(|credential| credential.auth).collect())
    });
    // Only a runtime that ends cancels it; then no one waits for the answer.
    read.await.unwrap_or_else(|_cancelled| Ok(Vec::new()))
}

fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let mut text = Vec::new();
    file.take(CREDENTIALS_BYTES_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > CREDENTIALS_BYTES_MAX {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "must have at most 1 MiB"));
    }
    Ok(text)
}
