//! What data an entry names next to its configuration, and where they are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::document::DataDocument;
use super::{ConfigError, PluginEntry, check_count, check_name, field};

/// How many data an entry can have.
pub const DATA_MAX: usize = 8;
/// How many data all entries of a file can have together: their bytes are in memory.
pub const DATA_ALL_MAX: usize = 32;

/// One of an entry's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataEntry {
    /// What the plugin asks for; unique in its entry.
    pub name: String,
    /// Where its bytes are.
    pub source: DataSource,
}

/// Where data are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataSource {
    /// A file; relative ones are looked up next to the configuration.
    File(PathBuf),
}

impl DataSource {
    /// The same, looked up next to a configuration in this folder.
    pub(crate) fn below(&self, folder: &Path) -> Self {
        match self {
            Self::File(path) => Self::File(folder.join(path.strip_prefix(".").unwrap_or(path))),
        }
    }

    /// As people read it.
    pub(crate) fn location(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
        }
    }
}

/// Refuses more than all entries together can have.
pub(super) fn check_all(plugins: &[PluginEntry]) -> Result<(), ConfigError> {
    let count: usize = plugins.iter().map(|entry| entry.data.len()).sum();
    if count <= DATA_ALL_MAX {
        return Ok(());
    }
    field("plugins", format!("their entries have {count} data, more than {DATA_ALL_MAX} together"))
}

pub(super) fn parse(documents: Vec<DataDocument>, path: &str) -> Result<Vec<DataEntry>, ConfigError> {
    check_count(&format!("{path}.data"), documents.len(), DATA_MAX)?;
    let mut names = BTreeSet::new();
    let mut data = Vec::with_capacity(documents.len());
    for (index, DataDocument { name, file }) in documents.into_iter().enumerate() {
        let at = |name: &str| format!("{path}.data[{index}].{name}");
        check_name(&name, &at("name"))?;
        if !names.insert(name.clone()) {
            return field(&at("name"), format!("{name} is the name of other data of the entry too"));
        }
        if file.as_os_str().is_empty() {
            return field(&at("file"), "no path");
        }
        data.push(DataEntry { name, source: DataSource::File(file) });
    }
    Ok(data)
}
