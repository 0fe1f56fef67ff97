//! Configurations that mean harm: `validate` takes them or refuses them, and what it takes it can work with.

use std::time::Duration;

use serde_json::Value;
use witlet_core::admission::Operation;
use witlet_wasm::plugin::LoadError;
use witlet_wasm::role::Role;

use super::{Found, patiently, short, texts};
use crate::properties::answers;
use crate::properties::prober::target;
use crate::properties::questions::of_pod;
use crate::{Checks, Ctx, Finding, Setup};

const CHECK: (&str, &str) =
    ("hostile/config", "a configuration that makes no sense is refused in the plugin's own words");
const VALIDATES: &str = "validate gets whatever stands under `config:`, and an error refuses the plugin in its own words; nothing \
                         else may come of it";
const TAKEN: &str =
    "validate is asked so that a configuration which the plugin can't work with is refused when it is loaded";
/// What a handler has at least: how fast it is isn't the question here, and machines are busy.
const TIME: Duration = Duration::from_millis(500);
/// How many configurations are tried.
const CONFIGS_MAX: usize = 120;

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>, role: Role) {
    let setup = match ctx.setup(role) {
        Ok(setup) => setup,
        Err(error) => return checks.skip(role, CHECK.0, CHECK.1, error.to_string()),
    };
    let mut found = Found::default();
    for (name, config) in configs(&setup.config).into_iter().take(CONFIGS_MAX) {
        if found.gives_up() {
            break;
        }
        let finding =
            judge(ctx, &Setup { config: config.clone(), timeout: setup.timeout.max(TIME), ..setup.clone() })
                .await;
        let input = format!("{name}: {}", short(&config.to_string()));
        found.add(&name, finding.map(|(seen, contract)| Finding::new(input, seen, contract)));
    }
    checks.add(role, CHECK.0, CHECK.1, found.result());
}

/// What is nobody's configuration, and the plugin's own with one thing changed.
fn configs(own: &Value) -> Vec<(String, Value)> {
    let values =
        texts::values().into_iter().map(|(name, value)| (format!("{name} as its configuration"), value));
    let changed =
        texts::changed(own).into_iter().map(|(name, value)| (format!("its configuration {name}"), value));
    values.chain(changed).collect()
}

/// What a plugin does wrong with a configuration: what was seen, and the contract.
async fn judge(ctx: &Ctx<'_>, setup: &Setup) -> Option<(String, &'static str)> {
    match ask(ctx, setup).await {
        Ok(found) => found,
        Err(LoadError::Configuration { words }) => {
            words.trim().is_empty().then(|| ("it refuses it without a word".to_owned(), VALIDATES))
        }
        Err(LoadError::Validate(error)) => {
            answers::call(&error, VALIDATES).map(|fault| (fault.seen, fault.contract))
        }
        Err(error) => Some((error.sentence(), VALIDATES)),
    }
}

/// Loads it, and asks it something ordinary if it is content.
async fn ask(ctx: &Ctx<'_>, setup: &Setup) -> Result<Option<(String, &'static str)>, LoadError> {
    let fault = match setup.role {
        Role::Admission => {
            let handler = ctx.handler(setup).await?;
            let request = of_pod(Operation::Add, super::pods::plain(|_| {}));
            answers::no_verdict(&patiently(async || handler.ask(&request).await).await.result)
        }
        Role::Probe => {
            let prober = ctx.prober(setup).await?;
            let request = target(super::pods::plain(|_| {}), "{}");
            answers::no_outcome(&patiently(async || prober.check_and_probe(&request).await).await.result)
        }
        Role::PodSource => {
            let source = ctx.source(setup).await?;
            answers::poll(&patiently(async || source.poll(None).await).await.result)
        }
    };
    Ok(fault.map(|fault| (format!("validate is content, and then: {}", fault.seen), TAKEN)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_plugins_own_configuration_is_changed_field_by_field() {
        let configs = configs(&json!({"allow": ["a"]}));
        assert!(configs.iter().any(|(_, config)| config.is_null()));
        assert!(configs.contains(&("its configuration without \"allow\"".to_owned(), json!({}))));
        assert!(configs.len() < CONFIGS_MAX, "{}", configs.len());
    }
}
