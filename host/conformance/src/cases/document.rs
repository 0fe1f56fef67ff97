//! A case file as it is written, field by field; nothing unknown is taken.

mod expects;
mod scenes;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use witlet_core::config::source::PodStatusChange;
use witlet_wasm::role::Role;

use super::question::{RequestDocument, TargetDocument};
use super::{
    API_VERSION, AdmissionCase, CASES_MAX, CaseFile, Cases, CasesError, FILE_BYTES_MAX, KIND, ProbeCase,
    ProbeExpect, SourceCase, SourceExpect, SourceStep, ValidateExpect,
};
use expects::{AdmissionExpectDocument, ProbeExpectDocument, SourceExpectDocument};
use scenes::{BytesDocument, ContentDocument, ExecDocument, ServerDocument};

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FileDocument {
    api_version: String,
    kind: String,
    role: Role,
    #[serde(default)]
    config: Value,
    #[serde(default)]
    limits: Value,
    #[serde(default)]
    grants: Value,
    #[serde(default)]
    secrets: BTreeMap<String, BytesDocument>,
    cases: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct AdmissionDocument {
    name: String,
    #[serde(default, deserialize_with = "said")]
    config: Option<Value>,
    request: Option<RequestDocument>,
    expect: AdmissionExpectDocument,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ProbeDocument {
    name: String,
    #[serde(default, deserialize_with = "said")]
    config: Option<Value>,
    #[serde(default)]
    target: TargetDocument,
    #[serde(default)]
    parameters: Value,
    #[serde(default)]
    servers: Vec<ServerDocument>,
    #[serde(default)]
    execs: Vec<ExecDocument>,
    expect: ProbeExpectDocument,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SourceDocument {
    name: String,
    #[serde(default, deserialize_with = "said")]
    config: Option<Value>,
    #[serde(default)]
    servers: Vec<ServerDocument>,
    #[serde(default)]
    steps: Vec<StepDocument>,
    expect: Option<ValidateDocument>,
}

/// `expect:` of a whole case of a source.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ValidateDocument {
    validate: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct StepDocument {
    #[serde(default)]
    folders: BTreeMap<String, Option<BTreeMap<String, ContentDocument>>>,
    servers: Option<Vec<ServerDocument>>,
    statuses: Option<Vec<StatusDocument>>,
    cursor: Option<String>,
    expect: SourceExpectDocument,
}

/// One of `statuses`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct StatusDocument {
    namespace: String,
    name: String,
    uid: String,
    #[serde(default)]
    status: Option<Value>,
}

/// The path of what is read as a whole (serde_path_to_error).
const WHOLE: &str = ".";

/// What is wrong with a part of a case: the field within the case, and why.
pub(super) struct Problem {
    pub(super) field: String,
    pub(super) problem: String,
}

impl Problem {
    pub(super) fn new<T>(field: impl Into<String>, problem: impl Into<String>) -> Result<T, Self> {
        Err(Self { field: field.into(), problem: problem.into() })
    }

    /// In a field around the field.
    pub(super) fn within(self, outer: &str) -> Self {
        // The whole of what was read has no name of its own.
        let field = if self.field == WHOLE { outer.to_owned() } else { format!("{outer}.{}", self.field) };
        Self { field, ..self }
    }
}

pub(super) fn parse(file: &str, text: &str) -> Result<CaseFile, CasesError> {
    if text.len() > FILE_BYTES_MAX {
        return Err(CasesError::TooLarge { file: file.to_owned() });
    }
    let value: Value = serde_saphyr::from_str(text)
        .map_err(|error| CasesError::Syntax { file: file.to_owned(), message: error.to_string() })?;
    let at = |case: Option<&str>, problem: Problem| CasesError::Field {
        file: file.to_owned(),
        case: case.map(str::to_owned),
        field: problem.field,
        problem: problem.problem,
    };
    if !value.is_object() {
        let problem = "a case file has the fields apiVersion, kind, role and cases".to_owned();
        return Err(at(None, Problem { field: "the file".to_owned(), problem }));
    }
    let in_file = |problem: Problem| match problem.field.as_str() {
        WHOLE => at(None, Problem { field: "the file".to_owned(), ..problem }),
        _ => at(None, problem),
    };
    let document: FileDocument = read(value).map_err(in_file)?;
    check_head(&document).map_err(|problem| at(None, problem))?;
    let mut names = BTreeSet::new();
    let mut cases = match document.role {
        Role::Admission => Cases::Admission(Vec::new()),
        Role::Probe => Cases::Probe(Vec::new()),
        Role::PodSource => Cases::PodSource(Vec::new()),
    };
    for (index, value) in document.cases.into_iter().enumerate() {
        let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
        let path = format!("cases[{index}]");
        let wrong = |problem: Problem| at(name.as_deref(), problem.within(&path));
        match &mut cases {
            Cases::Admission(cases) => cases.push(admission(read(value).map_err(wrong)?).map_err(wrong)?),
            Cases::Probe(cases) => cases.push(probe(read(value).map_err(wrong)?).map_err(wrong)?),
            Cases::PodSource(cases) => cases.push(source(read(value).map_err(wrong)?).map_err(wrong)?),
        }
        let name = name.unwrap_or_default();
        if name.trim().is_empty() || !names.insert(name.clone()) {
            let problem = "every case has a name, and no two have the same".to_owned();
            return Err(at(Some(&name), Problem { field: format!("{path}.name"), problem }));
        }
    }
    let secrets = document.secrets.into_iter().map(|(name, value)| (name, value.0)).collect();
    let FileDocument { config, limits, grants, .. } = document;
    Ok(CaseFile { name: file.to_owned(), config, limits, grants, secrets, cases })
}

fn check_head(document: &FileDocument) -> Result<(), Problem> {
    if document.api_version != API_VERSION {
        return Problem::new("apiVersion", format!("{:?} isn't {API_VERSION:?}", document.api_version));
    }
    if document.kind != KIND {
        return Problem::new("kind", format!("{:?} isn't {KIND:?}", document.kind));
    }
    if document.cases.len() > CASES_MAX {
        return Problem::new("cases", format!("{} are more than {CASES_MAX}", document.cases.len()));
    }
    if document.grants.get("files").is_some() {
        return Problem::new("grants.files", "leave it out: the folders of the cases are granted");
    }
    Ok(())
}

/// A value that is there, also if it is null.
fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads a part of the file; an error has the field's path.
fn read<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (field, problem) = (error.path().to_string(), error.inner().to_string());
        Problem { field, problem }
    })
}

