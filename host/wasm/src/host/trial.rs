//! A host for trying handlers out: it decides as a daemon's does, and says what each handler made of the question.

use std::sync::Arc;

use witlet_core::admission::AdmissionRequest;
use witlet_core::admission::chain::{Chain, FailurePolicy};

use super::admission::{ChainRun, Purpose};
use super::explanation::{Answers, Explanation, HandlerReport, HandlerStep};
use super::rollout::PodHandlers;
use super::{PluginHost, PluginHostConfig, Shared, StartError};
use crate::guest::LogTap;
use crate::plugin::{MatchSubject, Plugin};

impl PluginHost {
    /// As [`Self::start`], for [`Self::explain`]: a call has its time of a processor, however busy the machine is, and no
    /// failure has a handler quarantined.
    ///
    /// # Errors
    /// When nothing can work, or the configuration can't be taken.
    pub async fn start_trial(config: PluginHostConfig) -> Result<Arc<Self>, StartError> {
        Self::start_as(config, Some(LogTap::default())).await
    }

    /// Decides as [`Self::admission`] does. Shadows are asked afterwards; with `all` so are the handlers that weren't, because an
    /// earlier one decided.
    pub async fn explain(&self, request: AdmissionRequest, all: bool) -> Explanation {
        let shared = &self.shared;
        let plugins = shared.plugins();
        let subject = MatchSubject::new(&request, shared.in_cluster);
        let chain = Chain::new(&request);
        // The question's node is the newest: that of the host only fills configurations in.
        let mut asking = ChainRun::new(request, true);
        asking.answers = Some(Answers::new(shared.trial_log.clone().unwrap_or_default()));
        let (decision, decider) = shared.decide(&plugins, &subject, chain, &mut asking).await;
        let decided_by = decider.map(|plugin| plugin.spec.name.to_string());
        let places = shared.places(&plugins, &subject);
        let mut handlers = Vec::new();
        for plugin in plugins.iter() {
            let Some(failure_policy) = plugin.spec.failure_policy() else { continue };
            handlers.push(HandlerReport {
                name: plugin.spec.name.to_string(),
                builtin: plugin.spec.builtin,
                shadow: plugin.spec.is_shadow(),
                digest: plugin.code.ready().map(|loaded| loaded.digest.to_string()),
                failure_policy,
                step: shared.step((plugin, &places), failure_policy, &subject, &mut asking, all).await,
            });
        }
        Explanation { decision, decided_by, handlers }
    }
}

impl Shared {
    /// Returns what became of a decided question at this handler.
    async fn step(
        &self,
        (plugin, places): (&Plugin, &PodHandlers),
        policy: FailurePolicy,
        subject: &MatchSubject,
        asking: &mut ChainRun,
        all: bool,
    ) -> HandlerStep {
        let mismatch = plugin.spec.admission.as_ref().and_then(|role| role.matches.mismatch(subject));
        if let Some(mismatch) = mismatch {
            return HandlerStep::NotMatched { rule: mismatch.rule(), message: mismatch.sentence(subject) };
        }
        if let Some(by) = places.judged_by(plugin) {
            let message = format!("{by} judges the pod in its place");
            return HandlerStep::NotMatched { rule: "rollout".to_owned(), message };
        }
        let operation = subject.operation();
        if !plugin.answers(operation) {
            let message = format!("it doesn't answer the operation {}", operation.as_str());
            return HandlerStep::NotMatched { rule: "contract".to_owned(), message };
        }
        let Some(answers) = &mut asking.answers else { return HandlerStep::NotAsked };
        if let Some(answer) = answers.take(&plugin.spec.name) {
            return HandlerStep::Answered(answer);
        }
        if !all && !plugin.spec.is_shadow() {
            return HandlerStep::NotAsked;
        }
        let called = self.verdict(plugin, &asking.facts, Purpose::Compare).await;
        let (response, measured) = called.response(plugin, policy);
        HandlerStep::Answered(answers.answer(response, measured, false))
    }
}
