//! Asks shadows what handlers were asked, after the decision and on spare capacity.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use witlet_core::admission::Decision;
use witlet_core::event::EventType;

use super::Shared;
use super::admission::Purpose;
use crate::plugin::{Code, Difference, Plugin, agrees, decision_told, verdict_told};
use crate::worlds::admission::facts::RequestFacts;

/// Decided requests that shadows may still be asked about; while there are as many, others are skipped.
const QUEUE_MAX: usize = 64;
/// How long a shadow waits for a moment in which nothing is being decided; then it is asked beside.
const IDLE_WAIT_MAX: Duration = Duration::from_secs(1);
/// How often it looks for such a moment.
const IDLE_WAIT_STEP: Duration = Duration::from_millis(5);

/// A request that was decided.
pub(super) struct Question {
    pub(super) facts: Arc<RequestFacts>,
    pub(super) namespace: String,
    pub(super) decision: Decision,
    /// The set that decided, with its shadows.
    pub(super) plugins: Arc<[Arc<Plugin>]>,
}

impl Question {
    fn shadows(&self) -> impl Iterator<Item = &Arc<Plugin>> {
        self.plugins.iter().filter(|plugin| plugin.spec.is_shadow() && plugin.spec.admits_in(&self.namespace))
    }
}

/// Where decided requests go.
pub(super) struct Queue(mpsc::Sender<Question>);

/// The queue and its end.
pub(super) fn queue() -> (Queue, mpsc::Receiver<Question>) {
    let (sender, receiver) = mpsc::channel(QUEUE_MAX);
    (Queue(sender), receiver)
}

impl Queue {
    /// Never waits: what there is no room for is skipped, and counted.
    pub(super) fn push(&self, question: Question) {
        if let Err(error) = self.0.try_send(question) {
            for plugin in error.into_inner().shadows() {
                plugin.shadow().skipped();
            }
        }
    }
}

/// Asks until the host is gone.
pub(super) async fn run(shared: Weak<Shared>, mut questions: mpsc::Receiver<Question>) {
    while let Some(question) = questions.recv().await {
        for plugin in question.shadows() {
            let Some(shared) = shared.upgrade() else { return };
            shared.wait_until_idle().await;
            shared.compare(plugin, &question).await;
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

    async fn compare(&self, plugin: &Plugin, question: &Question) {
        let Question { facts, decision, .. } = question;
        // It says nothing about a shadow that the node was asked before it was there.
        if matches!(plugin.code, Code::Loading) {
            plugin.shadow().skipped();
            return;
        }
        let Ok(verdict) = self.verdict(plugin, facts, Purpose::Compare).await else {
            plugin.shadow().failed();
            return;
        };
        let agrees = agrees(&verdict, decision);
        plugin.metrics().record_shadow(agrees);
        if agrees {
            plugin.shadow().agreed();
            return;
        }
        let pod = facts.pod();
        let difference = Difference {
            pod: format!("{}/{}", question.namespace, pod.pod.metadata.name.as_deref().unwrap_or_default()),
            uid: pod.uid().to_owned(),
            time: facts.now.to_string(),
            verdict: verdict_told(&verdict),
            decision: decision_told(decision),
        };
        let name = &*plugin.spec.name;
        tracing::info!(
            plugin = name,
            pod = difference.pod,
            difference.verdict,
            difference.decision,
            "shadow differs"
        );
        let event = plugin.shadow().differed(difference, Instant::now());
        if let Some(message) = event {
            self.tell(name, EventType::Normal, "ShadowVerdictDiffers", message);
        }
    }
}
