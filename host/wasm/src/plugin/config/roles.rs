//! What an entry says about each role of its component.

use std::sync::Arc;
use std::time::Duration;

use witlet_core::admission::chain::FailurePolicy;
use witlet_core::admission::recheck;
use witlet_core::pod::quantity;
use witlet_core::sources::allow::{Allowance, PODS_DEFAULT, PODS_MAX};
use witlet_core::sources::pod_security::SecurityLevel;

use super::document::{AdmissionDocument, AllowDocument, LimitsDocument, PodSourceDocument, ProbeDocument};
use super::values::format_duration;
use super::{
    ConfigError, INTERVAL_DEFAULT, INTERVAL_MAX, INTERVAL_MIN, LOAD_TIMEOUT_DEFAULT, LOAD_TIMEOUT_MAX,
    MEMORY_BYTES_DEFAULT, ORDER_DEFAULT, RolloutRole, SOURCE_MEMORY_BYTES_DEFAULT, SOURCE_TIMEOUT_DEFAULT,
    SOURCE_TIMEOUT_MAX, TIMEOUT_DEFAULT, TIMEOUT_MAX, check_between, check_name, field, matches, rollout,
};
use crate::engine::POOL_MEMORY_BYTES_MAX;
use crate::plugin::matching::PodMatch;

/// The shortest timeout that can be configured.
const TIMEOUT_MIN: Duration = Duration::from_millis(1);
/// Names of the agent's own sources, which no plugin may take.
const OWN_SOURCES: [&str; 3] = ["file", "http", "api"];

/// Whether a handler's verdicts count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdmissionMode {
    #[default]
    Enforce,
    /// They are compared with the node's decision, and change nothing.
    Shadow,
}

/// How a plugin is asked about pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionRole {
    /// Place among the configured plugins; built-ins come before all of them, equal ones in the file's order.
    pub order: i32,
    /// What a failure means for a pod. A shadow's means nothing.
    pub failure_policy: FailurePolicy,
    /// Whether its verdicts count.
    pub mode: AdmissionMode,
    /// Of a shadow, the entry whose verdicts it is compared with; none for the node's decisions.
    pub shadow_of: Option<Arc<str>>,
    /// How long pods wait for it while it is being loaded; then the failure policy answers for it.
    pub load_timeout: Duration,
    /// How often it is asked about pods that run, if it is.
    pub recheck: Option<Duration>,
    /// How it takes another entry's place, if it does.
    pub rollout: Option<RolloutRole>,
    /// Which pods the plugin is asked about.
    pub matches: PodMatch,
    pub timeout: Duration,
    pub memory_bytes: usize,
}

impl AdmissionRole {
    /// Returns the settings of an entry that sets none.
    pub fn standard() -> Self {
        Self {
            order: ORDER_DEFAULT,
            failure_policy: FailurePolicy::default(),
            mode: AdmissionMode::Enforce,
            shadow_of: None,
            load_timeout: LOAD_TIMEOUT_DEFAULT,
            recheck: None,
            rollout: None,
            matches: PodMatch::default(),
            timeout: TIMEOUT_DEFAULT,
            memory_bytes: MEMORY_BYTES_DEFAULT,
        }
    }
}

/// How a plugin is a probe type. A call may take as long as the pod says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeRole {
    /// What pods call it.
    pub probe_type: Arc<str>,
    /// The entry whose shadow it is, if it is one: then no pod calls it.
    pub shadow_of: Option<Arc<str>>,
    pub memory_bytes: usize,
}

/// How a plugin brings pods. The source's name is the plugin's.
#[derive(Clone, Debug, PartialEq)]
pub struct PodSourceRole {
    /// Between two polls, unless the plugin asks for another time.
    pub interval: Duration,
    /// The entry whose shadow it is, if it is one: then none of its pods is run.
    pub shadow_of: Option<Arc<str>>,
    /// What it may bring.
    pub allow: Arc<Allowance>,
    pub timeout: Duration,
    pub memory_bytes: usize,
}

pub(super) fn admission(
    document: AdmissionDocument,
    limits: &LimitsDocument,
    path: &str,
) -> Result<AdmissionRole, ConfigError> {
    let mode = match document.mode.as_deref() {
        None | Some("enforce") => AdmissionMode::Enforce,
        Some("shadow") => AdmissionMode::Shadow,
        Some(other) => {
            let name = format!("{path}.admission.mode");
            return field(&name, format!("must be `enforce` or `shadow`, found {other:?}"));
        }
    };
    if document.shadow_of.is_some() && mode != AdmissionMode::Shadow {
        let problem = "only allowed for a shadow: set `mode: shadow`, or remove it";
        return field(&format!("{path}.admission.shadowOf"), problem);
    }
    let load_timeout = document.load_timeout.map_or(LOAD_TIMEOUT_DEFAULT, |text| text.0);
    check_between(&format!("{path}.admission.loadTimeout"), load_timeout, Duration::ZERO, LOAD_TIMEOUT_MAX)?;
    let recheck = document.recheck.map(|text| text.0);
    if let Some(every) = recheck {
        check_between(
            &format!("{path}.admission.recheck"),
            every,
            recheck::INTERVAL_MIN,
            recheck::INTERVAL_MAX,
        )?;
    }
    let rollout =
        document.rollout.map(|document| rollout::parse(document, &format!("{path}.admission.rollout")));
    let rollout = rollout.transpose()?;
    if rollout.is_some() {
        rollout::check_alone(mode, document.order, &format!("{path}.admission"))?;
    }
    Ok(AdmissionRole {
        order: document.order.unwrap_or(ORDER_DEFAULT),
        failure_policy: document.failure_policy.unwrap_or_default(),
        mode,
        shadow_of: document.shadow_of.map(Arc::from),
        load_timeout,
        recheck,
        rollout,
        matches: matches::parse(document.matches, &format!("{path}.admission.match"))?,
        timeout: timeout(limits, TIMEOUT_DEFAULT, TIMEOUT_MAX, "an admission handler", path)?,
        memory_bytes: memory(limits, MEMORY_BYTES_DEFAULT, path)?,
    })
}

