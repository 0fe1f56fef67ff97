//! What a layer examines a component with: how it is to be loaded, and the loaded plugin by its role.

mod plugins;
mod setup;

pub use plugins::{Handler, Prober, Source};
pub use setup::{Setup, SetupError};

use std::collections::BTreeSet;

use serde_json::Value;
use witlet_wasm::inspect::{InspectError, Inspection, inspect};
use witlet_wasm::plugin::{CallError, LoadError};
use witlet_wasm::role::Role;

use crate::cases::{
    AdmissionCase, CaseFile, Cases, ProbeCase, ProbeExpect, SnapshotExpect, SourceCase, SourceExpect,
    SourceStep,
};
use crate::kit::Kit;
use crate::patience::patiently;
use crate::plan::{Plan, Subject};

/// One examination.
pub struct Ctx<'a> {
    pub(crate) kit: &'a Kit,
    /// What is examined.
    pub subject: &'a Subject,
    /// How.
    pub plan: &'a Plan,
    /// What the component says about itself.
    pub inspection: Inspection,
}

impl<'a> Ctx<'a> {
    /// For whoever asks a component something of their own, with the kit's means.
    ///
    /// # Errors
    ///
    /// When the bytes can't be read as a component.
    pub fn of(kit: &'a Kit, subject: &'a Subject, plan: &'a Plan) -> Result<Self, InspectError> {
        Ok(Self::new(kit, subject, plan, inspect(&subject.wasm)?))
    }

    pub(crate) fn new(kit: &'a Kit, subject: &'a Subject, plan: &'a Plan, inspection: Inspection) -> Self {
        Self { kit, subject, plan, inspection }
    }

