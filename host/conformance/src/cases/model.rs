//! A case file as it was read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;
use thiserror::Error;
use witlet_wasm::role::Role;

use super::expect::Expect;
use crate::environment::commands::ExecAnswer;
use crate::environment::folders::FolderContent;
use crate::environment::servers::ServerScript;
use crate::plugin_request::PluginRequest;

/// `apiVersion` of a case file.
pub const API_VERSION: &str = "witlet.dev/v1alpha1";
/// `kind` of a case file.
pub const KIND: &str = "PluginCases";
/// How large a case file may be.
pub const FILE_BYTES_MAX: usize = 8 << 20;
/// How many cases a file may have.
pub const CASES_MAX: usize = 1000;

/// The cases of one file.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// Where it came from, for reports.
    pub name: String,
    pub(crate) role: Role,
    /// `config:` of cases that have none of their own.
    pub(crate) config: Value,
    /// `limits:` as in a PluginConfiguration, checked when the plugin is loaded.
    pub(crate) limits: Value,
    /// `grants:` as in a PluginConfiguration; `files` comes from the folders of the cases.
    pub(crate) grants: Value,
    pub(crate) secrets: BTreeMap<String, Vec<u8>>,
    /// Data next to the configuration.
    pub(crate) data: BTreeMap<String, Vec<u8>>,
    pub(crate) cases: Vec<Case>,
}

/// Calls of one loaded plugin, and what must come of each.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Unique in its file.
    pub(crate) name: String,
    /// In place of the file's.
    pub(crate) config: Option<Value>,
    /// Who listens on the case's address.
    pub(crate) servers: Vec<ServerScript>,
    /// What commands come to.
    pub(crate) execs: Vec<ExecAnswer>,
    /// What `validate` must say where nothing else is asked.
    pub(crate) validate: Option<Expect>,
    /// One after the other. Handlers and probe types have at most one.
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// What granted folders hold from now on, by the guest's paths; those that aren't named stay as they are. None of a folder
    /// takes it away.
    pub(crate) folders: BTreeMap<String, Option<FolderContent>>,
    /// In place of the servers that ran before.
    pub(crate) servers: Option<Vec<ServerScript>>,
    pub(crate) question: PluginRequest,
    pub(crate) expect: Expect,
}

impl CaseFile {
    /// The role that its cases are about.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Paths of the guest's that its cases fill.
    pub(crate) fn guest_paths(&self) -> Vec<String> {
        let steps = self.cases.iter().flat_map(|case| &case.steps);
        let paths: BTreeSet<&String> = steps.flat_map(|step| step.folders.keys()).collect();
        paths.into_iter().cloned().collect()
    }
}

/// Why a case file isn't taken.
#[derive(Debug, Error)]
pub enum CasesError {
    /// It can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// It is larger than any such file should be.
    #[error("{file}: more than {FILE_BYTES_MAX} bytes")]
    TooLarge { file: String },
    /// It is neither YAML nor JSON.
    #[error("{file}: {message}")]
    Syntax {
        file: String,
        /// The parser's words, with line and column.
        message: String,
    },
    /// A field holds what it may not.
    #[error("{file}: {}{field}: {problem}", case.as_ref().map(|case| format!("case {case:?}: ")).unwrap_or_default())]
    Field {
        file: String,
        /// The case's name, where the field is in one that has one.
        case: Option<String>,
        /// The field's path in the file: `cases[2].expect.verdict`.
        field: String,
        /// What is wrong, and the way out.
        problem: String,
    },
    /// A folder of case files has none.
    #[error("{} has no case files (*.yaml, *.yml or *.json)", path.display())]
    NoFiles { path: PathBuf },
}
