//! What the layers ask: a question with all that stands around the plugin, the same in every role. Most come from the author's
//! cases.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::Instant;
use witlet_core::error::one_line;
use witlet_wasm::direct::{CallReport, CapturedLine};
use witlet_wasm::plugin::LoadError;
use witlet_wasm::plugin::config::Warm;
use witlet_wasm::role::Role;

use crate::cases::matching::differs;
use crate::cases::model::{Case, CaseFile, Step};
use crate::ctx::Ctx;
use crate::environment::folders::{Content, FolderContent};
use crate::environment::servers::{ServerScript, Servers};
use crate::plugin::Plugin;
use crate::plugin_request::{PluginRequest, plain_pod};
use crate::plugin_response::{CallResult, PluginResponse, ResponseKind, in_words};
use crate::setup::Setup;

/// How many questions of a role are asked again in each layer: enough for every branch of a policy, and soon done.
const CASES_MAX: usize = 24;
/// Ordinary questions to a handler.
const ORDINARY: &str = include_str!("../vectors/defaults/questions.yaml");
/// How many pods the kit's own folders have, as JSON and as YAML each.
const PODS: usize = 4;
/// What stands in a case's folders for every folder that the plugin has.
const EVERY_FOLDER: &str = "*";

/// A question with all that stands around the plugin.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) setup: Setup,
    pub(crate) servers: Vec<ServerScript>,
    pub(crate) folders: BTreeMap<String, FolderContent>,
    pub(crate) question: PluginRequest,
    /// Whether all is well in it: the probe passes, the source brings pods.
    pub(crate) is_good: bool,
}

/// Why nothing could be asked.
#[derive(Debug, Error)]
pub enum StageError {
    /// The plugin can't be loaded, or refuses its configuration.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A port that can't be listened on, a folder that can't be written.
    #[error("cannot set up the environment of the case")]
    Environment(#[source] io::Error),
}

impl From<StageError> for String {
    fn from(error: StageError) -> Self {
        one_line(&error)
    }
}

/// A plugin that is loaded for a scenario.
pub(crate) struct Stage {
    pub(crate) plugin: Plugin,
    /// They end with the value.
    pub(crate) servers: Servers,
    pub(crate) question: PluginRequest,
    /// What the last answer of a source gave.
    pub(crate) cursor: Option<String>,
}

impl Scenario {
    /// Where a case begins; none of one that asks nothing.
    pub(crate) fn beginning(setup: &Setup, case: &Case) -> Option<Self> {
        let question = case.steps.first()?.question.clone();
        let mut scenario = Self::new("", setup.clone(), question);
        scenario.servers.clone_from(&case.servers);
        scenario.setup.execs.clone_from(&case.execs);
        Some(scenario)
    }

    /// Creates the scenario of a plugin that is loaded so.
    pub(crate) fn new(name: impl Into<String>, setup: Setup, question: PluginRequest) -> Self {
        let (servers, folders) = (Vec::new(), BTreeMap::new());
        Self { name: name.into(), setup, servers, folders, question, is_good: true }
    }

    /// Where a case asks something: of a source after the steps up to the first one that brings pods, or the first one at all. None
    /// of a case that asks nothing.
    pub(crate) fn of_case(ctx: &Ctx<'_>, file: &CaseFile, case: &Case) -> Result<Option<Self>, String> {
        let asks = |step: &&Step| {
            matches!(
                step.question,
                PluginRequest::Admit(..) | PluginRequest::Probe { .. } | PluginRequest::Poll(_)
            )
        };
        let good = |kind: Option<ResponseKind>| match (file.role, kind) {
            (Role::PodSource, kind) => kind == Some(ResponseKind::Pods),
            (Role::Probe, kind) => {
                matches!(kind, None | Some(ResponseKind::Success | ResponseKind::Warning))
            }
            (Role::Admission, _) => true,
        };
        let mut setup = ctx.setup_of(file, case.config.as_ref())?;
        setup.execs.clone_from(&case.execs);
        let (mut servers, mut folders) = (&case.servers, BTreeMap::new());
        let found = case.steps.iter().position(|step| good(step.expect.kind) && asks(&step));
        let Some(last) = found.or(case.steps.iter().position(|step| asks(&step))) else { return Ok(None) };
        for step in &case.steps[..=last] {
            for (path, content) in &step.folders {
                match content {
                    Some(content) => _ = folders.insert(path.clone(), content.clone()),
                    None => _ = folders.remove(path),
                }
            }
            servers = step.servers.as_ref().unwrap_or(servers);
        }
        let question = case.steps[last].question.clone();
        let (name, servers) = (format!("case {:?}", case.name), servers.clone());
        let is_good = found.is_some();
        Ok(Some(Self { name, setup, servers, folders, question, is_good }))
    }

