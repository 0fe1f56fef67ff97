//! Properties of pod sources.

use std::path::Path;

use witlet_core::config::source::Snapshot;
use witlet_wasm::role::Role;

use super::questions::poll_told;
use super::world::{Polled, World, cursor, names, nothing_to_say, set};
use super::{answers, repeat};
use crate::ctx::Source;
use crate::hostile::folders::{good, listed, write_in_order};
use crate::scene::Content;
use crate::{CheckResult, Checks, Ctx, Finding};

const ROLE: Role = Role::PodSource;
const SNAPSHOTS: (&str, &str) = ("properties/snapshots", "what it has is told as the contract has it");
const FIRST: (&str, &str) = ("properties/first-poll", "the first poll says what there is");
const STILL: (&str, &str) = ("properties/unchanged-world", "a world that stays the same has the same pods");
const ORDER: (&str, &str) =
    ("properties/folder-order", "the order in which a folder is listed changes nothing");
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

/// Names and contents.
type Files = Vec<(String, Vec<u8>)>;

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let found = async {
        let world = World::find(ctx).await?;
        let source = world.source(ctx).await?;
        Ok::<_, String>((world, source))
    };
    let (world, source) = match found.await {
        Ok(found) => found,
        Err(why) => {
            for (id, title) in [SNAPSHOTS, FIRST, STILL, ORDER] {
                checks.skip(ROLE, id, title, why.clone());
            }
            return;
        }
    };
    let first = source.poll(None).await.result;
    let found = answers::poll(&first).map(|fault| fault.on(world.name.clone()).repeated_by(repeat(ctx)));
    checks.judge(ROLE, SNAPSHOTS.0, SNAPSHOTS.1, found);
    checks.judge(ROLE, FIRST.0, FIRST.1, first_poll(&world, &first));
    match set(&first) {
        Some(brought) => {
            let found = still(ctx, &world, source, &first, &brought).await;
            match found {
                Ok(found) => checks.judge(ROLE, STILL.0, STILL.1, found),
                Err(why) => checks.skip(ROLE, STILL.0, STILL.1, why),
            }
        }
        None => checks.skip(ROLE, STILL.0, STILL.1, nothing_to_say(&world, &first)),
    }
    let result = match order(ctx, &world).await {
        Ok(found) => found.map_or(CheckResult::Passed, CheckResult::Failed),
        Err(why) => CheckResult::Skipped { why },
    };
    checks.add(ROLE, ORDER.0, ORDER.1, result);
}

fn first_poll(world: &World, first: &Polled) -> Option<Finding> {
    let unchanged = matches!(first, Ok(Ok(answer)) if answer.snapshot == Snapshot::Unchanged);
    unchanged.then(|| Finding::new(world.name.clone(), "unchanged at the first poll", UNCHANGED))
}

/// Polls again and again, with the cursor and without, of the same source and of one that was loaded anew.
async fn still(
    ctx: &Ctx<'_>,
    world: &World,
    source: Source,
    first: &Polled,
    brought: &[String],
) -> Result<Option<Finding>, String> {
    let mut last = cursor(first);
    for number in 2..=POLLS {
        let polled = source.poll(last.as_deref()).await.result;
        if let Some(seen) = other_pods(&polled, brought) {
            return Ok(Some(Finding::new(
                format!("{}, poll {number} of the same world", world.name),
                seen,
                SAME,
            )));
        }
        last = cursor(&polled).or(last);
    }
    let source = source.reload(ctx, &world.setup).await.map_err(|error| error.sentence())?;
    for (told, with) in [("with the last cursor", last.as_deref()), ("without a cursor", None)] {
        let polled = source.poll(with).await.result;
        if let Some(seen) = other_pods(&polled, brought) {
            let input = format!("{}, loaded anew and polled {told}", world.name);
            return Ok(Some(Finding::new(input, seen, SAME)));
        }
    }
    let kept = world.setup.warmed(ctx.plan.warm);
    let source = source.reload(ctx, &kept).await.map_err(|error| error.sentence())?;
    for number in 1..=POLLS {
        let polled = source.poll(None).await.result;
        if let Some(seen) = other_pods(&polled, brought) {
            let input = format!("{}, poll {number} of one instance without a cursor", world.name);
            return Ok(Some(Finding::new(input, seen, SAME)));
        }
    }
    Ok(None)
}

/// What is different from the pods that were brought, if that is something.
fn other_pods(polled: &Polled, brought: &[String]) -> Option<String> {
    if matches!(polled, Ok(Ok(answer)) if answer.snapshot == Snapshot::Unchanged) {
        return None;
    }
    match set(polled) {
        Some(now) if now == brought => None,
        Some(now) if names(&now) == names(brought) => {
            let differs = now.iter().zip(brought).find(|(now, before)| now != before);
            let (now, before) =
                differs.map(|(now, before)| (now.as_str(), before.as_str())).unwrap_or_default();
            Some(format!("the pods {} with other contents: {before} before, and now {now}", names(brought)))
        }
        Some(now) => Some(format!("the pods {} before, and now {}", names(brought), names(&now))),
        None => Some(format!("the pods {} before, and now {}", names(brought), poll_told(polled))),
    }
}

/// The same files, made in one order and in the other: the world's with some of the kit's own, and without them for a source
/// that takes other files. The error says why it can't be tried.
async fn order(ctx: &Ctx<'_>, world: &World) -> Result<Option<Finding>, String> {
    if world.folders.is_empty() {
        return Err(
            "it reads no folder that the kit knows of: add a case with `folders` (--cases)".to_owned()
        );
    }
    match order_with(ctx, world, true).await {
        Err(_) => order_with(ctx, world, false).await,
        result => result,
    }
}

