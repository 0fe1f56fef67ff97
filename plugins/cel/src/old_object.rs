//! The spec before a resize, from what its status says: those are the resources that the containers have.

use witlet_cel::Value;

use crate::contract::with_fields;
use crate::field::field;

/// Lists of the spec with the lists of the status that tell of them.
const LISTS: &[(&str, &str)] =
    &[("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")];

/// The spec with the resources that the containers have; none if the status doesn't say which those are.
pub(crate) fn spec(spec: &Value, status: &Value) -> Option<Value> {
    let mut lists = Vec::new();
    for (list, statuses) in LISTS {
        let Some(Value::List(containers)) = field(spec, list) else { continue };
        let old = containers.iter().map(|container| with_resources(container, field(status, statuses)));
        lists.push((*list, Value::list(old.collect::<Option<Vec<Value>>>()?)));
    }
    Some(with_fields(spec, lists))
}

/// A container with the resources of its status.
fn with_resources(container: &Value, statuses: Option<&Value>) -> Option<Value> {
    let Value::List(statuses) = statuses? else { return None };
    let name = |value: &Value| match field(value, "name") {
        Some(Value::String(name)) => Some(name.clone()),
        _ => None,
    };
    let desired = name(container)?;
    let status = statuses.iter().find(|status| name(status).as_ref() == Some(&desired))?;
    let resources = field(status, "resources")?.clone();
    Some(with_fields(container, vec![("resources", resources)]))
}