    pub(crate) fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut changed = self.clone();
        change(&mut changed);
        changed
    }

    /// The same in instances that are kept.
    pub(crate) fn warmed(&self, warm: Warm) -> Self {
        self.with(|scenario| scenario.setup.warm = Some(warm))
    }

    /// Returns its name and question, as a finding shows them.
    pub(crate) fn shown(&self) -> String {
        match self.question {
            PluginRequest::Admit(..) => format!("{}: {}", self.name, self.question.shown()),
            _ => self.name.clone(),
        }
    }

    /// Sets up the environment and loads the plugin.
    pub(crate) async fn stage(&self, ctx: &Ctx<'_>) -> Result<Stage, StageError> {
        let servers = Servers::start(&self.servers).await.map_err(StageError::Environment)?;
        let plugin = ctx.load(&self.setup.at(servers.address)).await?;
        let question = self.question.placed(servers.address);
        let stage = Stage { plugin, servers, question, cursor: None };
        for (path, content) in &self.folders {
            // A setup may have fewer folders than the scenario.
            if stage.plugin.folders.path(path).is_some() {
                stage.plugin.folders.fill(path, content).map_err(StageError::Environment)?;
            }
        }
        Ok(stage)
    }
}

/// What came of a step of a case.
pub(crate) struct StepReport {
    pub(crate) asked: CallReport<PluginResponse>,
    pub(crate) took: Duration,
    /// What the plugin logged.
    pub(crate) lines: Vec<CapturedLine>,
    /// How the answer differs from what the step expects.
    pub(crate) differs: Option<String>,
}

impl Stage {
    /// Sets up what the step changes, and asks what it asks.
    pub(crate) async fn carry_out(&mut self, step: &Step) -> Result<StepReport, StageError> {
        self.set(&step.folders, step.servers.as_ref()).await.map_err(StageError::Environment)?;
        let started = Instant::now();
        let asked = self.ask_this(&step.question).await;
        let took = started.elapsed();
        let lines = self.plugin.lines();
        let differs = differs(&step.expect, &asked.result, &lines, step.question.contract());
        Ok(StepReport { asked, took, lines, differs })
    }

    pub(crate) async fn ask(&mut self) -> CallReport<PluginResponse> {
        let question = self.question.clone();
        self.ask_this(&question).await
    }

    /// Asks something else in the same place. A source gets the cursor of its last answer where the question names none; one that it names
    /// takes its place, also if the answer is an error.
    pub(crate) async fn ask_this(&mut self, question: &PluginRequest) -> CallReport<PluginResponse> {
        if let PluginRequest::Poll(Some(cursor)) = question {
            self.cursor = Some(cursor.clone());
        }
        let asked = match question {
            PluginRequest::Poll(_) => self.plugin.ask(&PluginRequest::Poll(self.cursor.clone())).await,
            other => self.plugin.ask(&other.placed(self.servers.address)).await,
        };
        match (&asked.result, question) {
            (Ok(PluginResponse { kind: ResponseKind::SourceError, .. }), _) | (Err(_), _) => {}
            (Ok(answer), PluginRequest::Poll(_)) => self.cursor.clone_from(&answer.cursor),
            (Ok(_), _) => {}
        }
        asked
    }

    /// Changes what the plugin finds.
    pub(crate) async fn set(
        &mut self,
        folders: &BTreeMap<String, Option<FolderContent>>,
        servers: Option<&Vec<ServerScript>>,
    ) -> io::Result<()> {
        if let Some(servers) = servers {
            self.servers.replace(servers).await?;
        }
        let held = &self.plugin.folders;
        for (path, content) in folders {
            let all = held.guest_paths().filter(|held| path == EVERY_FOLDER || path == held);
            let paths: Vec<&str> = all.collect();
            if paths.is_empty() && path != EVERY_FOLDER {
                return Err(io::ErrorKind::NotFound.into());
            }
            paths.into_iter().try_for_each(|path| match content {
                Some(content) => held.fill(path, content),
                None => held.remove(path),
            })?;
        }
        Ok(())
    }

    /// The same plugin loaded again in the same place: a restart, or another setup.
    pub(crate) async fn reload(self, ctx: &Ctx<'_>, setup: &Setup) -> Result<Self, StageError> {
        let Self { plugin, servers, question, .. } = self;
        let setup = setup.at(servers.address);
        let (host, wasm) = (&ctx.engines.host, &ctx.subject.wasm);
        let plugin = Plugin::load_over(host, wasm, &setup, plugin.folders).await?;
        Ok(Self { plugin, servers, question, cursor: None })
    }
}

