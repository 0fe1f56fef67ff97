//! The file's outermost map, of which entries can be left out unread: a later release may have fields in them that this one doesn't
//! know.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use witlet_core::yaml;

use super::ConfigError;
use super::document::{EntryDocument, FileDocument};

/// The fields of [`FileDocument`], in the order in which an error lists them.
const FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "requires",
    "secrets",
    "pullCredentials",
    "requireConformance",
    "requireSignature",
    "decisionLog",
    "plugins",
];

/// Reads the file without the entries in these places.
///
/// # Errors
///
/// When the rest isn't as [`FileDocument`] has it; with line, column and field.
pub(super) fn parse(text: &str, skipped: &BTreeSet<usize>) -> Result<FileDocument, ConfigError> {
    yaml::read_seed(text, FileSeed(skipped)).map_err(|message| ConfigError::Syntax { message })
}

struct FileSeed<'a>(&'a BTreeSet<usize>);

impl<'de> DeserializeSeed<'de> for FileSeed<'_> {
    type Value = FileDocument;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_struct("FileDocument", FIELDS, self)
    }
}

impl<'de> Visitor<'de> for FileSeed<'_> {
    type Value = FileDocument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plugin configuration")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut api_version, mut kind) = (None, None);
        let mut file = FileDocument::default();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "apiVersion" => api_version = Some(map.next_value()?),
                "kind" => kind = Some(map.next_value()?),
                "requires" => file.requires = map.next_value()?,
                "secrets" => file.secrets = map.next_value()?,
                "pullCredentials" => file.pull_credentials = map.next_value()?,
                "requireConformance" => file.require_conformance = map.next_value()?,
                "requireSignature" => file.require_signature = map.next_value()?,
                "decisionLog" => file.decision_log = map.next_value()?,
                "plugins" => file.plugins = map.next_value_seed(EntriesSeed(self.0))?,
                unknown => return Err(A::Error::unknown_field(unknown, FIELDS)),
            }
        }
        file.api_version = api_version.ok_or_else(|| A::Error::missing_field("apiVersion"))?;
        file.kind = kind.ok_or_else(|| A::Error::missing_field("kind"))?;
        Ok(file)
    }
}

/// Entries with their places in the file.
struct EntriesSeed<'a>(&'a BTreeSet<usize>);

impl<'de> DeserializeSeed<'de> for EntriesSeed<'_> {
    type Value = Vec<(usize, EntryDocument)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EntriesSeed<'_> {
    type Value = Vec<(usize, EntryDocument)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of plugins")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        for place in 0.. {
            if self.0.contains(&place) {
                if list.next_element::<IgnoredAny>()?.is_none() {
                    break;
                }
                continue;
            }
            match list.next_element()? {
                Some(entry) => entries.push((place, entry)),
                None => break,
            }
        }
        Ok(entries)
    }
}
