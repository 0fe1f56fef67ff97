//! Folders, servers and cursors that mean harm to pod sources.

use witlet_core::config::source::Snapshot;
use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use super::folders::{self, HostileFolder};
use super::{Found, patiently, texts};
use crate::ctx::Source;
use crate::properties::answers;
use crate::properties::questions::poll_told;
use crate::properties::world::{Polled, World, cursor, names, nothing_to_say, set};
use crate::scene::{Behaviour, ServerScript, Servers};
use crate::{Checks, Ctx, Finding, Setup};

const ROLE: Role = Role::PodSource;
const FOLDERS: (&str, &str) = ("hostile/folders", "whatever is in a folder, there is an answer");
const EMPTY: (&str, &str) = ("hostile/empty-on-error", "what can't be read isn't empty");
const CURSORS: (&str, &str) = ("hostile/cursors", "whatever the cursor is, there is an answer");
const GONE: (&str, &str) = ("hostile/pods-gone", "pods that are gone aren't unchanged");
const NOT_EMPTY: &str = "snapshot.empty: nothing to tell and nothing there are different things: pods of a source that says `empty` end. \
                         What it can't read is an error, and its last pods go on";
const NEWS: &str = "source.poll: what the source has now; `unchanged` is the same as at the last poll that gave pods or `empty`";
/// What a source has for a server that never answers. It may use it up: that is an error, too.
const TIME: std::time::Duration = std::time::Duration::from_secs(2);

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let world = match World::find(ctx).await {
        Ok(world) => world,
        Err(why) => {
            for (id, title) in [FOLDERS, EMPTY, CURSORS, GONE] {
                checks.skip(ROLE, id, title, why.clone());
            }
            return;
        }
    };
    let (mut answered, mut empty) = (Found::default(), Found::default());
    folders_of(ctx, &world, &mut answered, &mut empty).await;
    servers_of(ctx, &world, &mut answered, &mut empty).await;
    checks.add(ROLE, FOLDERS.0, FOLDERS.1, answered.result());
    checks.add(ROLE, EMPTY.0, EMPTY.1, empty.result());
    let found = cursors(ctx, &world).await;
    checks.add(ROLE, CURSORS.0, CURSORS.1, found.result());
    match gone(ctx, &world).await {
        Ok(found) => checks.judge(ROLE, GONE.0, GONE.1, found),
        Err(why) => checks.skip(ROLE, GONE.0, GONE.1, why),
    }
}

/// The source in its world, after a poll that brought pods.
async fn polled(ctx: &Ctx<'_>, world: &World) -> Result<(Source, Polled), String> {
    let source = world.source(ctx).await?;
    let first = source.poll(None).await.result;
    match set(&first) {
        Some(_) => Ok((source, first)),
        None => Err(nothing_to_say(world, &first)),
    }
}

async fn folders_of(ctx: &Ctx<'_>, world: &World, answered: &mut Found, empty: &mut Found) {
    for hostile in folders::folders() {
        if let Err(why) = folder(ctx, world, &hostile, answered, empty).await {
            answered.untried(why.clone());
            empty.untried(why);
            return;
        }
    }
    for path in world.folders.keys() {
        if let Err(why) = without(ctx, world, path, answered, empty).await {
            answered.untried(why.clone());
            empty.untried(why);
        }
    }
}

/// Puts it beside what the world's folders have, and asks twice: as after the last poll, and as at the first one.
async fn folder(
    ctx: &Ctx<'_>,
    world: &World,
    hostile: &HostileFolder,
    answered: &mut Found,
    empty: &mut Found,
) -> Result<(), String> {
    let (source, first) = polled(ctx, world).await?;
    for path in world.folders.keys() {
        let Some(at) = source.folders.path(path) else { continue };
        if let Err(error) = folders::write(at, &hostile.beside) {
            // Not every filesystem takes every name.
            tracing::debug!(%error, name = hostile.name, "a folder that can't be made here");
            return Ok(());
        }
    }
    for cursor in [cursor(&first), None] {
        let asked = patiently(async || source.poll(cursor.as_deref()).await).await;
        judge(hostile.name, &asked.result, answered, empty);
    }
    Ok(())
}

/// Takes a folder away.
async fn without(
    ctx: &Ctx<'_>,
    world: &World,
    path: &str,
    answered: &mut Found,
    empty: &mut Found,
) -> Result<(), String> {
    let (source, first) = polled(ctx, world).await?;
    source.folders.remove(path).map_err(|error| format!("take {path} away: {error}"))?;
    for cursor in [cursor(&first), None] {
        let asked = patiently(async || source.poll(cursor.as_deref()).await).await;
        judge(&format!("{path} that is gone"), &asked.result, answered, empty);
    }
    Ok(())
}

