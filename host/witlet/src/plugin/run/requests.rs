//! What a component is asked by `witlet plugin run`: case files, and requests that become one: recorded calls, and manifests of pods.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};
use thiserror::Error;
use witlet_conformance::cases::{self, API_VERSION, CaseFile, CasesError, KIND, NoCaseError, of_recording};
use witlet_core::sources::manifest::MANIFEST_BYTES_MAX;
use witlet_core::sources::manifest::workload::{self, Arrival, WorkloadPod, Workloads};
use witlet_wasm::record::replay::GivenData;
use witlet_wasm::record::{self, RecordedCall};
use witlet_wasm::role::Role;

use crate::bounded;

#[cfg(test)]
mod tests;

/// The node that manifests are bound to: that of cases which say nothing of one.
const NODE_NAME: &str = "node";
/// The source of pods that an API server brings.
const API_SOURCE: &str = "api";

/// Why a file is no request. Each with the way out.
#[derive(Debug, Error)]
pub(crate) enum RequestError {
    /// Neither a case file nor anything that becomes one.
    #[error(transparent)]
    Cases(#[from] CasesError),
    /// A recorded call that no case can ask again.
    #[error(
        "{} is a recorded call that isn't asked here: `witlet plugin replay {} --component {component}` asks it again",
        path.display(),
        path.display()
    )]
    Recorded {
        path: PathBuf,
        /// As it was named.
        component: String,
        #[source]
        cause: Box<NoCaseError>,
    },
    /// A manifest with something wrong.
    #[error("{}: {problem}", path.display())]
    Manifest {
        path: PathBuf,
        /// Where in it, and what.
        problem: String,
    },
}

/// The cases of all files and folders of this command line.
pub(super) fn case_files(
    paths: &[PathBuf],
    component: &str,
    now: Timestamp,
) -> Result<Vec<CaseFile>, RequestError> {
    let mut files = Vec::new();
    for path in paths {
        match cases::find(path) {
            Ok(found) => files.extend(found),
            Err(CasesError::NoFiles { path }) => return Err(CasesError::NoFiles { path }.into()),
            Err(error) if path.is_dir() => return Err(error.into()),
            Err(error) => files.push(of_request(path, component, now, error)?),
        }
    }
    Ok(files)
}

/// The file as a case. `error` is why it is no case file.
fn of_request(
    path: &Path,
    component: &str,
    now: Timestamp,
    error: CasesError,
) -> Result<CaseFile, RequestError> {
    if let Ok(call) = record::read(path) {
        return of_call(path, component, &call);
    }
    let Ok(bytes) = bounded::read(path, MANIFEST_BYTES_MAX as u64) else { return Err(error.into()) };
    let found = workload::pods(&bytes, Arrival::ApiServer { node_name: Some(NODE_NAME), now });
    // Of a broken case file its own words count. One that is some other object has its kind wrong, and nothing else was read.
    let is_other_kind = matches!(&error, CasesError::Field { field, .. } if field == "kind");
    match found.problems.first() {
        Some(problem) if is_other_kind || !found.pods.is_empty() => {
            Err(RequestError::Manifest { path: path.to_owned(), problem: problem.to_string() })
        }
        None if !found.pods.is_empty() => of_manifest(&path.display().to_string(), &found, now),
        _ => Err(error.into()),
    }
}

/// The recorded question, and the recorded answer as what is expected.
fn of_call(path: &Path, component: &str, call: &RecordedCall) -> Result<CaseFile, RequestError> {
    let file = of_recording(call, &GivenData::default()).map_err(|cause| RequestError::Recorded {
        path: path.to_owned(),
        component: component.to_owned(),
        cause: Box::new(cause),
    })?;
    Ok(CaseFile::parse(&path.display().to_string(), &file.to_string())?)
}

/// A case for each pod, in which any answer will do that the contract has.
fn of_manifest(file: &str, found: &Workloads, now: Timestamp) -> Result<CaseFile, RequestError> {
    let case = |pod: &WorkloadPod| {
        let name = match found.pods.len() {
            1 => pod.object.to_string(),
            // No two cases are called the same.
            _ => format!("{} of document {} {}", pod.object, pod.document.number, pod.item),
        };
        let request = json!({"pod": pod.pod, "source": API_SOURCE, "now": now});
        json!({"name": name.trim_end(), "request": request, "expect": {"verdict": "wellFormed"}})
    };
    let cases: Vec<Value> = found.pods.iter().map(case).collect();
    let cases = json!({"apiVersion": API_VERSION, "kind": KIND, "role": Role::Admission, "cases": cases});
    Ok(CaseFile::parse(file, &cases.to_string())?)
}
