//! What a component's manifest says: whether it can be read, and whether what the plugin is tested with fits its schemas.

use serde_json::Value;
use witlet_wasm::manifest::{Manifest, ManifestError, Mismatch, SECTION, Schema};
use witlet_wasm::role::Role;

use crate::check::{CheckResult, Checks, Finding, Named};
use crate::ctx::Ctx;
use crate::environment::address::address;
use crate::plugin_request::PluginRequest;
use crate::plugin_response::ResponseKind;

const READ: Named = ("load/manifest", "its manifest can be read");
const CONFIG: Named = ("load/manifest-config", "its configuration fits its manifest");
const PARAMETERS: Named =
    ("load/manifest-parameters", "parameters of probes that have an outcome fit its manifest");

/// Checks the manifest, if there is one.
pub(super) fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let manifest = match Manifest::of(&ctx.subject.wasm) {
        Ok(None) => return,
        Ok(Some(manifest)) => manifest,
        Err(error) => return checks.named(None, READ, Some(unreadable(&error))),
    };
    checks.named(None, READ, CheckResult::Passed);
    for role in ctx.roles() {
        // What is wrong with limits and grants is said where they are used.
        let Ok(setup) = ctx.setup(role) else { continue };
        if let Some(schema) = manifest.config() {
            let config = setup.at(address()).placed_config();
            checks.named(role, CONFIG, misfit(schema, "config", &config));
        }
        if let Some(schema) = manifest.parameters().filter(|_| role == Role::Probe) {
            let misfits =
                answered_parameters(ctx).find_map(|parameters| misfit(schema, "parameters", &parameters));
            checks.named(role, PARAMETERS, misfits);
        }
    }
}

fn unreadable(error: &ManifestError) -> Finding {
    Finding::new(
        format!("the section {SECTION}"),
        error.to_string(),
        "the manifest is one that `witlet plugin manifest` writes: run it again on the component",
    )
}

fn misfit(schema: &Schema, name: &str, value: &Value) -> Option<Finding> {
    let found = schema.mismatches(value, name);
    let seen = found.iter().map(Mismatch::to_string).collect::<Vec<_>>().join("; ");
    let contract =
        format!("a host refuses what doesn't fit the schema `{name}` of the manifest: change one of the two");
    (!found.is_empty()).then(|| Finding::new(format!("{name}: {value}"), seen, contract))
}

/// Parameters of the cases in which a probe is to come to an outcome: the type takes them.
fn answered_parameters(ctx: &Ctx<'_>) -> impl Iterator<Item = Value> {
    let steps = ctx.cases(Role::Probe).flat_map(|(_, case)| &case.steps);
    steps.filter_map(|step| match (&step.question, step.expect.kind) {
        (
            PluginRequest::Probe { request, .. },
            Some(ResponseKind::Success | ResponseKind::Warning | ResponseKind::Failure),
        ) => serde_json::from_str(&request.parameters).ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_found_with_its_path() {
        let schema =
            Schema::compile(json!({"required": ["port"], "properties": {"port": {"type": "integer"}}}), "a");
        let schema = schema.expect("a schema");
        assert!(misfit(&schema, "parameters", &json!({"port": 1})).is_none());
        let finding = misfit(&schema, "parameters", &json!({"port": "http"})).expect("it is no number");
        let reported = format!("{finding:?}");
        assert!(reported.contains("parameters.port: expected integer, found"), "{reported}");
        let reported = format!("{:?}", unreadable(&ManifestError::Many { count: 2 }));
        assert!(reported.contains("2 sections witlet:manifest"), "{reported}");
    }
}
