//! Carries out what an annotation of the node chooses: brings a set of plugins, verifies and loads all of it, and has it serve. Which
//! set, and when, is decided in `witlet_core::node::plugin_set`.
//!
//! What serves is kept on the disk: a restart goes on with it before the API server or the registry was asked.

mod code;
mod folder;
mod policy;
mod shown;
mod take;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_agent::EventLog;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::node::plugin_set::{Choice, PluginSets, Refusal, SetNews, SetReference, SetStep, choice};
use witlet_oci::{Registries, StoreError};
use witlet_ports::{Clock, ComponentFetcher, EventSink, NodeWatch};
use witlet_wasm::host::{PluginFile, PluginHost};

use crate::run::base::Base;
use crate::run::own_files::OwnFiles;
use crate::run::plugins;
use crate::run::trial::Trial;
use crate::settings::Settings;

use folder::{KeptSet, SetFolder, blocking};
use policy::{KnownPolicy, PolicyChange, PolicyFiles};
pub(crate) use shown::ShownSet;
use take::{Outcome, Steps};

#[cfg(test)]
mod tests;

/// Why sets of plugins can't be followed.
#[derive(Debug, Error)]
pub(crate) enum SetsError {
    /// The folder of sets can't be used.
    #[error("failed to open the folder of sets of plugins")]
    Folder(#[from] StoreError),
}

/// What has a plugin file serve.
pub(crate) trait ServesFile: Send + Sync {
    /// Has this file serve in place of the one before, or no file.
    fn use_file(&self, file: PluginFile);
}

impl ServesFile for PluginHost {
    fn use_file(&self, file: PluginFile) {
        Self::use_file(self, file);
    }
}

/// The node's object as the API server has it; none while it isn't known.
pub(crate) type NodeObject = watch::Receiver<Option<Arc<Node>>>;

/// What sets are carried out with.
struct SetParts {
    node_name: String,
    policy_files: PolicyFiles,
    own: OwnFiles,
    steps: Steps,
    clock: Arc<dyn Clock>,
    events: Arc<dyn EventSink>,
    shown: Arc<ShownSet>,
}

/// Follows the node's choice.
pub(crate) struct SetManager {
    parts: SetParts,
    node: NodeObject,
    sets: PluginSets,
    policy: KnownPolicy,
    /// Id of the key by which the set was taken that runs.
    signed_by: Option<String>,
    /// Digest of the set that ran before: the host may still read it.
    before: Option<String>,
    start: Instant,
}

/// What ends a wait.
enum Change {
    Step(Outcome),
    Policy(PolicyChange),
}

impl SetManager {
    /// Of a node of a cluster whose operator allows sets; none otherwise.
    ///
    /// # Errors
    /// When the folder of sets can't be used.
    pub(crate) async fn of_node(
        settings: &Settings,
        base: &Base,
        object: Option<NodeObject>,
        (registries, node, events): (&Arc<Registries>, &Arc<dyn NodeWatch>, &Arc<EventLog>),
    ) -> Result<Option<Self>, SetsError> {
        let (Some(policy), Some(object)) = (&settings.plugin_sets, object) else {
            // What a set brought before doesn't count without a policy that allows it.
            code::forget(plugins::compiler(settings), Vec::new()).await;
            return Ok(None);
        };
        let trial = Trial {
            compiler: plugins::compiler(settings),
            unsafe_sysctls: settings.pods.allowed_unsafe_sysctls.clone(),
            registries: registries.clone(),
            node: node.clone(),
            clock: base.clock.clone(),
            in_cluster: settings.cluster.is_some(),
        };
        let own = OwnFiles::below(&settings.folders.root);
        let steps = Steps {
            local: settings.plugins.clone(),
            folder: SetFolder::open(own.plugin_sets())?,
            registries: registries.clone(),
            trial,
        };
        let parts = SetParts {
            node_name: base.name.clone(),
            policy_files: PolicyFiles { file: policy.clone(), kept: own.plugin_set_policy() },
            own,
            steps,
            clock: base.clock.clone(),
            events: events.clone(),
            shown: Arc::default(),
        };
        Ok(Some(Self::open(parts, object).await))
    }