fn judge(name: &str, polled: &Polled, answered: &mut Found, empty: &mut Found) {
    answered.add(name, answers::poll(polled).map(|fault| fault.on(name)));
    let is_empty = matches!(polled, Ok(Ok(answer)) if answer.snapshot == Snapshot::Empty);
    empty.add(name, is_empty.then(|| Finding::new(name, poll_told(polled), NOT_EMPTY)));
}

/// The world's servers, if it has some, and how they fail.
async fn servers_of(ctx: &Ctx<'_>, world: &World, answered: &mut Found, empty: &mut Found) {
    if world.scripts.is_empty() {
        return;
    }
    for (name, behaviour) in [
        ("a server that refuses", Behaviour::Refuse),
        ("a server that resets", Behaviour::Reset),
        ("a server that closes at once", Behaviour::Close),
        ("a server that says nothing", Behaviour::Silent),
        ("a server that says what means nothing", Behaviour::Garbage),
        ("a server that never stops", Behaviour::Endless),
        ("a server that has nothing", Behaviour::Http(Vec::new())),
    ] {
        match server(ctx, world, &behaviour).await {
            // It has waited for news as long as it may.
            Ok(Err(CallError::Timeout { .. })) => {}
            Ok(polled) => judge(name, &polled, answered, empty),
            Err(why) => {
                answered.untried(why.clone());
                empty.untried(why);
            }
        }
    }
}

async fn server(ctx: &Ctx<'_>, world: &World, behaviour: &Behaviour) -> Result<Polled, String> {
    let instead = |script: &ServerScript| ServerScript { behaviour: behaviour.clone(), ..script.clone() };
    let scripts: Vec<ServerScript> = world.scripts.iter().map(instead).collect();
    let servers = Servers::start(&scripts).await.map_err(|error| error.to_string())?;
    let setup = Setup { address: Some(servers.address), timeout: TIME, ..world.setup.clone() };
    let source = world.source_as(ctx, &setup).await?;
    Ok(source.poll(None).await.result)
}

/// Cursors that aren't its own: of an older release, or cut.
async fn cursors(ctx: &Ctx<'_>, world: &World) -> Found {
    let mut found = Found::default();
    let source = match world.source(ctx).await {
        Ok(source) => source,
        Err(why) => {
            found.untried(why);
            return found;
        }
    };
    let long = "c".repeat(4 << 10);
    let more = [
        ("an empty cursor", ""),
        ("a cursor of 4 KiB", long.as_str()),
        ("a cursor that is JSON", r#"{"a": [1]}"#),
    ];
    for (name, cursor) in texts::ODD.into_iter().chain(more) {
        let asked = patiently(async || source.poll(Some(cursor)).await).await;
        found.add(name, answers::poll(&asked.result).map(|fault| fault.on(format!("{name}, as a cursor"))));
    }
    found
}

/// Takes all files away, and asks with the cursor of when they were there.
async fn gone(ctx: &Ctx<'_>, world: &World) -> Result<Option<Finding>, String> {
    if world.folders.is_empty() || !world.scripts.is_empty() {
        return Err(
            "its pods don't come from folders that the kit knows of: add a case with `folders` (--cases)"
                .to_owned(),
        );
    }
    let (source, first) = polled(ctx, world).await?;
    for path in world.folders.keys() {
        source.folders.fill(path, &Default::default()).map_err(|error| format!("empty {path}: {error}"))?;
    }
    let asked = source.poll(cursor(&first).as_deref()).await;
    let unchanged = matches!(&asked.result, Ok(Ok(answer)) if answer.snapshot == Snapshot::Unchanged);
    Ok(unchanged.then(|| {
        let had = set(&first).unwrap_or_default();
        let input = format!("{}: the pods {}, and then all files gone", world.name, names(&had));
        Finding::new(input, "unchanged", NEWS).repeated_by(super::REPEAT)
    }))
}

#[cfg(test)]
mod tests {
    use witlet_core::config::source::PollAnswer;

    use super::*;
    use crate::CheckResult;

    #[test]
    fn empty_is_no_answer_to_what_cannot_be_read() {
        let answer = |snapshot| -> Polled { Ok(Ok(PollAnswer { snapshot, cursor: None, next_poll: None })) };
        for (polled, answers, empties) in [
            (answer(Snapshot::Unchanged), true, true),
            (answer(Snapshot::Empty), true, false),
            (Err(CallError::StackOverflow), false, true),
        ] {
            let (mut answered, mut empty) = (Found::default(), Found::default());
            judge("a folder", &polled, &mut answered, &mut empty);
            assert_eq!(answered.result() == CheckResult::Passed, answers, "{polled:?}");
            assert_eq!(empty.result() == CheckResult::Passed, empties, "{polled:?}");
        }
    }
}