fn admission(document: AdmissionDocument) -> Result<AdmissionCase, Problem> {
    let AdmissionDocument { name, config, request, expect } = document;
    let asks = !expect.is_validate();
    if asks && request.is_none() {
        return Problem::new("request", "missing: say at least which `pod` it is about");
    }
    if !asks && request.is_some() {
        return Problem::new("request", "with `expect.validate` nothing is asked: leave it out");
    }
    let expect = expect.take().map_err(|problem| problem.within("expect"))?;
    let request = request.unwrap_or_default().request().map_err(|problem| problem.within("request"))?;
    Ok(AdmissionCase { name, config, request, expect })
}

fn probe(document: ProbeDocument) -> Result<ProbeCase, Problem> {
    let ProbeDocument { name, config, target, parameters, servers, execs, expect } = document;
    let pod_ips: Option<Vec<IpAddr>> = target.pod_ips.clone();
    let request = target.request().map_err(|problem| problem.within("target"))?;
    let expect = expect.take().map_err(|problem| problem.within("expect"))?;
    if matches!(expect, ProbeExpect::Parameters(_)) && !(servers.is_empty() && execs.is_empty()) {
        return Problem::new(
            "servers",
            "with `expect.parameters` nothing is probed: leave servers and execs out",
        );
    }
    let execs = execs.into_iter().map(ExecDocument::take).collect::<Result<_, _>>()?;
    Ok(ProbeCase {
        name,
        config,
        request,
        pod_ips,
        parameters,
        servers: scenes::servers(servers)?,
        execs,
        expect,
    })
}

fn source(document: SourceDocument) -> Result<SourceCase, Problem> {
    let SourceDocument { name, config, servers, steps, expect } = document;
    let validate = expect.map(|expect| validate(&expect.validate));
    if validate.is_none() && steps.is_empty() {
        return Problem::new("steps", "missing: a case has `steps`, or `expect: {validate: …}`");
    }
    if validate.is_some() && !steps.is_empty() {
        return Problem::new("steps", "with `expect.validate` nothing is polled: leave them out");
    }
    let mut taken = Vec::with_capacity(steps.len());
    for (index, document) in steps.into_iter().enumerate() {
        taken.push(step(document).map_err(|problem| problem.within(&format!("steps[{index}]")))?);
    }
    Ok(SourceCase { name, config, servers: scenes::servers(servers)?, validate, steps: taken })
}

fn step(document: StepDocument) -> Result<SourceStep, Problem> {
    let StepDocument { folders, servers, statuses, cursor, expect } = document;
    let expect = expect.take().map_err(|problem| problem.within("expect"))?;
    let tells = matches!(expect, SourceExpect::Feedback { .. });
    if tells != statuses.is_some() {
        let problem = "a step with `statuses` expects `feedback`, and one with `feedback` has `statuses`";
        return Problem::new("statuses", problem);
    }
    let statuses = statuses.map(|statuses| statuses.into_iter().map(StatusDocument::take).collect());
    let servers = servers.map(scenes::servers).transpose()?;
    let folders = folders.into_iter().map(|(path, content)| {
        let content = content
            .map(scenes::folder)
            .transpose()
            .map_err(|problem| problem.within(&format!("folders.{path}")))?;
        Ok((path, content))
    });
    Ok(SourceStep { folders: folders.collect::<Result<_, Problem>>()?, servers, statuses, cursor, expect })
}

impl StatusDocument {
    fn take(self) -> PodStatusChange {
        let Self { namespace, name, uid, status } = self;
        let status = status.filter(|status| !status.is_null()).map(|status| status.to_string());
        PodStatusChange { namespace, name, uid, status }
    }
}

/// `ok`, or words of an error.
fn validate(text: &str) -> ValidateExpect {
    match text {
        "ok" => ValidateExpect::Ok,
        words => ValidateExpect::Refuses(words.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_as_a_whole_is_told_without_a_path_of_dots() {
        let head = "apiVersion: witlet.dev/v1alpha1\nkind: PluginCases\nrole: admission\n";
        for (text, told) in [
            ("", "a.yaml: the file: a case file has the fields apiVersion, kind, role and cases"),
            ("[]", "a.yaml: the file: a case file has the fields apiVersion, kind, role and cases"),
            (head, "a.yaml: the file: missing field `cases`"),
            (
                &format!("{head}cases: [{{name: one}}]"),
                "a.yaml: case \"one\": cases[0]: missing field `expect`",
            ),
        ] {
            let error = parse("a.yaml", text).expect_err("it isn't complete");
            assert_eq!(error.to_string(), told);
        }
    }
}