    /// With the set that served last, if the policy still allows it, its key still counts and each byte of it is there.
    async fn open(parts: SetParts, node: NodeObject) -> Self {
        let policy = KnownPolicy::first(&parts.policy_files).await;
        code::forget(parts.steps.trial.compiler.clone(), policy.keys_of_code()).await;
        let folder = parts.steps.folder.clone();
        let read = blocking(move || {
            let kept = folder.kept();
            let is_whole = kept.as_ref().is_some_and(|kept| folder.is_whole(kept.digest()));
            Ok((kept, is_whole))
        });
        let (kept, is_whole) = read.await.unwrap_or_default();
        let ran = kept.as_ref().filter(|kept| policy.key_ids.contains(&kept.signed_by));
        if let (Some(KeptSet { reference, .. }), None) = (&kept, ran) {
            tracing::warn!(
                set = reference,
                "The key of the plugin set is no longer trusted, not using the set"
            );
        }
        let (damaged, ran) = (ran.filter(|_| !is_whole), ran.filter(|_| is_whole));
        if let Some(KeptSet { reference, .. }) = damaged {
            tracing::error!(set = reference, "The plugin set of the last run is damaged, not using it");
        }
        let reference = ran.map(|kept| &*kept.reference);
        let sets = PluginSets::new(&parts.node_name, policy.policy.sets.clone(), reference)
            .with_damaged(damaged.map(KeptSet::digest));
        let signed_by = ran.map(|kept| kept.signed_by.clone());
        if let Some(kept) = ran {
            parts.shown.code(parts.steps.code().there(kept, &policy.policy).await);
        }
        let manager = Self { parts, node, sets, policy, signed_by, before: None, start: Instant::now() };
        manager.show();
        if let Some(problem) = &manager.policy.problem {
            manager.policy_refused(problem);
        }
        manager
    }

    fn policy_refused(&self, problem: &str) {
        let message = format!("{problem}; keeping the last policy");
        tracing::error!(error = message, "Rejected plugin set policy, keeping the last one");
        self.record(EventType::Warning, "PluginSetPolicyInvalid", message);
    }

    /// Returns what is written back, as it changes.
    pub(crate) fn shown(&self) -> Arc<ShownSet> {
        self.parts.shown.clone()
    }

    /// The plugin file that serves.
    pub(crate) fn plugin_file(&self) -> PluginFile {
        let Steps { local, folder, .. } = &self.parts.steps;
        match self.sets.running() {
            Some(reference) => PluginFile {
                path: Some(folder.plugin_file(reference.digest())),
                last_good_folder: Some(self.parts.own.last_good_set()),
            },
            None => self.parts.own.local_plugin_file(local.clone()),
        }
    }

    /// Follows until `stop` is cancelled.
    pub(crate) async fn run(mut self, host: Arc<dyn ServesFile>, stop: CancellationToken) {
        let mut node = self.node.clone();
        // It goes on through all changes, so that none of them puts off a check of the policy.
        let mut ticks = policy::ticks();
        loop {
            let chosen = choice(node.borrow_and_update().as_deref());
            let news = self.sets.choose(&chosen, self.start.elapsed());
            self.tell(news);
            let policy = {
                let running = self.sets.running().map(SetReference::as_str).zip(self.signed_by.as_deref());
                let known = (&self.parts.policy_files, &self.policy);
                let fetcher: Arc<dyn ComponentFetcher> = self.parts.steps.registries.clone();
                policy::changed(&mut ticks, known, running, fetcher)
            };
            let change = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // What isn't chosen any more is not brought to its end.
                () = other_choice(&mut node, &chosen) => continue,
                change = policy => Change::Policy(change),
                outcome = self.step() => Change::Step(outcome),
            };
            match change {
                Change::Step(outcome) => self.follow(outcome, &*host).await,
                Change::Policy(change) => self.follow_policy(change).await,
            }
        }
    }

    async fn step(&self) -> Outcome {
        match self.sets.next(self.start.elapsed()) {
            SetStep::Nothing => std::future::pending().await,
            SetStep::Wait(until) => {
                tokio::time::sleep_until(self.start + until).await;
                Outcome::Waited
            }
            SetStep::Leave => self.parts.steps.leave(),
            SetStep::Take(reference) => {
                self.parts.steps.take(&reference, &self.policy.policy, self.used()).await
            }
        }
    }

