//! What every component that ships says of itself: its manifest is there, is true of the component, and its schemas have the fields that
//! the component takes, no more and no fewer.

use serde_json::{Value, json};
use witlet_core::error::one_line;
use witlet_plugins::{ADMISSION, Builtin, PROBES, SHIPPED};
use witlet_wasm::direct::{DirectHost, DirectOptions};
use witlet_wasm::inspect::inspect;
use witlet_wasm::manifest::{Manifest, Schema};
use witlet_wasm::plugin::CallError;
use witlet_wasm::plugin::config::Grants;
use witlet_wasm::role::Role;

use super::shipped::folder;
use crate::node::{FixedClock, cache, compiler};

crate::claims!(every_component_that_ships_says_what_it_is, schemas_have_the_fields_that_components_take,);

/// A field that no component has.
const UNKNOWN: &str = "nonesuch";

fn shipped() -> impl Iterator<Item = (&'static Builtin, Manifest)> {
    ADMISSION.iter().chain(PROBES).chain(SHIPPED).map(|builtin| {
        let manifest =
            Manifest::of(builtin.component).unwrap_or_else(|error| panic!("{}: {error}", builtin.name));
        (builtin, manifest.unwrap_or_else(|| panic!("{} has no manifest", builtin.name)))
    })
}

async fn every_component_that_ships_says_what_it_is() {
    for (builtin, manifest) in shipped() {
        let name = builtin.name;
        assert_eq!(folder(builtin).file_name().and_then(|folder| folder.to_str()), Some(manifest.name()));
        assert_eq!(manifest.version(), env!("CARGO_PKG_VERSION"), "{name} has the release's version");
        let annotations = manifest.annotations();
        let licenses = annotations.get("org.opencontainers.image.licenses").map(String::as_str);
        assert_eq!(licenses, Some(env!("CARGO_PKG_LICENSE")), "{name}");
        assert!(manifest.config().is_some(), "{name} says nothing of its configuration");
        let seen = inspect(builtin.component).expect("it ships");
        let probes = seen.roles.iter().any(|served| served.role == Role::Probe);
        assert_eq!(manifest.parameters().is_some(), probes, "{name}: a probe type has parameters");
        let requested: Vec<&str> = manifest.grants().iter().map(|grant| &*grant.name).collect();
        for needed in &seen.needs_grants {
            assert!(requested.contains(needed), "{name} can't be loaded without {needed}");
        }
        for requested in requested {
            let of_use =
                seen.needs_grants.iter().chain(&seen.may_use_grants).any(|grant| *grant == requested);
            assert!(of_use, "{name} wants {requested} and has no use for it");
        }
    }
}

/// An object that a schema describes: its fields, and a document with an unknown one in it.
struct Described {
    fields: Vec<String>,
    document: Value,
}

/// All objects with named fields, `place` puts one where it belongs in a document.
fn objects(schema: &Value, place: &dyn Fn(Value) -> Value, found: &mut Vec<Described>) {
    let properties = schema["properties"].as_object();
    if properties.is_some() || schema["additionalProperties"] == json!(false) {
        let fields = properties.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        found.push(Described { fields, document: place(json!({ UNKNOWN: 1 })) });
    }
    for (name, inner) in properties.into_iter().flatten() {
        objects(inner, &|value| place(json!({ name: value })), found);
    }
    if schema["items"].is_object() {
        objects(&schema["items"], &|value| place(json!([value])), found);
    }
    if schema["additionalProperties"].is_object() {
        objects(&schema["additionalProperties"], &|value| place(json!({ "any": value })), found);
    }
}

/// The fields that a component names when it refuses an unknown one; none where it takes nothing at all.
fn named(words: &str) -> Vec<String> {
    let Some((_, rest)) = words.split_once(&format!("unknown field `{UNKNOWN}`")) else { return Vec::new() };
    let mut names: Vec<String> = rest.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    names.sort_unstable();
    names
}

/// Grants without which a component can't be asked anything.
fn options(config: Value) -> DirectOptions {
    let grants = Grants { exec: true, secrets: ["any".to_owned()].into(), ..Grants::default() };
    DirectOptions { config, grants, ..DirectOptions::default() }
}

/// What a component says of a configuration, if it refuses it.
async fn refused_config(host: &DirectHost, role: Role, builtin: &Builtin, config: Value) -> Option<String> {
    let wasm = builtin.component.into();
    match role {
        Role::Admission => host.admission(wasm, options(config)).await.err(),
        Role::Probe | Role::PodSource => host.waiting(role, wasm, options(config)).await.err(),
    }
    .map(|error| one_line(&error))
}

/// What a probe type says of parameters, if it refuses them.
async fn refused_parameters(host: &DirectHost, builtin: &Builtin, parameters: Value) -> Option<String> {
    let plugin = host.waiting(Role::Probe, builtin.component.into(), options(Value::Null)).await;
    let plugin = plugin.expect("it takes no configuration");
    match plugin.check_parameters(&parameters.to_string().into()).await.result {
        Ok(()) => None,
        Err(CallError::Refused { words }) => Some(words),
        Err(other) => panic!("{}: {other:?}", builtin.name),
    }
}

/// The manifest's schemas are written by hand, and the components' types by another: each is asked about the same unknown field.
async fn schemas_have_the_fields_that_components_take() {
    let host =
        DirectHost::start(compiler(cache()), std::sync::Arc::new(FixedClock)).expect("engines can be had");
    for (builtin, manifest) in shipped() {
        let role = inspect(builtin.component).expect("it ships").roles[0].role;
        let schemas = [("config", manifest.config()), ("parameters", manifest.parameters())];
        for (kind, schema) in schemas.into_iter().filter_map(|(kind, schema)| Some((kind, schema?))) {
            let mut found = Vec::new();
            objects(schema.text(), &|value| value, &mut found);
            assert!(!found.is_empty(), "{} {kind}: no object is described", builtin.name);
            for Described { mut fields, document } in found {
                let at = format!("{} {kind} {document}", builtin.name);
                assert!(refuses(schema, &document), "{at}: the schema takes the field");
                let refused = match kind {
                    "config" => refused_config(&host, role, builtin, document).await,
                    _ => refused_parameters(&host, builtin, document).await,
                };
                let refused = refused.unwrap_or_else(|| panic!("{at}: the component takes the field"));
                fields.sort_unstable();
                assert_eq!(named(&refused), fields, "{at}: {refused}");
            }
        }
    }
}

fn refuses(schema: &Schema, document: &Value) -> bool {
    schema.mismatches(document, "").iter().any(|found| found.problem.starts_with("unknown field"))
}
