//! A case file as it is written; nothing unknown is taken.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use witlet_core::error::yaml_fault;
use witlet_core::sources::plugin::{LeftOutPod, PodNews, PodStatusChange};
use witlet_wasm::role::Role;

use super::expect::{self, Problem, WHOLE, expect, read};
use super::model::{API_VERSION, CASES_MAX, Case, CaseFile, CasesError, FILE_BYTES_MAX, KIND, Step};
use super::request::{RequestDocument, TargetDocument};
use crate::environment::bytes::bytes;
use crate::environment::commands::ExecAnswer;
use crate::environment::folders::{Content, FolderContent, SpecialContent};
use crate::environment::servers::ServerScript;
use crate::plugin_request::PluginRequest;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FileDocument {
    api_version: String,
    // Checked before the rest is read.
    #[serde(rename = "kind")]
    _kind: String,
    role: Role,
    #[serde(default)]
    config: Value,
    #[serde(default)]
    limits: Value,
    #[serde(default)]
    grants: Value,
    #[serde(default)]
    secrets: BTreeMap<String, Bytes>,
    #[serde(default)]
    data: BTreeMap<String, Bytes>,
    cases: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Bytes(#[serde(deserialize_with = "bytes")] Vec<u8>);

/// Every field that a case can have in some role.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseDocument {
    name: String,
    #[serde(default, deserialize_with = "said")]
    config: Option<Value>,
    request: Option<RequestDocument>,
    #[serde(default)]
    target: TargetDocument,
    #[serde(default)]
    parameters: Value,
    #[serde(default)]
    servers: Vec<ServerScript>,
    #[serde(default)]
    execs: Vec<ExecAnswer>,
    #[serde(default)]
    steps: Vec<StepDocument>,
    expect: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepDocument {
    #[serde(default)]
    folders: BTreeMap<String, Option<FolderContent>>,
    servers: Option<Vec<ServerScript>>,
    statuses: Option<Vec<StatusDocument>>,
    cursor: Option<String>,
    expect: Map<String, Value>,
}

/// One of `statuses`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct StatusDocument {
    namespace: String,
    name: String,
    uid: Option<String>,
    status: Option<Value>,
    left_out: Option<LeftOutDocument>,
}

/// Why a pod isn't run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LeftOutDocument {
    reason: String,
    message: String,
}

/// A value that is there, also if it is null.
fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Fields of cases by role, in addition to `name`, `config` and `expect`.
fn fields(role: Role) -> &'static [&'static str] {
    match role {
        Role::Admission => &["request"],
        Role::Probe => &["target", "parameters", "servers", "execs"],
        Role::PodSource => &["servers", "steps"],
    }
}

impl CaseFile {
    /// Reads a case file's text. `name` is what it is called in reports.
    ///
    /// # Errors
    ///
    /// When anything in it is wrong: the file, the case and the field are named.
    pub fn parse(file: &str, text: &str) -> Result<Self, CasesError> {
        if text.len() > FILE_BYTES_MAX {
            return Err(CasesError::TooLarge { file: file.to_owned() });
        }
        let value: Value = serde_saphyr::from_str(text)
            .map_err(|error| CasesError::Syntax { file: file.to_owned(), message: yaml_fault(&error) })?;
        let at = |case: Option<&str>, problem: Problem| CasesError::Field {
            file: file.to_owned(),
            case: case.map(str::to_owned),
            field: if problem.field == WHOLE { "the file".to_owned() } else { problem.field },
            problem: problem.problem,
        };
        let document = head(value).map_err(|problem| at(None, problem))?;
        let (mut names, mut cases) = (BTreeSet::new(), Vec::new());
        for (index, value) in document.cases.into_iter().enumerate() {
            let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
            let path = format!("cases[{index}]");
            let read = case(document.role, value);
            cases.push(read.map_err(|problem| at(name.as_deref(), problem.within(&path)))?);
            let name = name.unwrap_or_default();
            if name.trim().is_empty() || !names.insert(name.clone()) {
                let problem = "every case has a name, and no two have the same".to_owned();
                return Err(at(Some(&name), Problem { field: format!("{path}.name"), problem }));
            }
        }
        let values =
            |bytes: BTreeMap<String, Bytes>| bytes.into_iter().map(|(name, value)| (name, value.0)).collect();
        let (secrets, data) = (values(document.secrets), values(document.data));
        let FileDocument { role, config, limits, grants, .. } = document;
        Ok(Self { name: file.to_owned(), role, config, limits, grants, secrets, data, cases })
    }
}

