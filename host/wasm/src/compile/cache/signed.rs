//! Code that was compiled elsewhere and that a signature vouches for: it lies where code of this node's own would, with the id of the key
//! next to it, so that it goes when the key doesn't count any more.

use std::fs::File;
use std::io::{Read as _, Write as _};

use rustix::fs::AtFlags;

use super::{CODE, Cache, CacheError, DIGEST, Key, SIGNER, name};

/// How much of a key's id is read.
const SIGNER_BYTES_MAX: u64 = 1 << 10;
/// Length of a key of the cache, in hexadecimal.
const KEY_CHARS: usize = 64;

/// Where compiled code is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeOrigin {
    Own,
    /// Compiled elsewhere; a key vouches for it.
    Signed,
}

impl Cache {
    /// Where the code under this key is from; none if there is none that can be trusted. What is in it is checked when it is loaded.
    pub(in crate::compile) fn origin(&self, key: &Key) -> Result<Option<CodeOrigin>, CacheError> {
        for file in [name(key, DIGEST), name(key, CODE)] {
            match self.open_trusted(&file) {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(error) if error.is_repairable() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let is_signed = self.is_there(&name(key, SIGNER))?;
        Ok(Some(if is_signed { CodeOrigin::Signed } else { CodeOrigin::Own }))
    }

    /// Copies code in that the key with this id vouches for. Its id is there before the code is.
    pub(in crate::compile) fn store_signed(
        &self,
        key: &Key,
        code: File,
        signer: &str,
    ) -> Result<(), CacheError> {
        self.remove(key)?;
        self.write(&name(key, SIGNER), |file| file.write_all(signer.as_bytes()))?;
        self.put(key, code)
    }

    /// Removes all code that was compiled elsewhere and that none of these keys vouches for; how much that was.
    pub(in crate::compile) fn retain_signed(&self, keys: &[String]) -> Result<usize, CacheError> {
        let error = |cause: rustix::io::Errno| CacheError::Io {
            action: "list",
            path: self.path.clone(),
            cause: cause.into(),
        };
        let mut removed = 0;
        for entry in rustix::fs::Dir::read_from(&self.folder).map_err(error)? {
            let entry = entry.map_err(error)?;
            let Ok(file) = entry.file_name().to_str() else { continue };
            let Some((key, SIGNER)) = file.split_once('.') else { continue };
            if key.len() != KEY_CHARS || self.signer(file)?.is_some_and(|signer| keys.contains(&signer)) {
                continue;
            }
            self.remove(&Key(key.to_owned()))?;
            removed += 1;
        }
        Ok(removed)
    }

    /// Whether there is a file of this name.
    pub(super) fn is_there(&self, file: &str) -> Result<bool, CacheError> {
        match rustix::fs::statat(&self.folder, file, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(cause) => {
                Err(CacheError::Io { action: "check", path: self.path.join(file), cause: cause.into() })
            }
        }
    }

    /// The key's id in a file; none if it can't be trusted.
    fn signer(&self, file: &str) -> Result<Option<String>, CacheError> {
        let opened = match self.open_trusted(file) {
            Ok(opened) => opened,
            Err(error) if error.is_repairable() => None,
            Err(error) => return Err(error),
        };
        let Some(opened) = opened else { return Ok(None) };
        let mut signer = String::new();
        let read = opened.take(SIGNER_BYTES_MAX).read_to_string(&mut signer);
        Ok(read.is_ok().then_some(signer))
    }
}
