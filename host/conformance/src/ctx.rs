//! One examination: the component, what it is examined with, and what is known of it from its author's cases.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use witlet_ports::Clock;
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::direct::DirectHost;
use witlet_wasm::inspect::Inspection;
use witlet_wasm::plugin::LoadError;
use witlet_wasm::role::Role;

use crate::cases::model::{Case, CaseFile};
use crate::plan::{Plan, Subject};
use crate::plugin::Plugin;
use crate::plugin_request::PluginRequest;
use crate::plugin_response::ResponseKind;
use crate::setup::Setup;

pub(crate) struct Engines {
    pub(crate) host: Arc<DirectHost>,
    pub(crate) compiler: CompilerConfig,
    pub(crate) clock: Arc<dyn Clock>,
}

pub(crate) struct Ctx<'a> {
    pub(crate) engines: &'a Engines,
    pub(crate) subject: &'a Subject,
    pub(crate) plan: &'a Plan,
    /// What the component says about itself.
    pub(crate) inspection: Inspection,
}

impl<'a> Ctx<'a> {
    /// The component's roles that this host can use and the plan examines, in the order in which they are shown.
    pub(crate) fn roles(&self) -> Vec<Role> {
        let planned = |role: &Role| self.plan.roles.as_ref().is_none_or(|roles| roles.contains(role));
        self.inspection.roles.iter().map(|served| served.role).filter(planned).collect()
    }

    pub(crate) fn has(&self, role: Role) -> bool {
        self.roles().contains(&role)
    }

    /// Cases of a role, with their file.
    pub(crate) fn cases(&self, role: Role) -> impl Iterator<Item = (&'a CaseFile, &'a Case)> + use<'a> {
        let files = self.plan.cases.iter().filter(move |file| file.role == role);
        files.flat_map(|file| file.cases.iter().map(move |case| (file, case)))
    }

    /// How the plugin is loaded in a role where no case says otherwise. The error says which limits or grants can't be taken.
    pub(crate) fn setup(&self, role: Role) -> Result<Setup, String> {
        Setup::of_plan(self.plan, self.roles(), role)
    }

    /// How the plugin is loaded for a case, or where a file's case says nothing.
    pub(crate) fn setup_of(&self, file: &CaseFile, config: Option<&Value>) -> Result<Setup, String> {
        Setup::of_case(self.plan, self.roles(), file, config)
    }

    pub(crate) async fn load(&self, setup: &Setup) -> Result<Plugin, LoadError> {
        Plugin::load(&self.engines.host, &self.subject.wasm, setup).await
    }

    /// Parameters that probes of this type have, those of cases that succeed first, each once; without cases `null`, then `{}`.
    pub(crate) fn parameters(&self) -> Vec<Arc<str>> {
        let mut known: Vec<(bool, Arc<str>)> = Vec::new();
        for step in self.cases(Role::Probe).flat_map(|(_, case)| &case.steps) {
            let PluginRequest::Probe { request, .. } = &step.question else { continue };
            let succeeds = matches!(step.expect.kind, Some(ResponseKind::Success | ResponseKind::Warning));
            match known.iter_mut().find(|(_, parameters)| *parameters == request.parameters) {
                Some((known, _)) => *known |= succeeds,
                None => known.push((succeeds, request.parameters.clone())),
            }
        }
        if known.is_empty() {
            return vec!["null".into(), "{}".into()];
        }
        known.sort_by_key(|(succeeds, _)| !succeeds);
        known.into_iter().map(|(_, parameters)| parameters).collect()
    }

    /// The configuration that most is tried with, for the report.
    pub(crate) fn report_config(&self) -> Value {
        let roles: BTreeSet<Role> = self.roles().into_iter().collect();
        let file = self.plan.cases.iter().find(|file| roles.contains(&file.role));
        let of_file = || file.map(|file| file.config.clone());
        self.plan.config.clone().or_else(of_file).unwrap_or(Value::Null)
    }
}
