//! A plugin that is asked the same thing again and again, for benchmarks: a case's question in the case's surroundings.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::Instant;
use witlet_core::admission::{AdmissionRequest, Operation};
use witlet_core::config::source::SourceFault;
use witlet_core::pod::SourceName;
use witlet_core::probe::{ProbeKind, ProbeRequest};
use witlet_wasm::direct::Question;
use witlet_wasm::inspect::{InspectError, inspect};
use witlet_wasm::plugin::config::Warm;
use witlet_wasm::plugin::{CallError, LoadError};
use witlet_wasm::role::Role;

use crate::cases::{
    AdmissionCase, AdmissionExpect, ProbeCase, ProbeExpect, SourceCase, SourceExpect, node_default,
    now_default, probe_request,
};
use crate::ctx::{Ctx, Handler, Prober, Setup, SetupError, Source};
use crate::kit::Kit;
use crate::plan::{Plan, Subject};
use crate::scene::{ServerScript, Servers, placed};

/// How long an answer may take at least, whatever the limits say: a busy machine mustn't end a benchmark.
const TIMEOUT_MIN: Duration = Duration::from_secs(10);
/// What is asked where no case says anything.
const NO_CASE: &str = "no case: a plain question without configuration";

/// Why nothing can be asked.
#[derive(Debug, Error)]
pub enum RehearsalError {
    /// It is no component.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// No case of the role has this name, or none asks anything.
    #[error("{}", match name { Some(name) => format!("no case of the role {role} is called {name:?}"), None => format!("no case of the role {role} asks the plugin anything") })]
    NoCase {
        /// The role.
        role: Role,
        /// The name that was asked for.
        name: Option<String>,
    },
    /// Limits or grants of the case can't be taken.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Servers or folders of the case can't be had.
    #[error("make what the case {case:?} has around the plugin")]
    Scene {
        /// The case.
        case: String,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The plugin can't be loaded.
    #[error("load the plugin for the case {case:?}")]
    Load {
        /// The case.
        case: String,
        /// Why not.
        #[source]
        cause: Box<LoadError>,
    },
}

/// The plugin didn't answer, or with an error.
#[derive(Debug, Error)]
pub enum AskError {
    /// There is no usable answer.
    #[error("the plugin has no answer")]
    Call(#[source] CallError),
    /// A source says that it can't tell.
    #[error("the source answers with the error {}: {}", .0.reason, .0.message)]
    Fault(SourceFault),
}

/// A loaded plugin in a case's surroundings, which end with it.
pub struct Rehearsal {
    /// The case's name.
    pub case: String,
    /// How long loading took: compiling or taking compiled code from the cache, linking, validating.
    pub loaded_in: Duration,
    plugin: Plugin,
    _servers: Option<Servers>,
}

enum Plugin {
    Admission { handler: Handler, question: Question },
    Probe { prober: Prober, request: Box<ProbeRequest> },
    PodSource { source: Source },
}

impl Rehearsal {
    /// Asks once. How many bytes of linear memory the instance had then.
    ///
    /// # Errors
    ///
    /// When the plugin has no answer, or a source answers with an error. Any verdict and any outcome is an answer.
    pub async fn ask(&self) -> Result<usize, AskError> {
        match &self.plugin {
            Plugin::Admission { handler, question } => {
                let asked = handler.ask_here(question);
                asked.result.map(|_verdict| asked.memory_bytes_peak).map_err(AskError::Call)
            }
            Plugin::Probe { prober, request } => {
                let asked = prober.probe(request).await;
                asked.result.map(|_outcome| asked.memory_bytes_peak).map_err(AskError::Call)
            }
            Plugin::PodSource { source } => {
                let asked = source.poll(None).await;
                let answer = asked.result.map_err(AskError::Call)?;
                answer.map(|_snapshot| asked.memory_bytes_peak).map_err(AskError::Fault)
            }
        }
    }
}

impl Kit {
    /// Loads a component for one case of the plan: the one of this name, or the first of the role that asks something and
    /// expects an answer. A plan without cases of the role has it asked a plain question. `warm` says whether instances are kept.
    ///
    /// # Errors
    ///
    /// When there is no such case, or the component can't be loaded for it.
    pub async fn rehearse(
        &self,
        subject: &Subject,
        plan: &Plan,
        role: Role,
        case: Option<&str>,
        warm: Option<Warm>,
    ) -> Result<Rehearsal, RehearsalError> {
        let ctx = Ctx::new(self, subject, plan, inspect(&subject.wasm)?);
        let part = Part { ctx: &ctx, role, name: case, warm };
        match role {
            Role::Admission => part.admission().await,
            Role::Probe => part.probe().await,
            Role::PodSource => part.source().await,
        }
    }
}

/// The pod of a case that says nothing of it.
fn plain_pod() -> Pod {
    let pod = json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "uid-of-default-web"},
        "spec": {"containers": [{"name": "main", "image": "docker.io/library/nginx:1.29"}]},
    });
    // It is a pod: the test reads it.
    serde_json::from_value(pod).unwrap_or_default()
}

/// The question of a case that says nothing.
fn plain_request() -> AdmissionRequest {
    AdmissionRequest {
        operation: Operation::Add,
        now: now_default(),
        pod: Arc::new(plain_pod()),
        source: SourceName::file(),
        node: node_default(),
        other_pods: Arc::new([]),
    }
}

/// What a rehearsal is made from.
struct Part<'a> {
    ctx: &'a Ctx<'a>,
    role: Role,
    name: Option<&'a str>,
    warm: Option<Warm>,
}

