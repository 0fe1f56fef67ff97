//! The probes of a pod as they are to be worked on: those of its spec, with what annotations put in their place.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};

use super::ProbeKind;
use super::custom::{self, ANNOTATION_PREFIX, InvalidProbe};
use super::facts::probed_containers;
use super::handler::{HandlerError, ProbeHandler, handler_of_spec};
use super::worker::ProbeSettings;

#[cfg(test)]
mod tests;

/// Reason of the event that reports an annotation that can't be followed.
pub const INVALID_PROBE: &str = "InvalidProbe";

/// Of what is wrong with a pod's annotations, so much is reported.
pub const PROBLEMS_MAX: usize = 16;

/// So many probes a second a pod may have with periods below a second, all of its containers together: anyone who writes pods
/// must not be able to keep the node busy with them.
pub const FINE_PROBES_PER_SECOND_MAX: u128 = 200;
/// So many bytes the parameters of a pod's probes may have, all of them together, with variables replaced. It is more than a
/// whole pod may have; without a bound, many probes that name one long variable would fill the memory.
pub const PARAMETERS_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Below this a period can be by annotation only.
const SECOND: Duration = Duration::from_secs(1);

/// One probe of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredProbe {
    /// Name of the container.
    pub container: String,
    /// Whether that is a sidecar.
    pub is_sidecar: bool,
    /// Which of its probes.
    pub kind: ProbeKind,
    /// When, and what counts.
    pub settings: ProbeSettings,
    /// What is asked of which type.
    pub handler: Result<ProbeHandler, NoHandler>,
}

/// Why a probe can't be put to any type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoHandler {
    /// The spec's own handler is wrong. As upstream has it, each probe is an error, and its result is discarded.
    Spec(HandlerError),
    /// The annotation in its place is wrong. Each probe fails: a check that was asked for and can't be made isn't passed.
    Annotation(InvalidProbe),
}

/// What is to be probed, and what no one can follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DesiredProbes {
    /// At most one of each kind and container.
    pub probes: Vec<DesiredProbe>,
    /// One sentence for each thing that is wrong with the pod's annotations; at most [`PROBLEMS_MAX`].
    pub problems: Vec<String>,
}

/// The pod's probes. An annotation replaces handlers of probes that the spec has; what it says of others is a problem, and
/// nothing else.
pub fn desired_probes(pod: &Pod) -> DesiredProbes {
    let mut desired = DesiredProbes::default();
    let mut annotations: BTreeMap<&str, &str> = pod
        .metadata
        .annotations
        .iter()
        .flatten()
        .filter_map(|(name, text)| Some((name.strip_prefix(ANNOTATION_PREFIX)?, text.as_str())))
        .collect();
    let mut left = PARAMETERS_BYTES_MAX;
    for (container, is_sidecar) in probed_containers(pod) {
        let annotation = annotations.remove(container.name.as_str());
        add_container(&mut desired, &mut left, container, is_sidecar, annotation);
    }
    for name in annotations.into_keys() {
        desired
            .problems
            .push(format!("{ANNOTATION_PREFIX}{name}: the pod has no container or sidecar of this name"));
    }
    bound_rate(&mut desired);
    desired.problems.truncate(PROBLEMS_MAX);
    desired
}

/// Makes periods below a second whole ones, if there are too many of them.
fn bound_rate(desired: &mut DesiredProbes) {
    let is_fine = |probe: &&mut DesiredProbe| probe.settings.period < SECOND;
    let periods =
        desired.probes.iter_mut().filter(is_fine).map(|probe| probe.settings.period.as_micros().max(1));
    let per_second = periods.map(|period| SECOND.as_micros() / period).sum::<u128>();
    if per_second <= FINE_PROBES_PER_SECOND_MAX {
        return;
    }
    for probe in desired.probes.iter_mut().filter(is_fine) {
        probe.settings.period = SECOND;
    }
    let problem = format!(
        "probes with periods below a second: {per_second} per second exceed the limit of \
         {FINE_PROBES_PER_SECOND_MAX} for a pod; each runs once per second"
    );
    desired.problems.insert(0, problem);
}

/// Takes a handler, if there is capacity `left` for its parameters.
fn within(handler: ProbeHandler, left: &mut usize) -> Result<ProbeHandler, HandlerError> {
    let too_long = HandlerError::TooLong { text: "the parameters of all probes of the pod together" };
    *left = left.checked_sub(handler.parameters.len()).ok_or(too_long)?;
    Ok(handler)
}

fn add_container(
    desired: &mut DesiredProbes,
    left: &mut usize,
    container: &Container,
    is_sidecar: bool,
    annotation: Option<&str>,
) {
    let read = annotation.map(|text| custom::read(text, container)).transpose();
    let DesiredProbes { probes: all, problems } = desired;
    let mut problem = |what: &str, why: &str| {
        problems.push(format!("{ANNOTATION_PREFIX}{}: {what}{why}", container.name));
    };
    if let Err(invalid) = &read {
        problem("", &invalid.to_string());
    }
    for kind in ProbeKind::ALL {
        let of_kind = format!("{}: ", kind.as_str().to_ascii_lowercase());
        let named = match &read {
            Ok(probes) => probes.as_ref().and_then(|probes| probes.get(&kind)).cloned(),
            // Whatever it was to say, no probe that there is counts as passed.
            Err(invalid) => Some(Err(invalid.clone())),
        };
        if let (Ok(_), Some(Err(invalid))) = (&read, &named) {
            problem(&of_kind, &invalid.to_string());
        }
        let Some(probe) = kind.of(container) else {
            if read.is_ok() && named.is_some() {
                problem(&of_kind, "the container's spec has no probe of this kind");
            }
            continue;
        };
        let of_spec = ProbeSettings::of(probe);
        let (settings, handler) = match named {
            None => {
                let handler = handler_of_spec(probe, container).and_then(|handler| within(handler, left));
                (of_spec, handler.map_err(NoHandler::Spec))
            }
            Some(Ok(custom)) => {
                let too_long = |_| NoHandler::Annotation(InvalidProbe::ParametersTooLong);
                (custom.settings(of_spec), within(custom.handler, left).map_err(too_long))
            }
            Some(Err(invalid)) => (of_spec, Err(NoHandler::Annotation(invalid))),
        };
        let container = container.name.clone();
        all.push(DesiredProbe { container, is_sidecar, kind, settings, handler });
    }
}
