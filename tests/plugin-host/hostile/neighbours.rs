//! Honest plugins of every role, asked all the while.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use witlet_core::admission::Decision;
use witlet_core::probe::ProbeOutcome;
use witlet_core::sources::SourceUpdate;
use witlet_ports::{PodSourceSet, SOURCE_EVENTS_MAX, SourceEvent};
use witlet_wasm::host::PluginHost;

use crate::play;

/// Their names.
pub(crate) const NAMES: [&str; 3] = ["good-handler", "good-probe", "good-source"];
/// Their entries.
pub(crate) const ENTRIES: &str = "\
- {name: good-handler, component: intruder.wasm, admission: {match: {namespaces: [good]}}, limits: {timeout: 10s}, config: good}
- {name: good-probe, component: intruder.wasm, probe: {type: good-probe}, config: good}
- {name: good-source, component: intruder.wasm, podSource: {interval: 1s, allow: {namespaces: [good]}}, config: good}
";
/// How often they are asked.
const PERIOD: Duration = Duration::from_millis(50);
/// How long a probe may take: it shows that the answers are right, and the figures how late they are.
const PROBE_TIMEOUT: Duration = witlet_harness::WAIT_TIMEOUT;
/// Wrong answers that are kept for the report.
const WRONG_MAX: usize = 5;

/// What they answered.
#[derive(Clone, Default)]
pub(crate) struct Neighbours(Arc<Inner>);

#[derive(Default)]
struct Inner {
    verdicts: AtomicUsize,
    probes: AtomicUsize,
    sets: AtomicUsize,
    slowest: Mutex<[Duration; 3]>,
    wrong: Mutex<Vec<String>>,
}

impl Neighbours {
    /// Asks them until the tasks end.
    pub(crate) fn start(
        tasks: &mut JoinSet<()>,
        host: &Arc<PluginHost>,
        sources: Arc<dyn PodSourceSet>,
    ) -> Self {
        let neighbours = Self::default();
        tasks.spawn(neighbours.clone().ask_handler(host.clone()));
        tasks.spawn(neighbours.clone().ask_probe(host.clone()));
        let (sender, snapshots) = mpsc::channel(SOURCE_EVENTS_MAX);
        tasks.spawn(sources.run(sender, CancellationToken::new()));
        tasks.spawn(neighbours.clone().take_sets(snapshots));
        neighbours
    }

    /// How often each of them has answered at least.
    pub(crate) fn rounds(&self) -> usize {
        let counts =
            [&self.0.verdicts, &self.0.probes, &self.0.sets].map(|count| count.load(Ordering::Relaxed));
        counts.into_iter().min().unwrap_or_default()
    }

    /// What they answered that is wrong.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.0.wrong.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn ask_handler(self, host: Arc<PluginHost>) {
        host.ready().await;
        let admission = host.admission();
        loop {
            let began = Instant::now();
            let decision = admission.admit(play::request("good")).await;
            self.note(0, &self.0.verdicts, began);
            if !matches!(&decision, Decision::Reject { message, .. } if message.contains("good")) {
                self.wrong(format!("the good handler says {decision:?}"));
            }
            sleep(PERIOD).await;
        }
    }

    async fn ask_probe(self, host: Arc<PluginHost>) {
        host.ready().await;
        let probes = host.probes();
        loop {
            let began = Instant::now();
            let found = probes.probe(&play::probe("good-probe", PROBE_TIMEOUT)).await;
            self.note(1, &self.0.probes, began);
            if found != Ok(ProbeOutcome::Failure("good".to_owned())) {
                self.wrong(format!("the good probe finds {found:?}"));
            }
            sleep(PERIOD).await;
        }
    }

    /// The good source has another set at each poll; those of the others aren't checked.
    async fn take_sets(self, mut snapshots: mpsc::Receiver<SourceEvent>) {
        let mut last = Instant::now();
        let mut polls = 0;
        while let Some(SourceEvent { source, update }) = snapshots.recv().await {
            let SourceUpdate::Replaced { pods, .. } = update else { continue };
            if source.as_str() != "good-source" {
                continue;
            }
            self.note(2, &self.0.sets, last);
            last = Instant::now();
            let reported = pods.first().and_then(|pod| pod.metadata.annotations.as_ref()?.get("polls"));
            polls += 1;
            if pods.len() != 1 || reported != Some(&polls.to_string()) {
                self.wrong(format!("the good source has {reported:?} at its poll {polls}"));
            }
        }
        self.wrong("no one polls the sources any more".to_owned());
    }

    fn note(&self, which: usize, count: &AtomicUsize, began: Instant) {
        count.fetch_add(1, Ordering::Relaxed);
        let mut slowest = self.0.slowest.lock().unwrap_or_else(PoisonError::into_inner);
        slowest[which] = slowest[which].max(began.elapsed());
    }

    fn wrong(&self, what: String) {
        let mut wrong = self.0.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.len() < WRONG_MAX {
            wrong.push(format!("  {what}"));
        }
    }
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let Inner { verdicts, probes, sets, .. } = &*self.0;
        let slowest = *self.0.slowest.lock().unwrap_or_else(PoisonError::into_inner);
        let [verdict, probe, set] = slowest.map(|time| time.as_secs_f64() * 1e3);
        write!(
            f,
            "{} good verdicts (slowest {verdict:.0} ms), {} good probes ({probe:.0} ms), {} good sets ({set:.0} ms apart \
             at most)",
            count(verdicts),
            count(probes),
            count(sets)
        )
    }
}
