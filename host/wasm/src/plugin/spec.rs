//! What the host needs to know about a plugin apart from its code.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use witlet_core::admission::Operation;
use witlet_core::admission::chain::FailurePolicy;
use witlet_core::node::NodeFacts;
use witlet_ports::ComponentReference;

use super::config::{
    AdmissionMode, AdmissionRole, BUILTIN_SCHEME, ComponentSource, Grants, MEMORY_BYTES_DEFAULT, PluginEntry,
    PodSourceRole, ProbeRole, RequiredConformance, RequiredSignature, RolloutRole, WARM_IDLE_DEFAULT,
    WARM_USES_DEFAULT, Warm, fill,
};
use super::conformance::Demand;
use super::matching::{MatchSubject, PodMatch};
use super::signatures::SignatureDemand;
use crate::guest::data::Data;
use crate::record::Recording;
use crate::role::Role;

/// What a built-in handler may take for one call.
pub const BUILTIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Instances of a shipped probe type that wait for the next probe: to make a fresh one is a quarter of what an HTTP probe
/// costs. Each takes 100 KB, and keeps nothing of earlier probes.
pub(crate) const BUILTIN_PROBE_WARM: Warm = Warm { max: 4, uses: WARM_USES_DEFAULT, idle: WARM_IDLE_DEFAULT };
/// What a probe type may take to check its configuration or parameters: its calls' own time isn't known then.
pub(crate) const VALIDATE_TIMEOUT: Duration = Duration::from_secs(1);

/// What a component that is part of the program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinRole {
    /// Asked about every pod, at its place among the built-ins.
    Admission { timeout: Duration },
    Probe {
        /// What pods call it.
        probe_type: &'static str,
    },
}

/// A component that is part of the program. It gets nothing that an entry of the configuration couldn't get too.
#[derive(Clone, Debug)]
pub struct Builtin {
    /// Its name, which no configured plugin may take.
    pub name: &'static str,
    pub component: &'static [u8],
    /// What it is for.
    pub role: BuiltinRole,
    /// What it may reach.
    pub grants: Grants,
    /// Handed to it as JSON.
    pub config: Value,
}

impl Builtin {
    /// An admission handler without grants and configuration.
    pub fn admission(name: &'static str, component: &'static [u8]) -> Self {
        let role = BuiltinRole::Admission { timeout: BUILTIN_TIMEOUT };
        Self { name, component, role, grants: Grants::default(), config: Value::Null }
    }

    /// A probe type with these grants.
    pub fn probe(
        name: &'static str,
        probe_type: &'static str,
        component: &'static [u8],
        grants: Grants,
    ) -> Self {
        Self { name, component, role: BuiltinRole::Probe { probe_type }, grants, config: Value::Null }
    }
}

/// Where a component comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Part of the program.
    Embedded(&'static [u8]),
    /// Part of the program, and there because an entry names it.
    Shipped { name: &'static str, component: &'static [u8] },
    /// A file, read when the plugin is loaded and whenever it changes.
    File(PathBuf),
    /// The copy of a component that was loaded before, because its file has none that can be.
    LastGood { path: PathBuf, copy: PathBuf, digest: String },
    /// A registry, asked once for each digest.
    Registry { reference: ComponentReference, credentials: Option<PathBuf> },
}

/// What the node has for an entry.
pub(crate) struct EntryInputs<'a> {
    /// Whose values its configuration may name.
    pub(crate) node: Option<&'a NodeFacts>,
    /// Its data, or why there are none.
    pub(crate) data: Result<Vec<Data>, DataLack>,
}

/// Why an entry has no data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DataLack {
    /// They are being fetched for the first time.
    Pending,
    /// One of them can't be had, in one sentence.
    Missing(String),
}

/// What a configuration demands of components.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Required<'a> {
    pub(crate) conformance: Option<&'a RequiredConformance>,
    pub(crate) signature: Option<&'a RequiredSignature>,
}