/// The scenarios of a role: those of its cases, and ordinary questions to a handler. Of a source the first one in which it brings
/// pods, or folders with manifests wherever its configuration names a path.
pub(crate) fn scenarios(ctx: &Ctx<'_>, role: Role) -> Result<Vec<Scenario>, String> {
    let mut all = if role == Role::Admission { ordinary(ctx)? } else { Vec::new() };
    let cases = ctx.cases(role).map(|(file, case)| Scenario::of_case(ctx, file, case));
    let of_cases = cases.filter_map(Result::transpose).take(CASES_MAX).collect::<Result<Vec<_>, _>>()?;
    all.extend(of_cases);
    if role == Role::PodSource {
        all.retain(|scenario| scenario.is_good);
        all.truncate(1);
        if all.is_empty() {
            all.push(own_folders(ctx)?);
        }
    }
    Ok(all)
}

/// Returns those in which all is well.
pub(crate) fn good(ctx: &Ctx<'_>, role: Role) -> Result<Vec<Scenario>, String> {
    let mut all = scenarios(ctx, role)?;
    all.retain(|scenario| scenario.is_good);
    if all.is_empty() {
        return Err("there is no case in which a probe passes: add one (--cases)".to_owned());
    }
    Ok(all)
}

/// Scenarios in which all is well by a server.
pub(crate) fn with_servers(ctx: &Ctx<'_>, role: Role) -> Result<Vec<Scenario>, String> {
    let mut all = good(ctx, role).unwrap_or_default();
    all.retain(|scenario| !scenario.servers.is_empty());
    if all.is_empty() {
        let why = "there is no case in which a probe passes by a server: add one with `servers` (--cases)";
        return Err(why.to_owned());
    }
    Ok(all)
}

/// A plain question to the plugin as the plan has it: about a plain pod, on whose address no server listens.
pub(crate) fn plain(ctx: &Ctx<'_>, role: Role) -> Result<Scenario, String> {
    if role == Role::PodSource {
        return Ok(scenarios(ctx, role)?.swap_remove(0));
    }
    let setup = ctx.setup(role)?;
    // Those of cases in which it passes come first.
    let parameters = ctx.parameters().swap_remove(0);
    Ok(Scenario::new("a plain pod", setup, PluginRequest::about(role, plain_pod(), &parameters)))
}

/// About a plain pod, one with much of everything, and one that is resized.
fn ordinary(ctx: &Ctx<'_>) -> Result<Vec<Scenario>, String> {
    let setup = ctx.setup(Role::Admission)?;
    // It is a case file: a test reads it.
    let file = CaseFile::parse("questions.yaml", ORDINARY).map_err(|error| error.to_string())?;
    let asks =
        |case: Case| Some(Scenario::new(case.name, setup.clone(), case.steps.into_iter().next()?.question));
    Ok(file.cases.into_iter().filter_map(asks).collect())
}

fn own_folders(ctx: &Ctx<'_>) -> Result<Scenario, String> {
    let mut setup = ctx.setup(Role::PodSource)?;
    if setup.guest_paths.is_empty() {
        paths(&setup.config, &mut setup.guest_paths);
    }
    let folders = setup.guest_paths.iter().map(|path| (path.clone(), manifests(PODS))).collect();
    let name = format!("{PODS} manifests in each folder that the configuration names");
    Ok(Scenario { folders, ..Scenario::new(name, setup, PluginRequest::Poll(None)) })
}

/// Folders that a configuration names.
fn paths(config: &Value, found: &mut Vec<String>) {
    match config {
        Value::String(text) if text.starts_with('/') && text.len() > 1 && !text.contains("..") => {
            if !found.contains(text) {
                found.push(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| paths(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| paths(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// So many pods in one file each, as JSON with names of both kinds: a source takes those that it knows.
pub(crate) fn manifests(count: usize) -> FolderContent {
    let file = |number: usize, kind: &str| {
        let text = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("{kind}-{number}"), "namespace": "default"},
            "spec": {"containers": [{"name": "app", "image": "registry.example.com/app:1"}]},
        });
        (format!("pod-{number}.{kind}"), Content::File(text.to_string().into_bytes()))
    };
    (0..count).flat_map(|number| [file(number, "json"), file(number, "yaml")]).collect()
}

/// Why nothing can be said of a source that brings no pods.
pub(crate) fn nothing_to_say(scenario: &Scenario, answered: &CallResult) -> String {
    let (name, said) = (&scenario.name, in_words(answered));
    format!(
        "it brings no pods where it could ({name}): it says {said}. Add a case in which it brings some (--cases)"
    )
}

#[cfg(test)]
mod tests;