fn head(value: Value) -> Result<FileDocument, Problem> {
    if !value.is_object() {
        return Problem::new(WHOLE, "a case file has the fields apiVersion, kind, role and cases");
    }
    // A manifest given for a case file has a first unknown field, which isn't what is wrong.
    let kind = value.get("kind").and_then(Value::as_str).filter(|kind| *kind != KIND);
    if let Some(kind) = kind {
        let help = "`witlet plugin eval` asks admission handlers about manifests";
        return Problem::new("kind", format!("must be {KIND:?}, found {kind:?}: {help}"));
    }
    let document: FileDocument = read(value)?;
    if document.api_version != API_VERSION {
        return Problem::new("apiVersion", format!("{:?} isn't {API_VERSION:?}", document.api_version));
    }
    if document.cases.len() > CASES_MAX {
        return Problem::new("cases", format!("{} are more than {CASES_MAX}", document.cases.len()));
    }
    if document.grants.get("files").is_some() {
        return Problem::new("grants.files", "must not be set: the folders of the cases are granted");
    }
    Ok(document)
}

fn case(role: Role, value: Value) -> Result<Case, Problem> {
    let given: Vec<String> =
        value.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
    let mut document: CaseDocument = read(value)?;
    let known = |name: &str| ["name", "config", "expect"].contains(&name) || fields(role).contains(&name);
    if let Some(other) = given.iter().find(|name| !known(name)) {
        return Problem::new(other, format!("unknown field `{other}` of a case of the role {role}"));
    }
    let (servers, execs) = (std::mem::take(&mut document.servers), std::mem::take(&mut document.execs));
    let (name, config) = (document.name.clone(), document.config.take());
    check_servers(&servers)?;
    let problem = execs.iter().enumerate().find_map(|(index, exec)| Some((index, exec.problem()?)));
    if let Some((index, problem)) = problem {
        return Problem::new(format!("execs[{index}]"), problem);
    }
    let (validate, steps) = match role {
        Role::PodSource => source(document)?,
        Role::Admission | Role::Probe => {
            let Some(fields) = document.expect.take() else {
                return Problem::new(WHOLE, "missing field `expect`");
            };
            let forms = if role == Role::Admission { expect::ADMISSION } else { expect::PROBE };
            let (head, expect) = expect(forms, fields).map_err(|problem| problem.within("expect"))?;
            if head == "parameters" && !(servers.is_empty() && execs.is_empty()) {
                let problem = "with `expect.parameters` nothing is probed: leave servers and execs out";
                return Problem::new("servers", problem);
            }
            match question(role, head, document)? {
                None => (Some(expect), Vec::new()),
                Some(question) => {
                    let step = Step { folders: BTreeMap::new(), servers: None, question, expect };
                    (None, vec![step])
                }
            }
        }
    };
    Ok(Case { name, config, servers, execs, validate, steps })
}

/// Returns what is asked where `head` is expected; none where only `validate` is.
fn question(role: Role, head: &str, document: CaseDocument) -> Result<Option<PluginRequest>, Problem> {
    match (role, head, document.request) {
        (Role::Admission, "validate", None) | (Role::Probe, "validate", _) => Ok(None),
        (Role::Admission, "validate", Some(_)) => {
            Problem::new("request", "must not be set with `expect.validate`")
        }
        (Role::Admission, _, Some(request)) => {
            request.question().map(Some).map_err(|problem| problem.within("request"))
        }
        (Role::Admission, _, None) => {
            Problem::new("request", "missing: say at least which `pod` it is about")
        }
        (_, "parameters", _) => Ok(Some(PluginRequest::Check(document.parameters.to_string().into()))),
        (..) => {
            let question = document.target.question(&document.parameters);
            question.map(Some).map_err(|problem| problem.within("target"))
        }
    }
}

