//! Data that the operator gives the plugin next to its configuration, such as a list of what is allowed: `data:` of the plugin's entry.
//! They stay as they are for the life of an instance; newer ones are for a second plugin next to the old one, which takes its place.
//! [`validate`](crate::AdmissionHandler::validate) sees them, and may refuse them.
//!
//! ```
//! use serde::Deserialize;
//! use witlet_plugin_sdk_0_2::{Error, data, facts};
//!
//! #[derive(Deserialize)]
//! struct Table {
//!     allow: Vec<String>,
//! }
//!
//! facts::set_data("table", br#"{"allow": ["shop"]}"#);
//! assert_eq!(data::names(), ["table"]);
//! let table: Table = data::open("table")?.json()?;
//! assert_eq!(table.allow, ["shop"]);
//! assert_eq!(data::open("other").map_err(|error| error.code().to_owned()).err(), Some("NotFound".to_owned()));
//! # Ok::<(), Error>(())
//! ```

use serde::de::DeserializeOwned;

use crate::Error;
#[cfg(target_family = "wasm")]
use crate::bindings::witlet::host::data as backend;
#[cfg(not(target_family = "wasm"))]
use crate::facts::data as backend;

/// As much as the host gives at once.
pub(crate) const PART_BYTES: u64 = 1 << 20;
/// The code of data that aren't what the plugin expects.
const INVALID_DATA: &str = "InvalidData";

/// The names that the entry gives its data, sorted.
pub fn names() -> Vec<String> {
    backend::names()
}

/// The data with this name.
///
/// # Errors
/// With the code `NotFound` if the entry has none.
pub fn open(name: &str) -> Result<Snapshot, Error> {
    Ok(Snapshot { opened: backend::open(name)?, name: name.to_owned() })
}

/// Data that were opened.
#[derive(Debug)]
pub struct Snapshot {
    opened: backend::Snapshot,
    /// For errors.
    name: String,
}

impl Snapshot {
    /// SHA-256 of all bytes: `sha256:` and 64 hexadecimal digits. Recordings of calls have it, too.
    pub fn digest(&self) -> String {
        self.opened.digest()
    }

    /// How many bytes there are, at most 16 MiB.
    pub fn size(&self) -> u64 {
        self.opened.size()
    }

    /// The bytes from `offset` on, as many as `length` says: fewer at the end, none beyond it, and never more than 1 MiB.
    pub fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        self.opened.read(offset, length)
    }

    /// All bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let part = self.read(bytes.len() as u64, PART_BYTES);
            if part.is_empty() {
                return bytes;
            }
            bytes.extend(part);
        }
    }

    /// All of it as text.
    ///
    /// # Errors
    /// With the code `InvalidData` if it isn't UTF-8.
    pub fn text(&self) -> Result<String, Error> {
        String::from_utf8(self.bytes()).map_err(|_| self.invalid("it isn't UTF-8"))
    }

    /// All of it, decoded as JSON.
    ///
    /// # Errors
    /// With the code `InvalidData` if it isn't JSON of that type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.bytes()).map_err(|cause| self.invalid(&cause.to_string()))
    }

    fn invalid(&self, problem: &str) -> Error {
        Error::new(INVALID_DATA, format!("data {:?}: {problem}", self.name))
    }
}

#[cfg(test)]
mod tests;