pub(super) fn probe(
    document: ProbeDocument,
    plugin: &str,
    limits: &LimitsDocument,
    path: &str,
) -> Result<ProbeRole, ConfigError> {
    if document.shadow_of.is_some() && document.probe_type.is_some() {
        let problem = "must not be set with `shadowOf`: pods cannot use a shadow";
        return field(&format!("{path}.probe.type"), problem);
    }
    let probe_type = document.probe_type.unwrap_or_else(|| plugin.to_owned());
    check_name(&probe_type, &format!("{path}.probe.type"))?;
    let shadow_of = document.shadow_of.map(Arc::from);
    let memory_bytes = memory(limits, MEMORY_BYTES_DEFAULT, path)?;
    Ok(ProbeRole { probe_type: probe_type.into(), shadow_of, memory_bytes })
}

pub(super) fn pod_source(
    document: PodSourceDocument,
    plugin: &str,
    limits: &LimitsDocument,
    path: &str,
) -> Result<PodSourceRole, ConfigError> {
    if OWN_SOURCES.contains(&plugin) {
        let problem = format!("{plugin:?} is reserved for a built-in source: choose another name");
        return field(&format!("{path}.name"), problem);
    }
    let interval = document.interval.map_or(INTERVAL_DEFAULT, |text| text.0);
    check_between(&format!("{path}.podSource.interval"), interval, INTERVAL_MIN, INTERVAL_MAX)?;
    let timeout = timeout(limits, SOURCE_TIMEOUT_DEFAULT, SOURCE_TIMEOUT_MAX, "a pod source", path)?;
    Ok(PodSourceRole {
        interval,
        shadow_of: document.shadow_of.map(Arc::from),
        allow: Arc::new(allowance(document.allow, &format!("{path}.podSource.allow"))?),
        timeout,
        memory_bytes: memory(limits, SOURCE_MEMORY_BYTES_DEFAULT, path)?,
    })
}

fn allowance(document: AllowDocument, path: &str) -> Result<Allowance, ConfigError> {
    let Some(namespaces) = document.namespaces.filter(|namespaces| !namespaces.is_empty()) else {
        let problem = "a pod source is as powerful as its pods: name the namespaces that it may bring pods into, \
                       such as [edge], or [\"*\"] for all";
        return field(&format!("{path}.namespaces"), problem);
    };
    let pod_security = match document.pod_security.as_deref().map(str::parse::<SecurityLevel>) {
        None => SecurityLevel::default(),
        Some(Ok(level)) => level,
        Some(Err(error)) => return field(&format!("{path}.podSecurity"), error.to_string()),
    };
    let pods_max = document.max_pods.unwrap_or(PODS_DEFAULT);
    if !(1..=PODS_MAX).contains(&pods_max) {
        return field(
            &format!("{path}.maxPods"),
            format!("must be between 1 and {PODS_MAX}, found {pods_max}"),
        );
    }
    Ok(Allowance { namespaces, name_prefix: document.name_prefix, pod_security, pods_max })
}

fn timeout(
    limits: &LimitsDocument,
    default: Duration,
    max: Duration,
    whose: &str,
    path: &str,
) -> Result<Duration, ConfigError> {
    let timeout = limits.timeout.map_or(default, |text| text.0);
    if (TIMEOUT_MIN..=max).contains(&timeout) {
        return Ok(timeout);
    }
    let (timeout, min, max) = (format_duration(timeout), format_duration(TIMEOUT_MIN), format_duration(max));
    field(
        &format!("{path}.limits.timeout"),
        format!("must be between {min} and {max} for {whose}, found {timeout}"),
    )
}

fn memory(limits: &LimitsDocument, default: usize, path: &str) -> Result<usize, ConfigError> {
    let bytes = limits.memory.map_or(default, |text| text.0);
    if bytes == 0 || bytes > POOL_MEMORY_BYTES_MAX {
        return field(
            &format!("{path}.limits.memory"),
            format!(
                "{} must be at least 1 byte and at most {}Mi",
                quantity::binary(i64::try_from(bytes).unwrap_or(i64::MAX)),
                POOL_MEMORY_BYTES_MAX >> 20
            ),
        );
    }
    Ok(bytes)
}