    /// Digests of the sets whose files may be read.
    fn used(&self) -> Vec<String> {
        let running = self.sets.running().map(|running| running.digest().to_owned());
        running.into_iter().chain(self.before.clone()).collect()
    }

    async fn follow(&mut self, outcome: Outcome, host: &dyn ServesFile) {
        let now = self.start.elapsed();
        let news = match outcome {
            Outcome::Waited => None,
            Outcome::Refused(refusal, problem) => self.refused(refusal, &problem),
            Outcome::Left => self.leave(host).await,
            Outcome::NotLeft(problem) => self.sets.not_left(&problem, now),
            Outcome::Loaded(kept, code) => match self.keep(kept.clone()).await {
                Ok(()) => {
                    self.before = self.sets.running().map(|before| before.digest().to_owned());
                    self.signed_by = Some(kept.signed_by);
                    self.parts.shown.code(code);
                    let news = self.sets.taken();
                    self.parts.shown.attempted(None, self.parts.clock.now());
                    host.use_file(self.plugin_file());
                    news
                }
                Err(error) => self.refused(Refusal::NotHad, &format!("failed to store it: {error}")),
            },
        };
        self.tell(news);
    }

    fn refused(&mut self, refusal: Refusal, problem: &str) -> Option<SetNews> {
        self.parts.shown.attempted(Some(refusal), self.parts.clock.now());
        self.sets.refused(refusal, problem, self.start.elapsed())
    }

    async fn keep(&self, kept: KeptSet) -> std::io::Result<()> {
        let (folder, mut used) = (self.parts.steps.folder.clone(), self.used());
        // The one before the one that still runs isn't read any more.
        used.retain(|digest| self.before.as_ref() != Some(digest));
        blocking(move || {
            folder.keep(&kept)?;
            used.push(kept.digest().to_owned());
            folder.prune(&used);
            Ok(())
        })
        .await
    }

    async fn leave(&mut self, host: &dyn ServesFile) -> Option<SetNews> {
        let folder = self.parts.steps.folder.clone();
        if let Err(error) = blocking(move || folder.forget()).await {
            // The next start asks the node's object again.
            tracing::warn!(%error, "Failed to remove the record of the plugin set");
        }
        self.before = self.sets.running().map(|before| before.digest().to_owned());
        self.signed_by = None;
        let news = self.sets.left();
        host.use_file(self.plugin_file());
        news
    }

    /// The operator's policy, or its keys, are others.
    async fn follow_policy(&mut self, change: PolicyChange) {
        let now = self.start.elapsed();
        let PolicyChange { policy, signer } = change;
        if let Some(problem) = policy.problem.as_ref().filter(|_| policy.problem != self.policy.problem) {
            self.policy_refused(problem);
        } else if policy.problem.is_none() {
            tracing::info!("Read plugin set policy");
        }
        self.policy = policy;
        code::forget(self.parts.steps.trial.compiler.clone(), self.policy.keys_of_code()).await;
        self.sets.use_policy(self.policy.policy.sets.clone(), now);
        match (signer, self.sets.running().map(|running| running.as_str().to_owned())) {
            (Some(Ok(signed_by)), Some(reference)) => {
                if let Err(error) = self.keep(KeptSet { reference, signed_by: signed_by.clone() }).await {
                    // The next start takes the set as one whose key doesn't count.
                    tracing::warn!(%error, "Failed to save the key of the plugin set");
                }
                self.signed_by = Some(signed_by);
            }
            (Some(Err(problem)), Some(_)) => self.sets.distrust(&problem, now),
            (Some(_), None) | (None, _) => {}
        }
    }

    fn tell(&self, news: Option<SetNews>) {
        self.show();
        let Some(SetNews { is_warning, reason, message }) = news else { return };
        let kind = if is_warning {
            tracing::error!(error = message, "Failed to apply plugin set");
            EventType::Warning
        } else {
            let set = self.sets.running().map(SetReference::as_str);
            tracing::info!(set, "Changed plugin set");
            EventType::Normal
        };
        self.record(kind, reason, message);
    }

    fn record(&self, kind: EventType, reason: &str, message: String) {
        self.parts.events.record(Event::new(EventObject::Node, kind, reason, message));
    }

    fn show(&self) {
        self.parts.shown.set(&self.sets);
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