    /// The component's roles that this host can use and the plan examines, in the order in which they are told.
    pub fn roles(&self) -> impl Iterator<Item = Role> + '_ {
        let planned = |role: &Role| self.plan.roles.as_ref().is_none_or(|roles| roles.contains(role));
        self.inspection.roles.iter().map(|served| served.role).filter(planned)
    }

    /// Whether it has this role.
    pub fn has(&self, role: Role) -> bool {
        self.roles().any(|served| served == role)
    }

    /// Case files of a role.
    pub fn files(&self, role: Role) -> impl Iterator<Item = &'a CaseFile> + '_ {
        self.plan.cases.iter().filter(move |file| file.role() == role)
    }

    /// Cases of an admission handler that ask something, with their file.
    pub fn admission_cases(&self) -> impl Iterator<Item = (&'a CaseFile, &'a AdmissionCase)> + '_ {
        self.files(Role::Admission).flat_map(|file| match &file.cases {
            Cases::Admission(cases) => cases.iter().map(|case| (file, case)).collect(),
            Cases::Probe(_) | Cases::PodSource(_) => Vec::new(),
        })
    }

    /// Cases of a probe type, with their file.
    pub fn probe_cases(&self) -> impl Iterator<Item = (&'a CaseFile, &'a ProbeCase)> + '_ {
        self.files(Role::Probe).flat_map(|file| match &file.cases {
            Cases::Probe(cases) => cases.iter().map(|case| (file, case)).collect(),
            Cases::Admission(_) | Cases::PodSource(_) => Vec::new(),
        })
    }

    /// Cases of a pod source, with their file.
    pub fn source_cases(&self) -> impl Iterator<Item = (&'a CaseFile, &'a SourceCase)> + '_ {
        self.files(Role::PodSource).flat_map(|file| match &file.cases {
            Cases::PodSource(cases) => cases.iter().map(|case| (file, case)).collect(),
            Cases::Admission(_) | Cases::Probe(_) => Vec::new(),
        })
    }

    /// How the plugin is loaded in a role where no case says otherwise: by the plan, else by the role's first case file,
    /// else with nothing.
    ///
    /// # Errors
    ///
    /// When limits or grants can't be taken.
    pub fn setup(&self, role: Role) -> Result<Setup, SetupError> {
        Setup::of_plan(self, role)
    }

    /// How the plugin is loaded for a case.
    ///
    /// # Errors
    ///
    /// When limits or grants can't be taken.
    pub fn setup_of(&self, file: &CaseFile, config: Option<&Value>) -> Result<Setup, SetupError> {
        Setup::of_file(self, file, config)
    }

    /// Loads it as an admission handler: compiles (or takes it from the cache), links and validates.
    ///
    /// # Errors
    ///
    /// As the daemon's.
    pub async fn handler(&self, setup: &Setup) -> Result<Handler, LoadError> {
        patiently(async || Handler::load(self, setup).await, unanswered).await
    }

    /// Loads it as a probe type.
    ///
    /// # Errors
    ///
    /// As the daemon's.
    pub async fn prober(&self, setup: &Setup) -> Result<Prober, LoadError> {
        patiently(async || Prober::load(self, setup).await, unanswered).await
    }

    /// A probe type as the plan has it, or why there is none, in one sentence.
    pub(crate) async fn planned_prober(&self) -> Result<Prober, String> {
        let setup = self.setup(Role::Probe).map_err(|error| error.to_string())?;
        self.prober(&setup).await.map_err(|error| error.sentence())
    }

    /// Loads it as a pod source, with folders of its own.
    ///
    /// # Errors
    ///
    /// As the daemon's.
    pub async fn source(&self, setup: &Setup) -> Result<Source, LoadError> {
        patiently(async || Source::load(self, setup).await, unanswered).await
    }

    /// Parameters that probes of this type have, those of cases that succeed first, each once; without cases `null`, then
    /// `{}`. What the type refuses isn't among them only where a case says so.
    pub fn parameters(&self) -> Vec<Value> {
        let mut known: Vec<(bool, Value)> = Vec::new();
        for (_, case) in self.probe_cases() {
            let asks = matches!(case.expect, ProbeExpect::Outcome { .. } | ProbeExpect::Error(_));
            let succeeds = succeeds(&case.expect);
            match known.iter_mut().find(|(_, parameters)| *parameters == case.parameters) {
                Some((known, _)) => *known |= succeeds,
                None if asks => known.push((succeeds, case.parameters.clone())),
                None => {}
            }
        }
        if known.is_empty() {
            return vec![Value::Null, Value::Object(serde_json::Map::new())];
        }
        known.sort_by_key(|(succeeds, _)| !succeeds);
        known.into_iter().map(|(_, parameters)| parameters).collect()
    }

    /// The first case in which a source brings pods, with its file.
    pub fn pods_case(&self) -> Option<(&'a CaseFile, &'a SourceCase)> {
        let brings = |step: &SourceStep| {
            matches!(step.expect, SourceExpect::Snapshot { snapshot: SnapshotExpect::Pods(_), .. })
        };
        self.source_cases().find(|(_, case)| case.steps.iter().any(brings))
    }

    /// The configuration that most is tried with, for the report.
    pub(crate) fn told_config(&self) -> Value {
        let roles: BTreeSet<Role> = self.roles().collect();
        let files = self.plan.cases.iter().find(|file| roles.contains(&file.role()));
        let of_file = || files.map(|file| file.config.clone());
        self.plan.config.clone().or_else(of_file).unwrap_or(Value::Null)
    }
}

/// Why there is no word on the configuration.
fn unanswered<T>(loaded: &Result<T, LoadError>) -> Option<&CallError> {
    match loaded {
        Err(LoadError::Validate(error)) => Some(error),
        Ok(_) | Err(_) => None,
    }
}

/// Whether a probe passes in a case.
fn succeeds(expect: &ProbeExpect) -> bool {
    use crate::cases::OutcomeWord;
    match expect {
        ProbeExpect::Outcome { outcome, .. } => match outcome {
            OutcomeWord::Success | OutcomeWord::Warning => true,
            OutcomeWord::WellFormed | OutcomeWord::Failure => false,
        },
        ProbeExpect::Validate(_) | ProbeExpect::Parameters(_) | ProbeExpect::Error(_) => false,
    }
}
