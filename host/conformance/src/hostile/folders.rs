//! Folders that mean harm to whoever reads manifests from them: a good set, and beside it what can't be read; and servers.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use super::found::Found;
use super::inputs::deep_json;
use super::servers::HARM;
use crate::answer::{AnswerKind, Answered, failure, is, names, set, told};
use crate::check::{Checks, Finding, Named, Tried};
use crate::ctx::Ctx;
use crate::question::Question;
use crate::scenario::{Scenario, Stage, nothing_to_say};
use crate::scene::servers::Behaviour;

const ROLE: Role = Role::PodSource;
/// Finds `trap-on-a-broken-file`, `reads-files-of-any-size`, `follows-any-name`, `source-recurses`, `error-without-reason`.
const FOLDERS: Named = ("hostile/folders", "whatever is in a folder, there is an answer");
/// Finds `empty-on-error`.
const EMPTY: Named = ("hostile/empty-on-error", "what can't be read isn't empty");
/// Finds `unchanged-for-any-cursor`.
const GONE: Named = ("hostile/pods-gone", "pods that are gone aren't unchanged");
const NOT_EMPTY: &str = "snapshot.empty: nothing to tell and nothing there are different things: pods of a source that says `empty` end. \
                         What it can't read is an error, and its last pods go on";
const NEWS: &str = "source.poll: what the source has now; `unchanged` is the same as at the last poll that gave pods or `empty`";
/// Larger than any manifest.
const HUGE_BYTES: usize = 8 << 20;
/// How many files a folder has that has too many.
const FILES: usize = 500;
/// What a source has for a server that never answers. It may use it up: that is an error, too.
const TIME: Duration = Duration::from_secs(2);

/// What stands in a folder beside the good files.
#[derive(Clone, Debug)]
enum Beside {
    File(Vec<u8>),
    Link(&'static str),
    Folder,
    /// So many files with nothing but an empty object in them.
    Files(usize),
}

/// What stands beside the good files: words for people, the name in the folder, and what it is. A name that ends with a point is
/// there as JSON and as YAML, so that a source of either looks at it.
fn besides() -> Vec<(&'static str, &'static [u8], Beside)> {
    let text = |text: &str| Beside::File(text.as_bytes().to_vec());
    vec![
        ("a file of half an object", b"a-broken.", text("{\"apiVersion\": ")),
        ("an empty file", b"a-empty.", text("")),
        ("a file that isn't UTF-8", b"a-binary.", Beside::File(vec![0xff, 0xfe, 0x00, 0xc3])),
        ("a file of nothing but null", b"a-null.", text("null")),
        ("a file of text", b"a-text.", text("\"text\"")),
        ("a file of deeply nested JSON", b"a-deep.", text(&deep_json())),
        ("a file of 8 MiB", b"a-huge.", Beside::File(vec![b' '; HUGE_BYTES])),
        (
            "a file of another kind",
            b"a-other.",
            text(r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}"#),
        ),
        ("a file without an extension", b"README", text("read me")),
        ("a file whose name is hidden", b".hidden.json", text("{")),
        ("a file whose name is nothing but an extension", b".json", text("{")),
        ("a file whose name isn't UTF-8", b"a-\xff\xfe.json", text("{}")),
        ("a file whose name has ends of lines", b"a\n\t.json", text("{}")),
        ("a file whose name has letters of four bytes", "🦀🦀.json".as_bytes(), text("{}")),
        ("a folder that is named as a file", b"a-folder.json", Beside::Folder),
        ("a link that leads nowhere", b"a-nowhere.json", Beside::Link("nobody.json")),
        ("a link to itself", b"a-loop.json", Beside::Link("a-loop.json")),
        ("a link out of the folder", b"a-out.json", Beside::Link("/etc/hostname")),
        ("500 files", b"", Beside::Files(FILES)),
    ]
}

/// Writes it beside what a folder has.
///
/// # Errors
///
/// When the filesystem doesn't take it: not every one takes every name.
fn write(folder: &Path, name: &[u8], beside: &Beside) -> io::Result<()> {
    let at = folder.join(OsStr::from_bytes(name));
    match beside {
        Beside::File(bytes) => std::fs::write(at, bytes),
        Beside::Link(target) => std::os::unix::fs::symlink(target, at),
        Beside::Folder => std::fs::create_dir(at),
        Beside::Files(count) => {
            (0..*count).try_for_each(|number| std::fs::write(folder.join(format!("a-{number}.json")), b"{}"))
        }
    }
}

/// What the checks of answers found.
#[derive(Default)]
struct Both {
    answers: Found,
    empty: Found,
}

impl Both {
    fn judge(&mut self, name: &str, answered: &Answered) {
        let fault = failure(answered, Question::Poll(None).contract());
        self.answers.add(name, fault.map(|(seen, contract)| Finding::new(name, seen, contract)));
        let is_empty = is(answered, AnswerKind::Empty);
        self.empty.add(name, is_empty.then(|| Finding::new(name, told(answered), NOT_EMPTY)));
    }

