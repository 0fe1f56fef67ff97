//! Carries out what an annotation of the node chooses: brings a set of plugins, verifies and loads all of it, and has it serve. Which
//! set, and when, is decided in `witlet_core::node::plugin_set`.
//!
//! One folder holds a folder for each set, by its digest, and [`CURRENT`], which names the one that serves: a restart goes on with it
//! before the API server or the registry was asked.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::Node;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_agent::EventLog;
use witlet_core::error::one_line;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::node::plugin_set::{
    Choice, PluginSets, Refusal, SetNews, SetReference, SetReport, SetStep, choice,
};
use witlet_oci::{PLUGIN_FILE, Registries};
use witlet_ports::whole_file::replace_file;
use witlet_ports::{ComponentFetcher, ComponentReference, EventSink, NodeWatch};
use witlet_wasm::host::PluginHost;
use witlet_wasm::plugin::{counting_keys, verify_signature};

use crate::run::base::Base;
use crate::run::own_files::OwnFiles;
use crate::run::plugins;
use crate::run::trial::Trial;
use crate::settings::Settings;
use crate::settings::plugin_sets::{self, PluginSetPolicy, SetPolicyError};

#[cfg(test)]
mod tests;

/// The file that names the set that serves. It is written last, so that it never names one that isn't whole.
const CURRENT: &str = "current.json";
/// End of the name of a folder that isn't whole yet.
const UNFINISHED: &str = "part";
/// How much of [`CURRENT`] is read.
const CURRENT_BYTES_MAX: u64 = 16 << 10;

/// The set that serves, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeptSet {
    /// Its reference.
    reference: String,
    /// Id of the key that it is signed with.
    signed_by: String,
}

/// The folder of sets.
#[derive(Clone, Debug)]
struct SetFolder(PathBuf);

impl SetFolder {
    /// Nothing is made yet.
    fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The set that served last, if its plugin file is there.
    fn kept(&self) -> Option<KeptSet> {
        let text = crate::bounded::read(&self.0.join(CURRENT), CURRENT_BYTES_MAX).ok()?;
        let kept: KeptSet = serde_json::from_slice(&text).ok()?;
        let digest = kept.reference.rsplit_once('@')?.1;
        self.plugin_file(digest).is_file().then_some(kept)
    }

    /// The plugin file of the set with this digest.
    fn plugin_file(&self, digest: &str) -> PathBuf {
        self.of(digest).join(PLUGIN_FILE)
    }

    fn of(&self, digest: &str) -> PathBuf {
        self.0.join(digest.strip_prefix("sha256:").unwrap_or(digest))
    }

    /// A new empty folder for this set, until [`Self::finish`].
    fn begin(&self, digest: &str) -> io::Result<PathBuf> {
        let folder = self.of(digest).with_extension(UNFINISHED);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(folder)
    }

    /// The folder is whole.
    fn finish(&self, digest: &str) -> io::Result<()> {
        let folder = self.of(digest);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::rename(folder.with_extension(UNFINISHED), &folder)
    }

