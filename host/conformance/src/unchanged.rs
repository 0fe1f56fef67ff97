//! Properties of pod sources: a world that stays the same has the same pods, in whatever order its folders are listed.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde_json::{Value, json};
use witlet_wasm::role::Role;

use crate::answer::{AnswerKind, Answered, fault, is, names, set, told};
use crate::check::{Checks, Finding, Named, Tried};
use crate::ctx::Ctx;
use crate::question::Question;
use crate::scenario::{Scenario, Stage, manifests, nothing_to_say, plain};
use crate::scene::folders::{Content, FolderContent};

const ROLE: Role = Role::PodSource;
/// What repeats a finding: no input is generated.
const REPEAT: &str = "--only properties";
/// Finds `pods-twice`, `no-pod-at-all`.
const SNAPSHOTS: Named = ("properties/snapshots", "what it has is told as the contract has it");
/// Finds `unchanged-at-first`.
const FIRST: Named = ("properties/first-poll", "the first poll says what there is");
/// Finds `time-in-manifests`, `counts-polls`.
const STILL: Named = ("properties/unchanged-world", "a world that stays the same has the same pods");
/// Finds `first-two-as-listed`.
const ORDER: Named = ("properties/folder-order", "the order in which a folder is listed changes nothing");
const UNCHANGED: &str = "snapshot.unchanged: the same as at the last poll that gave pods or `empty`; at the first poll (cursor none) there is no such poll";
const SAME: &str = "source.poll: what the source has now; over a world that nobody changed it has the same pods, told again or as \
                    `unchanged`";
const SET: &str = "snapshot.pods: these pods and no others; which ones isn't a question of the order in which a folder is listed";

/// How often a world that stays the same is looked at.
const POLLS: usize = 4;
/// Where a filesystem is that lists files in another order when they are made in another order, if the machine has it.
const ORDERED: &str = "/dev/shm";
/// How many files of each kind a folder has whose order is changed.
const FILES: usize = 6;

/// Examines a source.
pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    if let Err(why) = polls(ctx, checks).await {
        checks.skip_all(ROLE, &[SNAPSHOTS, FIRST, STILL, ORDER], &why);
    }
}

async fn polls(ctx: &Ctx<'_>, checks: &mut Checks<'_>) -> Result<(), String> {
    let world = plain(ctx, ROLE)?;
    let mut stage = world.stage(ctx).await?;
    let first = stage.ask().await.result;
    let finding = |seen, contract| Finding::new(world.name.as_str(), seen, contract).repeated_by(REPEAT);
    let found = fault(&first, Question::Poll(None).contract());
    checks.add(ROLE, SNAPSHOTS.0, SNAPSHOTS.1, found.map(|(seen, contract)| finding(seen, contract)));
    let unchanged = is(&first, AnswerKind::Unchanged);
    let found = unchanged.then(|| finding("unchanged at the first poll".to_owned(), UNCHANGED));
    checks.add(ROLE, FIRST.0, FIRST.1, found);
    let tried = match set(&first) {
        Some(brought) => still(ctx, &world, stage, &brought).await,
        None => Err(nothing_to_say(&world, &first)),
    };
    checks.add(ROLE, STILL.0, STILL.1, tried);
    let tried = match order(ctx, &world, true).await {
        // It may take other files than the kit's.
        Err(_) => order(ctx, &world, false).await,
        tried => tried,
    };
    checks.add(ROLE, ORDER.0, ORDER.1, tried);
    Ok(())
}