async fn order_with(ctx: &Ctx<'_>, world: &World, own: bool) -> Result<Option<Finding>, String> {
    let root = tempfile::Builder::new().tempdir_in(ORDERED);
    let root = root
        .map_err(|error| format!("there is no filesystem whose order can be changed ({ORDERED}): {error}"))?;
    let folders: Vec<(&String, Files)> =
        world.folders.iter().map(|(path, content)| (path, files(content, own))).collect();
    if folders.iter().all(|(_, files)| files.len() < 2) {
        return Err("there is no folder with two files in a case in which it brings pods: add one (--cases)"
            .to_owned());
    }
    let (mut sets, mut orders) = (Vec::new(), Vec::new());
    for turned in [false, true] {
        let folder = root.path().join(if turned { "turned" } else { "straight" });
        let mut setup = world.setup.clone();
        let mut grants = Vec::new();
        for (index, (path, files)) in folders.iter().enumerate() {
            let at = folder.join(index.to_string());
            make(&at, files, turned).map_err(|error| format!("make {path} for it: {error}"))?;
            orders.push(order_of(&at)?);
            grants.push(serde_json::json!({"path": at, "readOnly": true, "guestPath": path}));
        }
        // These folders in place of those that the kit makes.
        setup.guest_paths.retain(|path| !folders.iter().any(|(ours, _)| *ours == path));
        if setup.grants.is_null() {
            setup.grants = serde_json::json!({});
        }
        setup.grants["files"] = grants.into();
        let source = ctx.source(&setup).await.map_err(|error| error.sentence())?;
        let polled = source.poll(None).await.result;
        sets.push(set(&polled).ok_or_else(|| nothing_to_say(world, &polled))?);
    }
    let (straight, turned) = orders.split_at(folders.len());
    if straight == turned {
        return Err(format!("{ORDERED} lists files in the same order however they are made"));
    }
    let same = sets[0] == sets[1];
    Ok((!same).then(|| {
        let listed = |orders: &[Vec<String>]| orders.concat().join(", ");
        let input = format!("the same files listed as {} and as {}", listed(straight), listed(turned));
        let seen = format!("the pods {}, and then {}", names(&sets[0]), names(&sets[1]));
        Finding::new(input, seen, SET)
    }))
}

fn order_of(folder: &Path) -> Result<Vec<String>, String> {
    listed(folder).map_err(|error| format!("list {}: {error}", folder.display()))
}

/// The files of a folder, and as many of the kit's own, if they are wanted, that a source which takes one of them takes all.
fn files(content: &std::collections::BTreeMap<String, Content>, own: bool) -> Files {
    let mut files: Files = content
        .iter()
        .filter_map(|(name, content)| match content {
            Content::File(bytes) => (!name.contains('/')).then(|| (name.clone(), bytes.clone())),
            Content::Link(_) | Content::Folder(_) => None,
        })
        .collect();
    // Of the same extensions, so that they are what it reads.
    let known = |name: &str| {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_owned());
        extension.is_some_and(|extension| content.keys().any(|key| key.ends_with(&extension)))
    };
    let wanted = if own { FILES } else { 0 };
    files.extend(good(wanted).into_iter().filter(|(name, _)| known(name)));
    files
}

fn make(folder: &Path, files: &[(String, Vec<u8>)], turned: bool) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut files: Vec<(&String, &Vec<u8>)> = files.iter().map(|(name, bytes)| (name, bytes)).collect();
    if turned {
        files.reverse();
    }
    write_in_order(folder, files.into_iter())
}

#[cfg(test)]
mod tests {
    use witlet_core::config::source::{PollAnswer, SourceFault};

    use super::*;

    fn pods(names: &[&str]) -> Polled {
        let pod =
            |name: &&str| format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}"}}}}"#);
        let snapshot = Snapshot::Pods(names.iter().map(pod).collect());
        Ok(Ok(PollAnswer { snapshot, cursor: None, next_poll: None }))
    }

    fn answer(snapshot: Snapshot) -> Polled {
        Ok(Ok(PollAnswer { snapshot, cursor: None, next_poll: None }))
    }

    #[test]
    fn other_pods_are_told_and_the_same_ones_are_not() {
        let brought = set(&pods(&["a", "b"])).expect("pods");
        let fault =
            SourceFault { reason: "Unavailable".to_owned(), message: "gone".to_owned(), retry_after: None };
        let cases: Vec<(Polled, Option<&str>)> = vec![
            (pods(&["b", "a"]), None),
            (answer(Snapshot::Unchanged), None),
            (answer(Snapshot::Empty), Some("default/a, default/b before, and now empty")),
            (pods(&["a"]), Some("and now default/a")),
            (pods(&["a", "c"]), Some("default/c")),
            (Ok(Err(fault)), Some("the error Unavailable: gone")),
        ];
        for (polled, expected) in cases {
            let seen = other_pods(&polled, &brought);
            match expected {
                None => assert_eq!(seen, None),
                Some(words) => {
                    assert!(seen.as_ref().is_some_and(|seen| seen.contains(words)), "{words}: {seen:?}")
                }
            }
        }
    }

    #[test]
    fn files_of_the_kits_own_have_the_extensions_of_the_worlds() {
        let content = [("web.json".to_owned(), Content::File(b"{}".to_vec()))].into();
        assert_eq!(files(&content, false).len(), 1);
        let files = files(&content, true);
        assert_eq!(files.len(), 1 + FILES);
        assert!(files.iter().all(|(name, _)| name.ends_with(".json")));
    }
}