    /// This set serves now, and others go, but for the one before.
    fn keep(&self, kept: &KeptSet, before: Option<&str>) -> io::Result<()> {
        let path = self.0.join(CURRENT);
        replace_file(&path, &path.with_extension("unfinished"), &serde_json::to_vec(kept)?, 0o600)?;
        let digest = kept.reference.rsplit_once('@').map_or("", |(_, digest)| digest);
        let used: Vec<PathBuf> = [Some(digest), before].into_iter().flatten().map(|it| self.of(it)).collect();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            if path.is_dir() && !used.contains(&path) {
                fs::remove_dir_all(&path)?;
            }
        }
        Ok(())
    }

    /// No set serves any more.
    fn forget(&self) -> io::Result<()> {
        match fs::remove_file(self.0.join(CURRENT)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// What is written back, for those who show the node.
#[derive(Debug, Default)]
pub(crate) struct ShownSet(Mutex<SetReport>);

impl ShownSet {
    /// What there is to write now.
    pub(crate) fn report(&self) -> SetReport {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on there is this to write.
    pub(crate) fn set(&self, report: SetReport) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }
}

/// What sets are carried out with.
struct SetParts {
    node_name: String,
    policy: PluginSetPolicy,
    /// The plugin file that serves without a set.
    local: Option<PathBuf>,
    folder: SetFolder,
    registries: Arc<Registries>,
    trial: Trial,
    events: Arc<dyn EventSink>,
    shown: Arc<ShownSet>,
}

/// The node's object as the API server has it; none while it isn't known.
pub(crate) type NodeObject = watch::Receiver<Option<Arc<Node>>>;

/// Follows the node's choice.
pub(crate) struct SetManager {
    parts: SetParts,
    node: NodeObject,
    sets: PluginSets,
    start: Instant,
}

impl SetManager {
    /// Of a node of a cluster whose operator allows sets; none otherwise.
    ///
    /// # Errors
    /// When the operator's policy can't be taken.
    pub(crate) async fn of_node(
        settings: &Settings,
        base: &Base,
        object: Option<NodeObject>,
        (registries, node, events): (&Arc<Registries>, &Arc<dyn NodeWatch>, &Arc<EventLog>),
    ) -> Result<Option<Self>, SetPolicyError> {
        let (Some(policy), Some(object)) = (&settings.plugin_sets, object) else { return Ok(None) };
        let trial = Trial {
            compiler: plugins::compiler(settings),
            unsafe_sysctls: settings.pods.allowed_unsafe_sysctls.clone(),
            registries: registries.clone(),
            node: node.clone(),
            clock: base.clock.clone(),
            in_cluster: settings.cluster.is_some(),
        };
        let parts = SetParts {
            node_name: base.name.clone(),
            policy: plugin_sets::read(policy)?,
            local: settings.plugins.clone(),
            folder: SetFolder::new(OwnFiles::below(&settings.folders.root).plugin_sets()),
            registries: registries.clone(),
            trial,
            events: events.clone(),
            shown: Arc::default(),
        };
        Ok(Some(Self::open(parts, object).await))
    }

    /// With the set that served last, if the policy still allows it and its key still counts.
    async fn open(parts: SetParts, node: NodeObject) -> Self {
        let counting = counting_keys(&parts.policy.keys).await;
        let kept = parts.folder.kept();
        let ran = kept.as_ref().filter(|kept| counting.contains(&kept.signed_by));
        if let (Some(KeptSet { reference, .. }), None) = (&kept, ran) {
            tracing::warn!(
                set = reference,
                "The key of the set of plugins does not count any more, not using the set"
            );
        }
        let ran = ran.map(|kept| &*kept.reference);
        let sets = PluginSets::new(&parts.node_name, parts.policy.sets.clone(), ran);
        let manager = Self { parts, node, sets, start: Instant::now() };
        manager.show();
        manager
    }

    /// What is written back, as it changes.
    pub(crate) fn shown(&self) -> Arc<ShownSet> {
        self.parts.shown.clone()
    }

    /// The plugin file that serves.
    pub(crate) fn plugin_file(&self) -> Option<PathBuf> {
        match self.sets.running() {
            Some(reference) => Some(self.parts.folder.plugin_file(reference.digest())),
            None => self.parts.local.clone(),
        }
    }

    /// Follows until `stop` is cancelled.
    pub(crate) async fn run(mut self, host: Arc<PluginHost>, stop: CancellationToken) {
        let mut node = self.node.clone();
        loop {
            let chosen = choice(node.borrow_and_update().as_deref());
            let news = self.sets.choose(&chosen, self.start.elapsed());
            self.tell(news);
            let step = async {
                match self.sets.next(self.start.elapsed()) {
                    SetStep::Nothing => std::future::pending().await,
                    SetStep::Wait(until) => {
                        tokio::time::sleep_until(self.start + until).await;
                        Outcome::Waited
                    }
                    SetStep::Leave => Outcome::Left,
                    SetStep::Take(reference) => self.parts.take(&reference).await,
                }
            };
            let outcome = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // What isn't chosen any more is not brought to its end.
                () = other_choice(&mut node, &chosen) => continue,
                outcome = step => outcome,
            };
            self.follow(outcome, &host);
        }
    }

    fn follow(&mut self, outcome: Outcome, host: &PluginHost) {
        let news = match outcome {
            Outcome::Waited => None,
            Outcome::Refused(refusal, problem) => self.sets.refused(refusal, &problem, self.start.elapsed()),
            Outcome::Left => self.leave(host),
            Outcome::Loaded(kept) => {
                let before = self.sets.running().map(|before| before.digest().to_owned());
                match self.parts.folder.keep(&kept, before.as_deref()) {
                    Ok(()) => {
                        let news = self.sets.taken();
                        host.use_file(self.plugin_file());
                        news
                    }
                    Err(error) => {
                        let problem = format!("it can't be kept: {error}");
                        self.sets.refused(Refusal::NotHad, &problem, self.start.elapsed())
                    }
                }
            }
        };
        self.tell(news);
    }

    fn leave(&mut self, host: &PluginHost) -> Option<SetNews> {
        if let Err(error) = self.parts.folder.forget() {
            // The next start asks the node's object again.
            tracing::warn!(%error, "Failed to forget the set of plugins");
        }
        let news = self.sets.left();
        host.use_file(self.plugin_file());
        news
    }

    fn tell(&self, news: Option<SetNews>) {
        self.show();
        let Some(SetNews { is_warning, reason, message }) = news else { return };
        let kind = if is_warning {
            tracing::error!(error = message, "Failed to take set of plugins");
            EventType::Warning
        } else {
            let set = self.sets.running().map(SetReference::as_str);
            tracing::info!(set, "Changed set of plugins");
            EventType::Normal
        };
        self.parts.events.record(Event::new(EventObject::Node, kind, reason, message));
    }

    fn show(&self) {
        self.parts.shown.set(self.sets.report());
    }
}

/// Returns when the node chooses something else.
async fn other_choice(node: &mut NodeObject, chosen: &Choice) {
    loop {
        if node.changed().await.is_err() {
            // No one watches the node any more: the program ends.
            std::future::pending::<()>().await;
        }
        let now = choice(node.borrow_and_update().as_deref());
        if now != *chosen && now != Choice::Unknown {
            return;
        }
    }
}

/// What came of a step.
enum Outcome {
    Waited,
    Left,
    /// All of it was loaded for a trial.
    Loaded(KeptSet),
    Refused(Refusal, String),
}

impl SetParts {
    async fn take(&self, reference: &SetReference) -> Outcome {
        let named: Result<ComponentReference, _> = reference.as_str().parse();
        let named = match named {
            Ok(named) => named,
            Err(error) => return Outcome::Refused(Refusal::NotLoaded, one_line(&error)),
        };
        let kept = match self.bring(&named).await {
            Ok(signed_by) => KeptSet { reference: reference.as_str().to_owned(), signed_by },
            Err(problem) => return Outcome::Refused(Refusal::NotHad, problem),
        };
        let file = self.folder.plugin_file(reference.digest());
        match self.trial.load(&file).await {
            Ok(()) => Outcome::Loaded(kept),
            Err(problem) => Outcome::Refused(Refusal::NotLoaded, problem),
        }
    }

    /// Brings a set that one of the keys has signed into its folder; the key's id.
    async fn bring(&self, reference: &ComponentReference) -> Result<String, String> {
        let credentials = self.policy.pull_credentials.as_deref();
        let fetcher: Arc<dyn ComponentFetcher> = self.registries.clone();
        let signed = verify_signature(&self.policy.keys, reference, credentials, &fetcher).await;
        let signed = signed.map_err(|error| error.sentence())?;
        let digest = reference.digest();
        let unwritable = |error: io::Error| format!("its folder can't be made: {error}");
        let folder = self.folder.begin(digest).map_err(unwritable)?;
        let fetched = self.registries.fetch_set(reference, credentials, &folder).await;
        fetched.map_err(|error| one_line(&error))?;
        self.folder.finish(digest).map_err(unwritable)?;
        Ok(signed.key_id)
    }
}