/// Polls again and again, with the cursor and without, of the same source and of one that was loaded anew.
async fn still(ctx: &Ctx<'_>, world: &Scenario, mut stage: Stage, brought: &[String]) -> Tried {
    let found = |told: String, answered: &Answered| {
        let seen = other_pods(answered, brought)?;
        let input = format!("{}, {told}", world.name);
        Some(Finding::new(input, seen, SAME).repeated_by(REPEAT))
    };
    for number in 2..=POLLS {
        let answered = stage.ask().await.result;
        if let Some(found) = found(format!("poll {number} of the same world"), &answered) {
            return Ok(Some(found));
        }
    }
    let last = stage.cursor.clone();
    let mut stage = stage.reload(ctx, &world.setup).await?;
    for (told, cursor) in [("with the last cursor", last), ("without a cursor", None)] {
        stage.cursor = cursor;
        if let Some(found) = found(format!("loaded anew and polled {told}"), &stage.ask().await.result) {
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

/// What is different from the pods that were brought, if that is something.
fn other_pods(answered: &Answered, brought: &[String]) -> Option<String> {
    if is(answered, AnswerKind::Unchanged) {
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
        None => Some(format!("the pods {had} before, and now {}", told(answered))),
    }
}

/// The same files, made in one order and in the other; `own` of the kit's beside the world's.
async fn order(ctx: &Ctx<'_>, world: &Scenario, own: bool) -> Tried {
    let root = tempfile::Builder::new().tempdir_in(ORDERED);
    let root = root
        .map_err(|error| format!("there is no filesystem whose order can be changed ({ORDERED}): {error}"))?;
    let folders: BTreeMap<&String, Vec<(String, Vec<u8>)>> =
        world.folders.iter().map(|(path, content)| (path, files(content, own))).collect();
    if folders.values().all(|files| files.len() < 2) {
        return Err("there is no folder with two files in a case in which it brings pods: add one (--cases)"
            .to_owned());
    }
    let mut looked = Vec::new();
    for turned in [false, true] {
        let (mut order, mut grants) = (Vec::new(), Vec::new());
        for (index, (path, files)) in folders.iter().enumerate() {
            let at = root.path().join(turned.to_string()).join(index.to_string());
            let listed = make(&at, files, turned).map_err(|error| format!("make {path} for it: {error}"))?;
            order.extend(listed);
            grants.push(json!({"path": at, "readOnly": true, "guestPath": path}));
        }
        // These folders in place of those that the kit makes.
        let with_folders = world.with(|world| {
            world.setup.guest_paths.retain(|path| !folders.contains_key(path));
            if world.setup.grants.is_null() {
                world.setup.grants = json!({});
            }
            world.setup.grants["files"] = Value::Array(grants);
        });
        let answered = with_folders.stage(ctx).await?.ask().await.result;
        looked.push((order.join(", "), set(&answered).ok_or_else(|| nothing_to_say(world, &answered))?));
    }
    let [(straight, first), (turned, second)] = &looked[..] else { return Ok(None) };
    if straight == turned {
        return Err(format!("{ORDERED} lists files in the same order however they are made"));
    }
    Ok((first != second).then(|| {
        let input = format!("the same files listed as {straight} and as {turned}");
        let seen = format!("the pods {}, and then {}", names(first), names(second));
        Finding::new(input, seen, SET).repeated_by(REPEAT)
    }))
}

/// The files of a folder, and as many of the kit's own, if they are wanted, that a source which takes one of them takes all.
fn files(content: &FolderContent, own: bool) -> Vec<(String, Vec<u8>)> {
    // Of the same extensions, so that they are what it reads.
    let known = |name: &str| {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_owned());
        extension.is_some_and(|extension| content.keys().any(|key| key.ends_with(&extension)))
    };
    let more = manifests(if own { FILES } else { 0 });
    let more = more.iter().filter(|(name, _)| known(name));
    let file = |(name, content): (&String, &Content)| match content {
        Content::File(bytes) if !name.contains('/') => Some((name.clone(), bytes.clone())),
        Content::File(_) | Content::Special(_) => None,
    };
    content.iter().chain(more).filter_map(file).collect()
}

/// Makes files in one order or in the other. Their names as the filesystem lists them.
fn make(folder: &Path, files: &[(String, Vec<u8>)], turned: bool) -> io::Result<Vec<String>> {
    std::fs::create_dir_all(folder)?;
    let mut files: Vec<&(String, Vec<u8>)> = files.iter().collect();
    if turned {
        files.reverse();
    }
    files.into_iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))?;
    let entries = std::fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
mod tests;
