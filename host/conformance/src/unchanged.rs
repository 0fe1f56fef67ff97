//! Properties of pod sources: a world that stays the same has the same pods, in whatever order its folders are listed.

use std::collections::BTreeMap;

use witlet_wasm::role::Role;

use crate::check::{Checks, Finding, Named, Tried};
use crate::ctx::Ctx;
use crate::environment::folders::{Content, FolderContent, Made, ORDERED};
use crate::plugin_request::PluginRequest;
use crate::plugin_response::{CallResult, Fault, ResponseKind, fault, in_words, is, names, set};
use crate::scenario::{Scenario, Stage, manifests, nothing_to_say, plain};

const ROLE: Role = Role::PodSource;
/// Finds `pods-twice`, `no-pod-at-all`.
const SNAPSHOTS: Named = ("properties/snapshots", "what it has is reported as the contract has it");
/// Finds `unchanged-at-first`.
const FIRST: Named = ("properties/first-poll", "the first poll says what there is");
/// Finds `time-in-manifests`, `counts-polls`.
const STILL: Named = ("properties/unchanged-world", "a world that stays the same has the same pods");
/// Finds `first-two-as-listed`.
const ORDER: Named = ("properties/folder-order", "the order in which a folder is listed changes nothing");
const UNCHANGED: &str = "snapshot.unchanged: the same as at the last poll that gave pods or `empty`; at the first poll (cursor none) there is no such poll";
const SAME: &str = "source.poll: what the source has now; over an unchanged world it has the same pods, listed again or as \
                    `unchanged`";
const SET: &str = "snapshot.pods: these pods and no others; which ones isn't a question of the order in which a folder is listed";

/// How often a world that stays the same is checked.
const POLLS: usize = 4;
/// How many files of each kind a folder has whose order is changed.
const FILES: usize = 6;

pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    if let Err(why) = polls(ctx, checks).await {
        checks.skip_all(ROLE, &[SNAPSHOTS, FIRST, STILL, ORDER], &why);
    }
}

async fn polls(ctx: &Ctx<'_>, checks: &mut Checks<'_>) -> Result<(), String> {
    let world = plain(ctx, ROLE)?;
    let mut stage = world.stage(ctx).await?;
    let first = stage.ask().await.result;
    let finding = |fault| Finding::of(world.name.as_str(), fault);
    let found = fault(&first, PluginRequest::Poll(None).contract());
    checks.named(ROLE, SNAPSHOTS, found.map(finding));
    let unchanged = is(&first, ResponseKind::Unchanged);
    checks.named(
        ROLE,
        FIRST,
        unchanged.then(|| finding(Fault::new("unchanged at the first poll", UNCHANGED))),
    );
    let tried = match set(&first) {
        Some(brought) => still(ctx, &world, stage, &brought).await,
        None => Err(nothing_to_say(&world, &first)),
    };
    checks.named(ROLE, STILL, tried);
    let tried = match order(ctx, &world, true).await {
        // It may take other files than the kit's.
        Err(_) => order(ctx, &world, false).await,
        tried => tried,
    };
    checks.named(ROLE, ORDER, tried);
    Ok(())
}

/// Polls repeatedly, with the cursor and without, the same source and one that was loaded again.
async fn still(ctx: &Ctx<'_>, world: &Scenario, mut stage: Stage, brought: &[String]) -> Tried {
    let found = |condition: String, answered: &CallResult| {
        let seen = other_pods(answered, brought)?;
        let input = format!("{}, {condition}", world.name);
        Some(Finding::new(input, seen, SAME))
    };
    for number in 2..=POLLS {
        let answered = stage.ask().await.result;
        if let Some(found) = found(format!("poll {number} of the same world"), &answered) {
            return Ok(Some(found));
        }
    }
    let last = stage.cursor.clone();
    let mut stage = stage.reload(ctx, &world.setup).await?;
    for (condition, cursor) in [("with the last cursor", last), ("without a cursor", None)] {
        stage.cursor = cursor;
        if let Some(found) = found(format!("loaded again and polled {condition}"), &stage.ask().await.result)
        {
            return Ok(Some(found));
        }
    }
    let mut stage = stage.reload(ctx, &world.warmed(ctx.plan.warm).setup).await?;
    for number in 1..=POLLS {
        stage.cursor = None;
        let answered = stage.ask().await.result;
        if let Some(found) = found(format!("poll {number} of one instance without a cursor"), &answered) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns what is different from the pods that were brought, if that is something.
fn other_pods(answered: &CallResult, brought: &[String]) -> Option<String> {
    if is(answered, ResponseKind::Unchanged) {
        return None;
    }
    let (had, now) = (names(brought), set(answered));
    match now.as_deref() {
        Some(now) if now == brought => None,
        Some(now) if names(now) == had => {
            let (now, before) = now.iter().zip(brought).find(|(now, before)| now != before)?;
            Some(format!("the pods {had} with other contents: {before} before, and now {now}"))
        }
        Some(now) => Some(format!("the pods {had} before, and now {}", names(now))),
        None => Some(format!("the pods {had} before, and now {}", in_words(answered))),
    }
}

/// The same files, made in one order and in the other, with files of the kit's own if `own`.
async fn order(ctx: &Ctx<'_>, world: &Scenario, own: bool) -> Tried {
    let folders: BTreeMap<String, FolderContent> =
        world.folders.iter().map(|(path, content)| (path.clone(), files(content, own))).collect();
    if folders.values().all(|files| files.len() < 2) {
        return Err("there is no folder with two files in a case in which it brings pods: add one (--cases)"
            .to_owned());
    }
    let mut inspected = Vec::new();
    for turned in [false, true] {
        let made = world.with(|world| {
            world.folders.clone_from(&folders);
            world.setup.made = Some(if turned { Made::Turned } else { Made::Straight });
        });
        let mut stage = made.stage(ctx).await?;
        let listed = stage.plugin.folders.listed().map_err(|error| format!("list its folders: {error}"))?;
        let answered = stage.ask().await.result;
        inspected.push((listed, set(&answered).ok_or_else(|| nothing_to_say(world, &answered))?));
    }
    let [(straight, first), (turned, second)] = &inspected[..] else { return Ok(None) };
    if straight == turned {
        return Err(format!("{ORDERED} lists files in the same order however they are made"));
    }
    Ok((first != second).then(|| {
        let input = format!("the same files listed as {straight} and as {turned}");
        let seen = format!("the pods {}, and then {}", names(first), names(second));
        Finding::new(input, seen, SET)
    }))
}

/// The files of a folder, and as many of the kit's own, if they are requested, that a source which takes one of them takes all.
fn files(content: &FolderContent, own: bool) -> FolderContent {
    // Of the same extensions, so that they are what it reads.
    let is_read = |name: &str| {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        extension.is_some_and(|extension| content.keys().any(|key| key.ends_with(extension)))
    };
    let mut files = manifests(if own { FILES } else { 0 });
    files.retain(|name, _| is_read(name));
    files.extend(content.clone());
    files.retain(|name, content| matches!(content, Content::File(_)) && !name.contains('/'));
    files
}

#[cfg(test)]
mod tests;