fn source(document: CaseDocument) -> Result<(Option<expect::Expect>, Vec<Step>), Problem> {
    let CaseDocument { steps, expect: fields, .. } = document;
    let validate = fields.map(|fields| expect(expect::VALIDATE, fields)).transpose();
    let validate = validate.map_err(|problem| problem.within("expect"))?.map(|(_, expect)| expect);
    if validate.is_none() && steps.is_empty() {
        return Problem::new("steps", "missing: a case has `steps`, or `expect: {validate: …}`");
    }
    if validate.is_some() && !steps.is_empty() {
        return Problem::new("steps", "must not be set with `expect.validate`");
    }
    let steps = steps.into_iter().enumerate().map(|(index, document)| {
        step(document).map_err(|problem| problem.within(&format!("steps[{index}]")))
    });
    Ok((validate, steps.collect::<Result<_, _>>()?))
}

fn step(document: StepDocument) -> Result<Step, Problem> {
    let StepDocument { folders, servers, statuses, cursor, expect: fields } = document;
    let (head, expect) = expect(expect::STEP, fields).map_err(|problem| problem.within("expect"))?;
    if (head == "feedback") != statuses.is_some() {
        let problem = "a step with `statuses` expects `feedback`, and one with `feedback` has `statuses`";
        return Problem::new("statuses", problem);
    }
    check_servers(servers.as_deref().unwrap_or_default())?;
    for (path, content) in &folders {
        let names = content.as_ref().map_or(Ok(()), check_names);
        names.map_err(|problem| problem.within(&format!("folders.{path}")))?;
    }
    let question = match statuses {
        Some(statuses) => {
            let news = statuses.into_iter().enumerate().map(|(index, document)| {
                document.take().map_err(|problem| problem.within(&format!("statuses[{index}]")))
            });
            PluginRequest::Statuses(news.collect::<Result<_, _>>()?)
        }
        None => PluginRequest::Poll(cursor),
    };
    Ok(Step { folders, servers, question, expect })
}

fn check_servers(servers: &[ServerScript]) -> Result<(), Problem> {
    let mut problems = servers.iter().map(ServerScript::problem).enumerate();
    match problems.find_map(|(index, problem)| Some((index, problem?))) {
        Some((index, problem)) => Problem::new(format!("servers[{index}].behaviour"), problem),
        None => Ok(()),
    }
}

/// No name leads out of the folder.
fn check_names(content: &FolderContent) -> Result<(), Problem> {
    content.iter().try_for_each(|(name, content)| {
        if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Problem::new(name, "isn't the path of a file within the folder");
        }
        match content {
            Content::Special(SpecialContent::Folder(inner)) => {
                check_names(inner).map_err(|problem| problem.within(name))
            }
            Content::Special(SpecialContent::Link(_)) | Content::File(_) => Ok(()),
        }
    })
}

impl StatusDocument {
    fn take(self) -> Result<PodNews, Problem> {
        let Self { namespace, name, uid, status, left_out } = self;
        match (left_out, uid) {
            (None, Some(uid)) => {
                let status = status.map(|status| status.to_string());
                Ok(PodNews::Status(PodStatusChange { namespace, name, uid, status }))
            }
            (Some(LeftOutDocument { reason, message }), None) if status.is_none() => {
                Ok(PodNews::LeftOut(LeftOutPod { namespace, name, reason, message }))
            }
            (Some(_), _) => Problem::new("leftOut", "a pod that isn't run has neither `uid` nor `status`"),
            (None, None) => Problem::new("uid", "missing: only a pod with `leftOut` has none"),
        }
    }
}
