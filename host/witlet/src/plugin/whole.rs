//! Files in folders of users, written whole: a reader finds the old file or the new one, and two programs don't get in each other's way.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Permissions of a new file, before the user's mask.
const FILE_MODE: u32 = 0o666;

/// Writes a file, or replaces it, with exactly these permissions, if there are any.
pub(super) fn write(path: &Path, content: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".witlet-")
        .permissions(Permissions::from_mode(FILE_MODE))
        .tempfile_in(folder)?;
    file.write_all(content)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