/// What the host needs to know about a plugin apart from its code. It has one role at least.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    pub(crate) name: Arc<str>,
    /// Whether it is there without being configured.
    pub(crate) builtin: bool,
    pub(crate) origin: Origin,
    /// What must be shown before it is loaded.
    pub(crate) conformance: Option<Arc<Demand>>,
    /// Who must have signed it before it is loaded.
    pub(crate) signature: Option<Arc<SignatureDemand>>,
    pub(crate) admission: Option<AdmissionRole>,
    pub(crate) probe: Option<ProbeRole>,
    pub(crate) pod_source: Option<PodSourceRole>,
    pub(crate) warm: Option<Warm>,
    pub(crate) grants: Grants,
    /// What it may read next to its configuration, sorted by name.
    pub(crate) data: Arc<[Data]>,
    /// Which calls are kept for replay, if any are.
    pub(crate) record: Option<Recording>,
    /// As JSON text, the node's values filled in.
    pub(crate) config: Arc<str>,
    /// What its entry names and isn't there, in one sentence; then it can't be loaded.
    pub(crate) missing: Option<Arc<str>>,
    /// Whether its data are being fetched for the first time: until they were, it isn't loaded.
    pub(crate) awaits_data: bool,
}

impl Spec {
    /// A shipped component in its place. Its failure makes a pod wait, as any handler's does by default.
    pub(crate) fn builtin(builtin: &Builtin, order: i32) -> Self {
        let (admission, probe, warm) = match builtin.role {
            BuiltinRole::Admission { timeout } => {
                // As an entry with `match: {systemPods: true}`: a kubelet's own admission holds for every pod.
                let matches = PodMatch::all();
                let role = AdmissionRole { order, timeout, matches, ..AdmissionRole::standard() };
                (Some(role), None, None)
            }
            BuiltinRole::Probe { probe_type } => {
                let probe_type = probe_type.into();
                let role = ProbeRole { probe_type, shadow_of: None, memory_bytes: MEMORY_BYTES_DEFAULT };
                (None, Some(role), Some(BUILTIN_PROBE_WARM))
            }
        };
        Self {
            name: builtin.name.into(),
            builtin: true,
            origin: Origin::Embedded(builtin.component),
            conformance: None,
            signature: None,
            admission,
            probe,
            pod_source: None,
            warm,
            grants: builtin.grants.clone(),
            data: Arc::default(),
            record: None,
            config: builtin.config.to_string().into(),
            missing: None,
            awaits_data: false,
        }
    }

    /// An entry of the configuration whose file lies in `folder`, with what the file demands of components and what the node
    /// has for it. None if it names a shipped component that `shipped` doesn't have.
    pub(crate) fn configured(
        entry: PluginEntry,
        folder: &Path,
        required: Required<'_>,
        shipped: &[(&'static str, &'static [u8])],
        inputs: EntryInputs<'_>,
    ) -> Option<Self> {
        let origin = match entry.component {
            ComponentSource::File(path) => Origin::File(folder.join(path.strip_prefix(".").unwrap_or(&path))),
            ComponentSource::Shipped(name) => {
                let (name, component) = *shipped.iter().find(|(shipped, _)| *shipped == name)?;
                Origin::Shipped { name, component }
            }
            ComponentSource::Registry { reference, credentials } => {
                Origin::Registry { reference, credentials: credentials.map(|path| folder.join(path)) }
            }
        };
        let conformance =
            required.conformance.and_then(|it| Demand::new(it, &origin, entry.conformance.clone(), folder));
        let signature = required.signature.and_then(|it| SignatureDemand::new(it, &origin, folder));
        let (config, unfilled) = match fill(&entry.config, inputs.node) {
            Ok(config) => (config, None),
            Err(problem) => {
                let missing = format!("its configuration can't be filled in: {problem}");
                (entry.config, Some(missing))
            }
        };
        let (mut data, awaits_data, without_data) = match inputs.data {
            Ok(data) => (data, false, None),
            Err(DataLack::Pending) => (Vec::new(), true, None),
            Err(DataLack::Missing(problem)) => (Vec::new(), false, Some(problem)),
        };
        data.sort_by(|one, other| one.name.cmp(&other.name));
        Some(Self {
            name: entry.name.into(),
            builtin: false,
            origin,
            conformance,
            signature,
            admission: entry.admission,
            probe: entry.probe,
            pod_source: entry.pod_source,
            warm: entry.warm,
            grants: entry.grants,
            data: data.into(),
            record: entry.record,
            config: config.to_string().into(),
            missing: unfilled.or(without_data).map(Arc::from),
            awaits_data,
        })
    }

