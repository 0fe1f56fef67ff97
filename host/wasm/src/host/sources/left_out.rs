//! Pods that a source named and that aren't run, until the source knows them.

use std::future::pending;

use tokio::time::{Instant, sleep_until};
use witlet_core::sources::plugin::{LeftOutPod, PodNews};
use witlet_ports::{NotifyRetry, SourceNotifyError};

/// How many wait for a source that doesn't listen; older ones go first.
const UNTOLD_MAX: usize = 1024;

/// Left-out pods that have not been reported to their source yet.
#[derive(Debug, Default)]
pub(super) struct UntoldPods {
    pods: Vec<LeftOutPod>,
    /// When it is notified; none while there is nothing to tell.
    at: Option<Instant>,
    /// In a row.
    failures: u32,
}

impl UntoldPods {
    /// Notes more of them. They wait as long as those before them.
    pub(super) fn add(&mut self, pods: Vec<LeftOutPod>, now: Instant) {
        if pods.is_empty() {
            return;
        }
        self.pods.retain(|known| !pods.iter().any(|pod| is_same(known, pod)));
        self.pods.extend(pods);
        let beyond = self.pods.len().saturating_sub(UNTOLD_MAX);
        self.pods.drain(..beyond);
        self.at.get_or_insert(now);
    }

    /// Ends when it is time to tell; never while there is nothing to tell.
    pub(super) async fn due(&self) {
        match self.at {
            Some(at) => sleep_until(at).await,
            None => pending().await,
        }
    }

    pub(super) fn news(&self) -> Vec<PodNews> {
        self.pods.iter().cloned().map(PodNews::LeftOut).collect()
    }

    /// The source took them, or didn't. It is notified again in any case: pods that are left out change nothing else.
    pub(super) fn reported(&mut self, result: &Result<(), SourceNotifyError>, now: Instant) {
        match result {
            Ok(()) => *self = Self::default(),
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                let delay = error.retry.delay(self.failures);
                self.at = Some(now + delay.or(NotifyRetry::BackOff.delay(self.failures)).unwrap_or_default());
            }
        }
    }
}

/// Whether they are about the same pod: the newest counts. Of a manifest that has no name each is about another.
fn is_same(one: &LeftOutPod, other: &LeftOutPod) -> bool {
    match one.name.is_empty() {
        true => one == other,
        false => (&one.namespace, &one.name) == (&other.namespace, &other.name),
    }
}

#[cfg(test)]
mod tests {
    //! What a source is notified of, and how often.

    use std::time::Duration;

    use super::*;

    fn refused(retry: NotifyRetry) -> Result<(), SourceNotifyError> {
        Err(SourceNotifyError { message: "no".to_owned(), retry })
    }

    fn pod(name: &str, message: &str) -> LeftOutPod {
        LeftOutPod {
            namespace: "default".to_owned(),
            name: name.to_owned(),
            reason: "PodForbidden".to_owned(),
            message: message.to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_is_notified_until_it_takes_it() {
        let began = Instant::now();
        let mut untold = UntoldPods::default();
        untold.add(vec![pod("a", "no"), pod("b", "no")], began);
        untold.due().await;
        assert_eq!(began.elapsed(), Duration::ZERO, "at once");
        untold.reported(&refused(NotifyRetry::BackOff), Instant::now());
        untold.add(
            vec![pod("a", "never"), pod("", "manifest 1: no"), pod("", "manifest 2: no")],
            Instant::now(),
        );
        untold.due().await;
        assert_eq!(began.elapsed().as_secs(), 1, "those that came later wait, too");
        let reported: Vec<_> = untold.pods.iter().map(|pod| (&*pod.name, &*pod.message)).collect();
        assert_eq!(reported, [("b", "no"), ("a", "never"), ("", "manifest 1: no"), ("", "manifest 2: no")]);
        assert_eq!(untold.news().len(), 4);
        let later = NotifyRetry::After(Duration::from_secs(30));
        untold.reported(&refused(later), Instant::now());
        untold.due().await;
        assert_eq!(began.elapsed().as_secs(), 31);
        untold.reported(&refused(NotifyRetry::WithNextChange), Instant::now());
        untold.due().await;
        assert_eq!(began.elapsed().as_secs(), 35, "the third failure");
        untold.reported(&Ok(()), Instant::now());
        assert!(untold.at.is_none() && untold.news().is_empty());
        untold.add(Vec::new(), Instant::now());
        assert!(untold.at.is_none(), "nothing is no news");
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut untold = UntoldPods::default();
        let many = (0..UNTOLD_MAX + 5).map(|number| pod(&number.to_string(), "no")).collect();
        untold.add(many, Instant::now());
        assert_eq!((untold.pods.len(), &*untold.pods[0].name), (UNTOLD_MAX, "5"));
    }
}
