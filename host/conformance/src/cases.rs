//! Case files: what the author of a plugin says that it must answer.
//!
//! One file (YAML or JSON) has cases of one role; `vectors/README.md` beside this crate describes the format for whoever
//! writes such files, or another host that reads them.

mod defaults;
mod document;
mod expect;
mod find;
mod question;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;
use witlet_core::admission::AdmissionRequest;
use witlet_core::config::source::PodStatusChange;
use witlet_core::probe::ProbeRequest;
use witlet_wasm::role::Role;

use crate::scene::{Content, ExecAnswer, ServerScript};

pub use defaults::{node_default, now_default};
pub use expect::{
    AdmissionExpect, LineExpect, OutcomeWord, ProbeExpect, ShortageExpect, SnapshotExpect, SourceExpect,
    Text, ValidateExpect, VerdictExpect,
};
pub use find::{beside, find};
pub(crate) use question::probe_request;

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
    /// `config:` of cases that have none of their own.
    pub config: Value,
    /// `limits:` as in a PluginConfiguration, checked when the plugin is loaded.
    pub limits: Value,
    /// `grants:` as in a PluginConfiguration; `files` comes from the folders of the cases.
    pub grants: Value,
    /// Values of secrets.
    pub secrets: BTreeMap<String, Vec<u8>>,
    /// The cases, by their role.
    pub cases: Cases,
}

/// Cases of one role.
#[derive(Clone, Debug)]
pub enum Cases {
    /// Of an admission handler.
    Admission(Vec<AdmissionCase>),
    /// Of a probe type.
    Probe(Vec<ProbeCase>),
    /// Of a pod source.
    PodSource(Vec<SourceCase>),
}

/// A question about a pod, and what the answer must be.
#[derive(Clone, Debug)]
pub struct AdmissionCase {
    /// Unique in its file.
    pub name: String,
    /// In place of the file's.
    pub config: Option<Value>,
    /// The question.
    pub request: AdmissionRequest,
    /// What must come of it.
    pub expect: AdmissionExpect,
}

/// A probe, and what must come of it.
#[derive(Clone, Debug)]
pub struct ProbeCase {
    /// Unique in its file.
    pub name: String,
    /// In place of the file's.
    pub config: Option<Value>,
    /// The question, without parameters; `pod_ips` are empty where [`Self::pod_ips`] says so.
    pub request: ProbeRequest,
    /// The pod's addresses; none stands for the case's own.
    pub pod_ips: Option<Vec<IpAddr>>,
    /// What the probe is asked with.
    pub parameters: Value,
    /// Who listens on the case's address.
    pub servers: Vec<ServerScript>,
    /// What commands come to.
    pub execs: Vec<ExecAnswer>,
    /// What must come of it.
    pub expect: ProbeExpect,
}

/// Polls of one loaded source, one after the other.
#[derive(Clone, Debug)]
pub struct SourceCase {
    /// Unique in its file.
    pub name: String,
    /// In place of the file's.
    pub config: Option<Value>,
    /// Who listens on the case's address.
    pub servers: Vec<ServerScript>,
    /// What `validate` must say; none where the steps say what is expected.
    pub validate: Option<ValidateExpect>,
    /// What is done.
    pub steps: Vec<SourceStep>,
}

/// One call of a source.
#[derive(Clone, Debug)]
pub struct SourceStep {
    /// What granted folders hold from now on, by the guest's paths; those that aren't named stay as they are. None of a
    /// folder takes it away.
    pub folders: BTreeMap<String, Option<BTreeMap<String, Content>>>,
    /// In place of the servers that ran before.
    pub servers: Option<Vec<ServerScript>>,
    /// Tells how pods fare; none polls.
    pub statuses: Option<Vec<PodStatusChange>>,
    /// In place of the cursor of the last successful poll.
    pub cursor: Option<String>,
    /// What must come of it.
    pub expect: SourceExpect,
}

/// Why a case file isn't taken.
#[derive(Debug, Error)]
pub enum CasesError {
    /// It can't be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// It is larger than any such file should be.
    #[error("{file}: more than {FILE_BYTES_MAX} bytes")]
    TooLarge {
        /// The file.
        file: String,
    },
    /// It is neither YAML nor JSON.
    #[error("{file}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// The parser's words, with line and column.
        message: String,
    },
    /// A field holds what it may not.
    #[error("{file}: {}{field}: {problem}", case.as_ref().map(|case| format!("case {case:?}: ")).unwrap_or_default())]
    Field {
        /// The file.
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
    NoFiles {
        /// The folder.
        path: PathBuf,
    },
}

impl CaseFile {
    /// Reads a case file's text. `name` is what it is called in reports.
    ///
    /// # Errors
    ///
    /// When anything in it is wrong: the file, the case and the field are named.
    pub fn parse(name: &str, text: &str) -> Result<Self, CasesError> {
        document::parse(name, text)
    }

    /// Reads a case file.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`], and when it can't be read.
    pub fn read(path: &Path) -> Result<Self, CasesError> {
        let text = find::read(path)?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// The role that its cases are about.
    pub fn role(&self) -> Role {
        match &self.cases {
            Cases::Admission(_) => Role::Admission,
            Cases::Probe(_) => Role::Probe,
            Cases::PodSource(_) => Role::PodSource,
        }
    }

    /// How many cases it has.
    pub fn len(&self) -> usize {
        match &self.cases {
            Cases::Admission(cases) => cases.len(),
            Cases::Probe(cases) => cases.len(),
            Cases::PodSource(cases) => cases.len(),
        }
    }

    /// Whether it has no case.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Paths of the guest's that its cases fill.
    pub fn guest_paths(&self) -> Vec<String> {
        let Cases::PodSource(cases) = &self.cases else { return Vec::new() };
        let steps = cases.iter().flat_map(|case| &case.steps);
        let paths: std::collections::BTreeSet<&String> = steps.flat_map(|step| step.folders.keys()).collect();
        paths.into_iter().cloned().collect()
    }
}

/// A probe's time, unless its case says otherwise: as a pod's probe that says nothing.
pub(crate) const PROBE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