    /// One admission handler that is handed its bytes.
    pub(crate) fn direct(
        timeout: Duration,
        memory_bytes: usize,
        warm: Option<Warm>,
        grants: Grants,
        config: &Value,
    ) -> Self {
        let standard = AdmissionRole::standard();
        Self {
            name: "direct".into(),
            builtin: false,
            origin: Origin::Embedded(&[]),
            conformance: None,
            signature: None,
            admission: Some(AdmissionRole { timeout, memory_bytes, ..standard }),
            probe: None,
            pod_source: None,
            warm,
            grants,
            data: Arc::default(),
            record: None,
            config: config.to_string().into(),
            missing: None,
            awaits_data: false,
        }
    }

    /// The roles that it is used in.
    pub(crate) fn roles(&self) -> impl Iterator<Item = Role> + '_ {
        Role::ALL.into_iter().filter(|role| self.has(*role))
    }

    pub(crate) fn has(&self, role: Role) -> bool {
        match role {
            Role::Admission => self.admission.is_some(),
            Role::Probe => self.probe.is_some(),
            Role::PodSource => self.pod_source.is_some(),
        }
    }

    /// Memory of an instance on the engine of those that wait: the most that one of the roles there may have.
    pub(crate) fn async_memory_bytes(&self) -> Option<usize> {
        let probe = self.probe.as_ref().map(|role| role.memory_bytes);
        let source = self.pod_source.as_ref().map(|role| role.memory_bytes);
        probe.max(source)
    }

    /// Returns what a call may take at most: the longest of its roles', as far as they have one.
    pub(crate) fn timeout(&self) -> Duration {
        let admission = self.admission.as_ref().map(|role| role.timeout);
        let source = self.pod_source.as_ref().map(|role| role.timeout);
        admission.max(source).unwrap_or(VALIDATE_TIMEOUT)
    }

    /// Returns what an instance may have at most.
    pub(crate) fn memory_bytes(&self) -> usize {
        let admission = self.admission.as_ref().map(|role| role.memory_bytes);
        admission.max(self.async_memory_bytes()).unwrap_or(MEMORY_BYTES_DEFAULT)
    }

    /// Whether a plugin of this specification runs exactly as one of the other: what is different, if anything is,
    /// concerns only whom the host asks and what it makes of the answers.
    pub(crate) fn runs_as(&self, other: &Self) -> bool {
        let run = |spec: &Self| {
            let admission = spec.admission.as_ref().map(|role| (role.timeout, role.memory_bytes));
            let source = spec.pod_source.as_ref().map(|role| (role.timeout, role.memory_bytes));
            (admission, spec.probe.as_ref().map(|role| role.memory_bytes), source)
        };
        self.name == other.name
            && self.origin == other.origin
            && self.has_demands_of(other)
            && self.warm == other.warm
            && self.grants == other.grants
            && self.config == other.config
            && self.missing == other.missing
            && self.awaits_data == other.awaits_data
            && self.data == other.data
            && run(self) == run(other)
    }

    /// Whether someone must vouch for its component.
    pub(crate) fn has_demands(&self) -> bool {
        self.conformance.is_some() || self.signature.is_some()
    }

    /// Whether the same must be shown of the component of both.
    pub(crate) fn has_demands_of(&self, other: &Self) -> bool {
        self.conformance == other.conformance && self.signature == other.signature
    }

    /// Files whose changes call for another check of who vouches for it.
    pub(crate) fn trust_paths(&self) -> impl Iterator<Item = &Path> {
        let reports = self.conformance.iter().flat_map(|demand| demand.paths());
        reports.chain(self.signature.iter().flat_map(|demand| demand.keys()))
    }

    /// Files of keys, whose end or change takes back what was taken for good.
    pub(crate) fn trust_keys(&self) -> impl Iterator<Item = &Path> {
        let reports = self.conformance.iter().flat_map(|demand| demand.keys());
        reports.chain(self.signature.iter().flat_map(|demand| demand.keys()))
    }

    /// Ids of the keys that count now, where someone must vouch for it; none otherwise, and while the program ends.
    pub(crate) async fn counting_keys(&self) -> Option<Vec<String>> {
        if !self.has_demands() {
            return None;
        }
        let mut ids = Vec::new();
        if let Some(demand) = &self.conformance {
            ids.extend(demand.counting().await?);
        }
        if let Some(demand) = &self.signature {
            ids.extend(demand.counting().await?);
        }
        Some(ids)
    }

    /// Whether its verdicts are compared and not counted.
    pub(crate) fn is_shadow(&self) -> bool {
        self.admission.as_ref().is_some_and(|role| role.mode == AdmissionMode::Shadow)
    }

    /// Whether it is compared with what the node decides, and not with another handler.
    pub(crate) fn is_compared_with_node(&self) -> bool {
        self.is_shadow() && self.shadow_of(Role::Admission).is_none()
    }

    /// The entry whose shadow it is in this role, if it names one.
    pub(crate) fn shadow_of(&self, role: Role) -> Option<&str> {
        let named = match role {
            Role::Admission => self.admission.as_ref()?.shadow_of.as_ref(),
            Role::Probe => self.probe.as_ref()?.shadow_of.as_ref(),
            Role::PodSource => self.pod_source.as_ref()?.shadow_of.as_ref(),
        };
        named.map(|of| &**of)
    }

    /// Whether it is a shadow in one of its roles.
    pub(crate) fn is_shadow_anywhere(&self) -> bool {
        self.is_shadow() || Role::ALL.into_iter().any(|role| self.shadow_of(role).is_some())
    }

    /// The handler that its verdicts are compared with, if it is one.
    pub(crate) fn compared_with(&self) -> Option<&str> {
        self.rollout().map(|role| &*role.of).or_else(|| self.shadow_of(Role::Admission))
    }

    /// How it takes another handler's place, if it does.
    pub(crate) fn rollout(&self) -> Option<&RolloutRole> {
        self.admission.as_ref()?.rollout.as_ref()
    }

    /// Returns what a failure as an admission handler means for a pod.
    pub(crate) fn failure_policy(&self) -> Option<FailurePolicy> {
        self.admission.as_ref().map(|role| role.failure_policy)
    }

    /// Whether it is asked about this pod, with or without its verdict counting.
    pub(crate) fn admits(&self, subject: &MatchSubject) -> bool {
        self.admission.as_ref().is_some_and(|role| role.matches.matches(subject))
    }

    /// Whether its entry has it asked for this operation by name.
    pub(crate) fn names(&self, operation: Operation) -> bool {
        let role = self.admission.as_ref();
        let named = role.and_then(|role| role.matches.criteria.operations.as_ref());
        named.is_some_and(|operations| operations.contains(&operation))
    }

    /// How often it is asked about pods that run, if it is.
    pub(crate) fn recheck(&self) -> Option<Duration> {
        self.admission.as_ref()?.recheck
    }

    /// How long pods wait for it while it is being loaded.
    pub(crate) fn load_timeout(&self) -> Duration {
        self.admission.as_ref().map_or(Duration::ZERO, |role| role.load_timeout)
    }

    /// Whether its component comes from a registry.
    pub(crate) fn is_pulled(&self) -> bool {
        matches!(self.origin, Origin::Registry { .. })
    }

    /// Returns its file, if that can change.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.origin {
            Origin::Embedded(_)
            | Origin::Shipped { .. }
            | Origin::Registry { .. }
            | Origin::LastGood { .. } => None,
            Origin::File(path) => Some(path),
        }
    }

    /// Returns the text as an entry names it: a path, a reference, or `builtin:NAME`; `builtin` for what no entry names.
    pub(crate) fn origin_reported(&self) -> String {
        match &self.origin {
            Origin::Embedded(_) => "builtin".to_owned(),
            Origin::Shipped { name, .. } => format!("{BUILTIN_SCHEME}{name}"),
            Origin::File(path) => path.display().to_string(),
            Origin::LastGood { path, .. } => format!("{} (last good copy)", path.display()),
            Origin::Registry { reference, .. } => reference.to_string(),
        }
    }
}
