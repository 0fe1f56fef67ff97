//! A world in which a source brings pods: that of a case, or folders that its configuration names.

use std::collections::BTreeMap;

use serde_json::Value;
use witlet_core::config::source::{PollAnswer, Snapshot, SourceFault};
use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use super::answers::identity;
use super::questions::poll_told;
use crate::cases::{CaseFile, SnapshotExpect, SourceCase, SourceExpect};
use crate::ctx::Source;
use crate::hostile::folders::good;
use crate::scene::{Content, Folders, ServerScript, Servers};
use crate::{Ctx, Setup};

/// How many pods the kit's own folders have.
const PODS: usize = 4;

/// A world that stays as it is until it is changed.
pub(crate) struct World {
    /// For people.
    pub(crate) name: String,
    /// How the source is loaded.
    pub(crate) setup: Setup,
    /// What granted folders hold.
    pub(crate) folders: BTreeMap<String, BTreeMap<String, Content>>,
    /// Who listens.
    pub(crate) scripts: Vec<ServerScript>,
    /// They end with the value.
    _servers: Servers,
}

/// What a poll came to.
pub(crate) type Polled = Result<Result<PollAnswer, SourceFault>, CallError>;

impl World {
    /// The first case in which the source brings pods; without one, folders with manifests wherever the configuration names a
    /// path. The error says why there is none.
    pub(crate) async fn find(ctx: &Ctx<'_>) -> Result<Self, String> {
        match ctx.pods_case() {
            Some((file, case)) => Self::of_case(ctx, file, case).await,
            None => Self::own(ctx).await,
        }
    }

    async fn of_case(ctx: &Ctx<'_>, file: &CaseFile, case: &SourceCase) -> Result<Self, String> {
        let mut setup = ctx.setup_of(file, case.config.as_ref()).map_err(|error| error.to_string())?;
        let mut folders = BTreeMap::new();
        let mut scripts = &case.servers;
        for step in &case.steps {
            for (path, content) in &step.folders {
                match content {
                    Some(content) => _ = folders.insert(path.clone(), content.clone()),
                    None => _ = folders.remove(path),
                }
            }
            scripts = step.servers.as_ref().unwrap_or(scripts);
            if matches!(&step.expect, SourceExpect::Snapshot { snapshot: SnapshotExpect::Pods(_), .. }) {
                break;
            }
        }
        let servers = Servers::start(scripts).await.map_err(|error| error.to_string())?;
        setup.address = Some(servers.address);
        let name = format!("case {:?}", case.name);
        Ok(Self { name, setup, folders, scripts: scripts.clone(), _servers: servers })
    }

    async fn own(ctx: &Ctx<'_>) -> Result<Self, String> {
        let mut setup = ctx.setup(Role::PodSource).map_err(|error| error.to_string())?;
        if setup.guest_paths.is_empty() {
            paths(&setup.config, &mut setup.guest_paths);
        }
        let files = || good(PODS).into_iter().map(|(name, bytes)| (name, Content::File(bytes))).collect();
        let folders = setup.guest_paths.iter().map(|path| (path.clone(), files())).collect();
        let servers = Servers::start(&[]).await.map_err(|error| error.to_string())?;
        setup.address = Some(servers.address);
        let name = format!("{PODS} manifests in each folder that the configuration names");
        Ok(Self { name, setup, folders, scripts: Vec::new(), _servers: servers })
    }

    /// Loads the source into the world as it is.
    pub(crate) async fn source(&self, ctx: &Ctx<'_>) -> Result<Source, String> {
        self.source_as(ctx, &self.setup).await
    }

    /// The same with another setup.
    pub(crate) async fn source_as(&self, ctx: &Ctx<'_>, setup: &Setup) -> Result<Source, String> {
        let source = ctx.source(setup).await.map_err(|error| error.sentence())?;
        self.fill(&source.folders)?;
        Ok(source)
    }

    /// Makes folders hold what the world says.
    pub(crate) fn fill(&self, folders: &Folders) -> Result<(), String> {
        for (path, content) in &self.folders {
            // A setup may have fewer folders than the world.
            if folders.path(path).is_some() {
                folders.fill(path, content).map_err(|error| format!("fill {path}: {error}"))?;
            }
        }
        Ok(())
    }
}

/// Folders that a configuration names.
fn paths(config: &Value, found: &mut Vec<String>) {
    match config {
        Value::String(text) if text.starts_with('/') && text.len() > 1 && !text.contains("..") => {
            if !found.contains(text) {
                found.push(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| paths(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| paths(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The manifests that a poll brought, sorted; none if it brought none.
pub(crate) fn set(polled: &Polled) -> Option<Vec<String>> {
    let Ok(Ok(PollAnswer { snapshot: Snapshot::Pods(manifests), .. })) = polled else { return None };
    let mut manifests = manifests.clone();
    manifests.sort();
    Some(manifests)
}

/// The cursor that a poll gave.
pub(crate) fn cursor(polled: &Polled) -> Option<String> {
    polled.as_ref().ok().and_then(|answer| answer.as_ref().ok()).and_then(|answer| answer.cursor.clone())
}

/// Which pods a set has, for people.
pub(crate) fn names(manifests: &[String]) -> String {
    let name = |manifest: &String| identity(manifest).map_or_else(|problem| problem, |pod| pod.join("/"));
    let names: Vec<String> = manifests.iter().map(name).collect();
    names.join(", ")
}

/// Why nothing can be said of a source that brings no pods.
pub(crate) fn nothing_to_say(world: &World, polled: &Polled) -> String {
    format!(
        "it brings no pods where it could ({}): it says {}. Add a case in which it brings some (--cases)",
        world.name,
        poll_told(polled)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_of_a_configuration_are_found_once() {
        let mut found = Vec::new();
        paths(
            &json!({"folder": "/pods", "more": ["/pods", "/etc/x", "relative", "/", "/a/../b"], "n": 1}),
            &mut found,
        );
        found.sort();
        assert_eq!(found, ["/etc/x", "/pods"]);
    }

    #[test]
    fn sets_are_compared_without_their_order() {
        let polled = |manifests: &[&str]| -> Polled {
            let manifests = manifests.iter().map(|text| (*text).to_owned()).collect();
            Ok(Ok(PollAnswer { snapshot: Snapshot::Pods(manifests), cursor: None, next_poll: None }))
        };
        assert_eq!(set(&polled(&["b", "a"])), set(&polled(&["a", "b"])));
        assert_ne!(set(&polled(&["a"])), set(&polled(&["a", "b"])));
    }
}
