//! What holds in any story of a pod.

use proptest::prelude::*;

use super::*;

fn any_event() -> impl Strategy<Value = (Event, bool, bool)> {
    let arrival = (any::<bool>(), any::<bool>());
    let arrival = arrival.prop_map(|(is_remembered, has_remains)| Arrival { is_remembered, has_remains });
    let kill = (any::<bool>(), proptest::option::of(0i64..60));
    let kill = kill.prop_map(|(evict, grace_seconds)| Event::Kill(KillOptions { evict, grace_seconds }));
    let outcome = prop_oneof![Just(Outcome::Done), Just(Outcome::Failed), Just(Outcome::PodEnded)];
    let event = prop_oneof![
        3 => arrival.prop_map(Event::Added),
        2 => Just(Event::Changed),
        2 => any::<bool>().prop_map(|may_end| Event::Removed { may_end }),
        1 => Just(Event::Undesired),
        1 => (0i64..60).prop_map(|grace_seconds| Event::Orphaned { grace_seconds }),
        2 => Just(Event::Admitted),
        1 => Just(Event::Rejected),
        1 => any::<bool>().prop_map(|is_alive| Event::Deferred { is_alive }),
        1 => Just(Event::WaitsForCapacity),
        1 => Just(Event::CapacitySettled),
        1 => Just(Event::Granted),
        2 => Just(Event::SyncRequested),
        1 => kill,
        6 => outcome.prop_map(Event::WorkEnded),
        1 => Just(Event::StartDenied),
        2 => Just(Event::Cleared),
        1 => Just(Event::RemainsGone),
    ];
    (event, any::<bool>(), any::<bool>())
}

fn rank(life: &Lifecycle) -> Option<(u8, i64)> {
    life.worker.as_ref().map(|worker| match worker.state() {
        WorkerState::Syncing => (0, i64::MAX),
        WorkerState::Terminating { grace_seconds, .. } => (1, -grace_seconds),
        WorkerState::Terminated { .. } => (2, 0),
        WorkerState::Finished => (3, 0),
    })
}

/// The agent around a life: it runs what it is given, one piece at a time, and knows whether a source has the pod.
#[derive(Default)]
struct Agent {
    life: Lifecycle,
    has_source: bool,
    at_work: bool,
}

impl Agent {
    /// Feeds an event of a story in, unless it can't happen now.
    fn feed_if_possible(&mut self, event: Event, pod: Pod) -> Result<(), TestCaseError> {
        let is_possible = match event {
            Event::Added(_) => !self.has_source,
            Event::Orphaned { .. } => self.life.is_gone() || self.life.need() == Need::Undesired,
            Event::WorkEnded(_) | Event::StartDenied => self.at_work,
            _ => true,
        };
        if is_possible {
            self.handle(event, &facts(Some(pod)))?;
        }
        Ok(())
    }

    /// Feeds the event in.
    fn handle(&mut self, event: Event, facts: &Facts) -> Result<Vec<Effect>, TestCaseError> {
        match event {
            Event::Added(_) => self.has_source = true,
            Event::Removed { .. } => self.has_source = false,
            _ => {}
        }
        let facts = Facts { pod: facts.pod.clone().filter(|_| self.has_source), ..facts.clone() };
        let (before, had) = (rank(&self.life), self.life.worker.is_some());
        let ends_work = matches!(event, Event::WorkEnded(_) | Event::StartDenied);
        if ends_work {
            self.at_work = false;
        }
        let effects = self.life.transition(event, &facts);
        prop_assert_eq!(self.life.stage.is_some(), self.has_source, "a stage is a source's");
        let runs = effects.iter().filter(|effect| matches!(effect, Effect::Run(_))).count();
        prop_assert!(runs <= usize::from(!self.at_work), "one piece of work at a time");
        self.at_work |= runs == 1;
        if let (Some((before, grace)), Some((after, now))) = (before, rank(&self.life)) {
            prop_assert!(after >= before, "an end is never taken back");
            prop_assert!(after != before || before != 1 || now >= grace, "a grace only shrinks");
        }
        let forgets = effects.iter().filter(|effect| matches!(effect, Effect::Forget)).count();
        prop_assert!(forgets == 0 || (forgets == 1 && self.life.is_gone()));
        let finished = effects.iter().filter(|effect| matches!(effect, Effect::Finished)).count();
        prop_assert!(
            finished == 0 || (finished == 1 && before.is_none_or(|(rank, _)| rank < 3)),
            "an end is one"
        );
        prop_assert!(had || !ends_work || effects.is_empty());
        prop_assert!(!self.life.waits_for_capacity || self.has_source);
        Ok(effects)
    }
}

proptest! {
    #[test]
    fn no_story_takes_an_end_back_runs_two_things_at_once_or_leaves_a_pod_stuck(
        story in proptest::collection::vec(any_event(), 0..160)
    ) {
        let mut agent = Agent::default();
        for (event, is_deleted, runs_once) in story {
            let pod = if is_deleted { deleted(pod(runs_once)) } else { pod(runs_once) };
            agent.feed_if_possible(event, pod)?;
        }
        // Now its source removes it, and everything works.
        let mut forgotten = agent.life.is_gone();
        if agent.has_source {
            let effects = agent.handle(Event::Removed { may_end: true }, &facts(None))?;
            forgotten = effects.iter().any(|effect| matches!(effect, Effect::Forget));
        }
        for _ in 0..12 {
            let event = match &agent.life.worker {
                None => break,
                Some(worker) if worker.is_running() => Event::WorkEnded(Outcome::Done),
                Some(worker) if worker.is_finished() => Event::Cleared,
                Some(worker) if worker.is_terminating() => Event::SyncRequested,
                Some(_) => Event::Undesired,
            };
            let effects = agent.handle(event, &facts(None))?;
            forgotten |= effects.iter().any(|effect| matches!(effect, Effect::Forget));
        }
        prop_assert!(agent.life.is_gone() && forgotten, "stuck at {}", show(&agent.life));
    }

    #[test]
    fn a_pod_that_stays_desired_comes_to_run_or_has_ended_or_was_rejected(
        story in proptest::collection::vec(any_event(), 0..160)
    ) {
        let mut agent = Agent::default();
        for (event, _, _) in story {
            agent.feed_if_possible(event, pod(true))?;
        }
        let desired = facts(Some(pod(true)));
        if !agent.has_source {
            agent.handle(Event::Added(Arrival::default()), &desired)?;
        }
        for _ in 0..16 {
            let event = match (agent.life.stage, &agent.life.worker) {
                (_, Some(worker)) if worker.is_running() => Event::WorkEnded(Outcome::Done),
                (_, Some(worker)) if worker.is_finished() => Event::Cleared,
                (Some(Stage::Waiting | Stage::GoesOn), _) => Event::Admitted,
                (Some(Stage::Returning), None) => Event::RemainsGone,
                _ => Event::SyncRequested,
            };
            agent.handle(event, &desired)?;
        }
        let state = agent.life.worker.as_ref().map(Worker::state);
        let is_settled = match agent.life.stage {
            Some(Stage::Admitted) => matches!(state, Some(WorkerState::Syncing | WorkerState::Finished)),
            Some(Stage::Rejected) => matches!(state, None | Some(WorkerState::Finished)),
            // It ended before its verdict came.
            Some(Stage::GoesOn) => state == Some(WorkerState::Finished),
            Some(Stage::Waiting | Stage::Returning) | None => false,
        };
        prop_assert!(is_settled, "stuck at {}", show(&agent.life));
    }
}
