//! Folders that mean harm to a reader of manifests: a good set, and next to it what can't be read; and servers.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use super::found::InputFindings;
use super::servers::HARM;
use crate::cases::model::{Case, CaseFile};
use crate::check::{Checks, Finding, Named, Tried};
use crate::ctx::Ctx;
use crate::environment::folders::{Content, FolderContent, write};
use crate::environment::servers::Behaviour;
use crate::plugin_request::PluginRequest;
use crate::plugin_response::{CallResult, Fault, ResponseKind, failure, in_words, is, names, set};
use crate::scenario::{Scenario, Stage, nothing_to_say};

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
/// Folders as the cases of a file say.
const HOSTILE: &str = include_str!("../../vectors/hostile/folders.yaml");
/// How many files a folder has that has too many.
const FILES: usize = 500;
/// What a source has for a server that never answers. It may use it up: that is an error, too.
const TIME: Duration = Duration::from_secs(2);

/// Returns what stands in a folder next to the good files.
fn besides() -> Vec<(String, FolderContent)> {
    // It is a case file: a test reads it.
    let cases = CaseFile::parse("folders.yaml", HOSTILE).map(|file| file.cases).unwrap_or_default();
    let content = |case: Case| {
        let content = case.steps.into_iter().next()?.folders.into_values().next()??;
        Some((case.name, content))
    };
    let empty = || Content::File(b"{}".to_vec());
    let many = (0..FILES).map(|number| (format!("a-{number}.json"), empty())).collect();
    cases.into_iter().filter_map(content).chain([("500 files".to_owned(), many)]).collect()
}

/// What the checks of answers found.
#[derive(Default)]
struct AnswerChecks {
    answers: InputFindings,
    empty: InputFindings,
}

impl AnswerChecks {
    fn judge(&mut self, name: &str, answered: &CallResult) {
        self.answers.add(name, name, failure(answered, PluginRequest::Poll(None).contract()));
        let is_empty = is(answered, ResponseKind::Empty);
        self.empty.add(name, name, is_empty.then(|| Fault::new(in_words(answered), NOT_EMPTY)));
    }

    fn untried(&mut self, why: String) {
        self.answers.untried(why.clone());
        self.empty.untried(why);
    }
}

/// How a folder is changed.
type Change = Box<dyn Fn(&Path) -> io::Result<()> + Send + Sync>;

/// Changes of folders, by name.
fn changes() -> Vec<(String, Change)> {
    let content = |(name, content): (String, FolderContent)| -> (String, Change) {
        (name, Box::new(move |path| write(path, &content)))
    };
    let odd = |path: &Path| std::fs::write(path.join(OsStr::from_bytes(b"a-\xff\xfe.json")), "{}");
    let others: [(String, Change); 2] = [
        ("a file whose name isn't UTF-8".to_owned(), Box::new(odd)),
        ("its folders gone".to_owned(), Box::new(|path| std::fs::remove_dir_all(path))),
    ];
    besides().into_iter().map(content).chain(others).collect()
}

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>, world: &Scenario) {
    let mut both = AnswerChecks::default();
    for (name, change) in changes() {
        if let Err(why) = changed(ctx, world, &name, change, &mut both).await {
            both.untried(why);
        }
    }
    for (name, behaviour) in HARM.into_iter().filter(|_| !world.servers.is_empty()) {
        if let Err(why) = server(ctx, world, name, behaviour, &mut both).await {
            both.untried(why);
        }
    }
    checks.named(ROLE, FOLDERS, both.answers.result());
    checks.named(ROLE, EMPTY, both.empty.result());
    checks.named(ROLE, GONE, gone(ctx, world).await);
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
    change: Change,
    both: &mut AnswerChecks,
) -> Result<(), String> {
    let (mut stage, _) = polled(ctx, world).await?;
    for path in world.folders.keys().filter_map(|path| stage.plugin.folders.path(path)) {
        if let Err(error) = change(path) {
            tracing::debug!(%error, name, "Failed to create a folder");
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
    both: &mut AnswerChecks,
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
    Ok(is(&answered, ResponseKind::Unchanged).then(|| {
        let input = format!("{}: the pods {}, and then all files gone", world.name, names(&had));
        Finding::new(input, "unchanged", NEWS)
    }))
}

#[cfg(test)]
mod tests;