impl Part<'_> {
    async fn admission(self) -> Result<Rehearsal, RehearsalError> {
        let asks = |case: &AdmissionCase| matches!(case.expect, AdmissionExpect::Verdict { .. });
        let mut cases = self.ctx.admission_cases();
        let case = cases.find(|(_, case)| self.name.map_or_else(|| asks(case), |name| case.name == name));
        let (name, request, setup) = match case {
            Some((file, case)) => {
                let setup = self.ctx.setup_of(file, case.config.as_ref())?;
                (case.name.clone(), case.request.clone(), setup)
            }
            None => (self.no_case()?, plain_request(), self.ctx.setup(self.role)?),
        };
        let (handler, loaded_in) = self.loaded(&name, self.ctx.handler(&self.kept(setup)?)).await?;
        let plugin = Plugin::Admission { handler, question: Question::new(request) };
        Ok(Rehearsal { case: name, loaded_in, plugin, _servers: None })
    }

    async fn probe(self) -> Result<Rehearsal, RehearsalError> {
        let asks = |case: &ProbeCase| matches!(case.expect, ProbeExpect::Outcome { .. });
        let mut cases = self.ctx.probe_cases();
        let case = cases.find(|(_, case)| self.name.map_or_else(|| asks(case), |name| case.name == name));
        let plain = || probe_request(plain_pod(), ProbeKind::Readiness);
        let (name, mut request, mut setup) = match case {
            Some((file, case)) => {
                let mut setup = self.ctx.setup_of(file, case.config.as_ref())?;
                setup.execs.clone_from(&case.execs);
                (case.name.clone(), case.request.clone(), setup)
            }
            None => (self.no_case()?, plain(), self.ctx.setup(self.role)?),
        };
        let parameters = case.map_or(Value::Null, |(_, case)| case.parameters.clone());
        let scripts = case.map_or(&[][..], |(_, case)| &case.servers);
        let servers = self.servers(&name, scripts).await?;
        let ips = case.and_then(|(_, case)| case.pod_ips.clone());
        request.pod_ips = ips.unwrap_or_else(|| vec![servers.address]);
        request.timeout = request.timeout.max(TIMEOUT_MIN);
        request.parameters = placed(&parameters, servers.address).to_string().into();
        setup.address = Some(servers.address);
        let (prober, loaded_in) = self.loaded(&name, self.ctx.prober(&self.kept(setup)?)).await?;
        let plugin = Plugin::Probe { prober, request: Box::new(request) };
        Ok(Rehearsal { case: name, loaded_in, plugin, _servers: Some(servers) })
    }

    /// Of a case's steps only the first one is taken: it is asked without a cursor each time.
    async fn source(self) -> Result<Rehearsal, RehearsalError> {
        let polls = |case: &SourceCase| {
            case.steps.first().is_some_and(|step| matches!(step.expect, SourceExpect::Snapshot { .. }))
        };
        let mut cases = self.ctx.source_cases();
        let case = cases.find(|(_, case)| self.name.map_or_else(|| polls(case), |name| case.name == name));
        let (name, mut setup) = match case {
            Some((file, case)) => (case.name.clone(), self.ctx.setup_of(file, case.config.as_ref())?),
            None => (self.no_case()?, self.ctx.setup(self.role)?),
        };
        let step = case.and_then(|(_, case)| case.steps.first());
        let of_case = case.map_or(&[][..], |(_, case)| &case.servers);
        let scripts = step.and_then(|step| step.servers.as_deref()).unwrap_or(of_case);
        let servers = self.servers(&name, scripts).await?;
        setup.address = Some(servers.address);
        let (source, loaded_in) = self.loaded(&name, self.ctx.source(&self.kept(setup)?)).await?;
        for (path, content) in step.iter().flat_map(|step| &step.folders) {
            let done = match content {
                Some(content) => source.folders.fill(path, content),
                None => source.folders.remove(path),
            };
            done.map_err(|cause| RehearsalError::Scene { case: name.clone(), cause })?;
        }
        let plugin = Plugin::PodSource { source };
        Ok(Rehearsal { case: name, loaded_in, plugin, _servers: Some(servers) })
    }

    /// What it is called when there is no case; an error if one was asked for, or there are some.
    fn no_case(&self) -> Result<String, RehearsalError> {
        if self.name.is_some() || self.ctx.files(self.role).next().is_some() {
            let name = self.name.map(str::to_owned);
            return Err(RehearsalError::NoCase { role: self.role, name });
        }
        Ok(NO_CASE.to_owned())
    }

    /// With instances as they are wanted, and with the plan's memory if it says anything of it.
    fn kept(&self, mut setup: Setup) -> Result<Setup, SetupError> {
        if !self.ctx.plan.limits.is_null() {
            setup.memory_bytes = self.ctx.setup(self.role)?.memory_bytes;
        }
        setup.timeout = setup.timeout.max(TIMEOUT_MIN);
        setup.warm = self.warm;
        Ok(setup)
    }

    async fn servers(&self, case: &str, scripts: &[ServerScript]) -> Result<Servers, RehearsalError> {
        let started = Servers::start(scripts).await;
        started.map_err(|cause| RehearsalError::Scene { case: case.to_owned(), cause })
    }

    async fn loaded<T>(
        &self,
        case: &str,
        load: impl Future<Output = Result<T, LoadError>>,
    ) -> Result<(T, Duration), RehearsalError> {
        let started = Instant::now();
        let failed = |cause| RehearsalError::Load { case: case.to_owned(), cause: Box::new(cause) };
        let plugin = load.await.map_err(failed)?;
        Ok((plugin, started.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_pod_has_a_container() {
        let containers = plain_pod().spec.map(|spec| spec.containers);
        assert_eq!(containers.map(|containers| containers.len()), Some(1));
    }
}
