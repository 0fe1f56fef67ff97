//! Asks shadows what handlers were asked, after the decision and on spare capacity.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use witlet_core::admission::rollout::RolloutObservation;
use witlet_core::admission::{Decision, Verdict};
use witlet_core::event::EventType;

use super::Shared;
use super::admission::Purpose;
use super::shadow_queue::{ComparedHandler, DecidedRequest};
use crate::plugin::{Code, Difference, Plugin, agrees, agrees_with, decision_summary, verdict_summary};

/// How long a shadow waits for a moment in which nothing is being decided; then it is asked next to.
const IDLE_WAIT_MAX: Duration = Duration::from_secs(1);
/// How often it looks for such a moment.
const IDLE_WAIT_STEP: Duration = Duration::from_millis(5);

/// What a verdict is compared with.
#[derive(Clone, Copy)]
enum Other<'a> {
    /// What the node decided without it.
    Decision(&'a Decision),
    /// What the handler said that has its place.
    Verdict(&'a Verdict),
}

impl Other<'_> {
    fn agrees(self, verdict: &Verdict) -> bool {
        match self {
            Self::Decision(decision) => agrees(verdict, decision),
            Self::Verdict(other) => agrees_with(verdict, other),
        }
    }

    fn summary(self) -> String {
        match self {
            Self::Decision(decision) => decision_summary(decision),
            Self::Verdict(verdict) => verdict_summary(verdict),
        }
    }
}

/// Asks until the host is gone.
pub(super) async fn run(shared: Weak<Shared>, mut requests: mpsc::Receiver<DecidedRequest>) {
    while let Some(request) = requests.recv().await {
        for plugin in request.shadows() {
            let Some(shared) = shared.upgrade() else { return };
            shared.wait_until_idle().await;
            shared.compare(plugin, &request, Other::Decision(&request.decision)).await;
        }
        for ComparedHandler { plugin, verdict } in &request.compared {
            let Some(shared) = shared.upgrade() else { return };
            shared.wait_until_idle().await;
            shared.compare(plugin, &request, Other::Verdict(verdict)).await;
        }
    }
}

impl Shared {
    async fn wait_until_idle(&self) {
        let until = Instant::now() + IDLE_WAIT_MAX;
        while self.deciding.load(Ordering::Relaxed) > 0 && Instant::now() < until {
            tokio::time::sleep(IDLE_WAIT_STEP).await;
        }
    }

    async fn compare(&self, plugin: &Plugin, request: &DecidedRequest, other: Other<'_>) {
        let facts = &request.facts;
        // It says nothing about a shadow that the node was asked before it was there.
        if matches!(plugin.code, Code::Loading) {
            plugin.shadow_skipped();
            return;
        }
        let called = self.verdict(plugin, facts, Purpose::Compare).await;
        let Ok(verdict) = called.result else {
            plugin.shadow_failed();
            return;
        };
        let agrees = other.agrees(&verdict);
        plugin.metrics().record_shadow(agrees);
        if agrees {
            plugin.shadow().agreed();
            return;
        }
        self.note_rollout(plugin, RolloutObservation::Differed);
        if let Some(recorder) = &plugin.recorder {
            recorder.differing_admission(facts, &verdict, called.measured.took);
        }
        let pod = facts.pod();
        let difference = Difference {
            pod: format!(
                "{}/{}",
                request.subject.namespace(),
                pod.pod.metadata.name.as_deref().unwrap_or_default()
            ),
            uid: pod.uid().to_owned(),
            time: facts.now.to_string(),
            verdict: verdict_summary(&verdict),
            decision: other.summary(),
        };
        let by = plugin.spec.compared_with().map(|of| format!("{of} says"));
        self.report_difference(plugin, difference, by.as_deref().unwrap_or("the node decided"));
    }

    /// Notes a difference from what `by` did, logs it, and has an event of it if it is time for one.
    pub(super) fn report_difference(&self, plugin: &Plugin, difference: Difference, by: &str) {
        let name = &*plugin.spec.name;
        tracing::info!(
            plugin = name,
            pod = difference.pod,
            pod_uid = difference.uid,
            verdict = difference.verdict,
            decision = difference.decision,
            "Shadow verdict differs"
        );
        let event = plugin.shadow().differed(difference, by, Instant::now());
        if let Some(message) = event {
            self.record_event(name, EventType::Normal, "ShadowVerdictDiffers", message);
        }
    }
}