    fn untried(&mut self, why: String) {
        self.answers.untried(why.clone());
        self.empty.untried(why);
    }
}

/// Examines a source.
pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>, world: &Scenario) {
    let mut both = Both::default();
    for (name, file, beside) in besides() {
        let kinds = if file.ends_with(b".") { &["json", "yaml"][..] } else { &[""] };
        for kind in kinds {
            let put = |path: &Path| write(path, &[file, kind.as_bytes()].concat(), &beside);
            let name = format!("{name} {kind}");
            if let Err(why) = changed(ctx, world, name.trim_end(), put, &mut both).await {
                both.untried(why);
            }
        }
    }
    let remove = |path: &Path| std::fs::remove_dir_all(path);
    if let Err(why) = changed(ctx, world, "its folders gone", remove, &mut both).await {
        both.untried(why);
    }
    for (name, behaviour) in HARM {
        if !world.servers.is_empty()
            && let Err(why) = server(ctx, world, name, behaviour, &mut both).await
        {
            both.untried(why);
        }
    }
    checks.add(ROLE, FOLDERS.0, FOLDERS.1, both.answers.result());
    checks.add(ROLE, EMPTY.0, EMPTY.1, both.empty.result());
    let tried = gone(ctx, world).await;
    checks.add(ROLE, GONE.0, GONE.1, tried);
}

/// The source in its world, after a poll that brought pods, and which.
async fn polled(ctx: &Ctx<'_>, world: &Scenario) -> Result<(Stage, Vec<String>), String> {
    let mut stage = world.stage(ctx).await?;
    let first = stage.ask().await.result;
    let had = set(&first).ok_or_else(|| nothing_to_say(world, &first))?;
    Ok((stage, had))
}

/// Changes each folder, and asks twice: as after the last poll, and as at the first one.
async fn changed(
    ctx: &Ctx<'_>,
    world: &Scenario,
    name: &str,
    change: impl Fn(&Path) -> io::Result<()>,
    both: &mut Both,
) -> Result<(), String> {
    let (mut stage, _) = polled(ctx, world).await?;
    for path in world.folders.keys().filter_map(|path| stage.plugin.folders.path(path)) {
        if let Err(error) = change(path) {
            tracing::debug!(%error, name, "a folder that can't be made here");
            return Ok(());
        }
    }
    for cursor in [stage.cursor.clone(), None] {
        stage.cursor = cursor;
        both.judge(name, &stage.ask().await.result);
    }
    Ok(())
}

async fn server(
    ctx: &Ctx<'_>,
    world: &Scenario,
    name: &str,
    behaviour: Behaviour,
    both: &mut Both,
) -> Result<(), String> {
    let harmed = world.with(|world| {
        world.servers.iter_mut().for_each(|server| *server = server.harmed(behaviour));
        world.setup.timeout = TIME;
    });
    match harmed.stage(ctx).await?.ask().await.result {
        // It has waited for news as long as it may.
        Err(CallError::Timeout { .. }) => {}
        answered => both.judge(name, &answered),
    }
    Ok(())
}

/// Takes all files away, and asks with the cursor of when they were there.
async fn gone(ctx: &Ctx<'_>, world: &Scenario) -> Tried {
    if world.folders.is_empty() || !world.servers.is_empty() {
        return Err(
            "its pods don't come from folders that the kit knows of: add a case with `folders` (--cases)"
                .to_owned(),
        );
    }
    let (mut stage, had) = polled(ctx, world).await?;
    let folders = world.folders.keys().map(|path| (path.clone(), Some(Default::default()))).collect();
    stage.set(&folders, None).await.map_err(|error| format!("empty its folders: {error}"))?;
    let answered = stage.ask().await.result;
    Ok(is(&answered, AnswerKind::Unchanged).then(|| {
        let input = format!("{}: the pods {}, and then all files gone", world.name, names(&had));
        Finding::new(input, "unchanged", NEWS).repeated_by("--only hostile")
    }))
}

#[cfg(test)]
mod tests;
