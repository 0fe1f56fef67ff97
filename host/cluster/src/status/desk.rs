//! What the status manager remembers: the newest report of each pod, what was settled, and whose turn it is.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use witlet_core::pod::PodUid;
use witlet_core::status::write::{AtServer, is_newer};
use witlet_ports::PodReport;

use super::wire::Answer;

#[cfg(test)]
mod tests;

/// So many writes are with the server at the same time.
pub(super) const WRITES_MAX: usize = 32;
/// A pod's next PATCH begins this long after its last one at the earliest: what changes meanwhile goes with it.
pub(super) const PATCH_GAP: Duration = Duration::from_millis(100);
/// A pod that the server didn't take for the one that was meant is looked at again after this, should the watch bring nothing.
/// So is one whose object was deleted and is still there.
pub(super) const NEWS_WAIT_MAX: Duration = Duration::from_secs(60);

/// What the manager knows of its pods. Decides nothing about what is written, only when.
#[derive(Default)]
pub(super) struct Desk {
    cards: HashMap<PodUid, Card>,
    /// Pods in order of their turn.
    due: BTreeSet<(Instant, PodUid)>,
    writing: usize,
    turns: u64,
    pause: Option<Pause>,
}

/// While the server has trouble, one write at a time tries it.
struct Pause {
    since: Instant,
    until: Instant,
    failures: u32,
}

struct Card {
    report: PodReport,
    /// One more with each report.
    version: u64,
    due: Option<Instant>,
    /// The turn that it has now.
    turn: Option<u64>,
    /// When the last PATCH began.
    patched_at: Option<Instant>,
    /// When the object was deleted.
    deleted_at: Option<Instant>,
    failures: u32,
    /// Not before, for the last write failed.
    retry_at: Option<Instant>,
    settled: Option<Settled>,
    memory: Memory,
}

/// What was told of a pod, and to which object.
struct Settled {
    version: u64,
    object: Option<Object>,
}

/// An object of the server at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    uid: String,
    resource_version: String,
}

impl Object {
    pub(super) fn of(at: AtServer<'_>) -> Self {
        Self { uid: at.uid.to_owned(), resource_version: at.resource_version.to_owned() }
    }

    fn tells_more_than(&self, other: &Self) -> bool {
        self.uid != other.uid || is_newer(&self.resource_version, &other.resource_version)
    }
}

/// What the server's answers to writes of a pod leave behind.
#[derive(Clone, Default)]
pub(super) struct Memory {
    /// The object as the last answer had it, until the watch is as far.
    pub(super) answer: Option<Arc<Answer>>,
    /// What it didn't take over of the last patch, though it said that it did.
    pub(super) leftover: Option<Arc<serde_json::Value>>,
}

/// A pod whose turn it is.
pub(super) struct Turn {
    pub(super) number: u64,
    pub(super) uid: PodUid,
    pub(super) report: PodReport,
    pub(super) version: u64,
    pub(super) memory: Memory,
    pub(super) deleted_at: Option<Instant>,
}

/// Which turn ended.
pub(super) struct Done {
    pub(super) turn: u64,
    pub(super) uid: PodUid,
    pub(super) version: u64,
    pub(super) began: Instant,
}

/// How a turn ended.
pub(super) enum End {
    /// There was nothing to write, or nobody to write to.
    Idle(Option<Object>),
    /// Not before then.
    Later(Option<Object>, Instant),
    /// The status was taken.
    Patched(Object, Memory),
    /// The object goes.
    Deleted(Object),
    /// The object isn't what it was taken for.
    AwaitNews(Option<Object>),
    /// The write failed for its own reasons.
    Failed(Instant),
    /// The server has trouble until then, or longer.
    Troubled,
}

impl Desk {
    /// Takes a report in. A pod that was told of before keeps what is remembered of it.
    pub(super) fn report(&mut self, report: PodReport, now: Instant) {
        let uid = PodUid::of(&report.pod);
        match self.cards.get_mut(&uid) {
            Some(card) => {
                card.report = report;
                card.version += 1;
            }
            None => {
                self.cards.insert(uid.clone(), Card::new(report));
            }
        }
        self.line_up(&uid, now);
    }

    /// Nothing is written of the pod any more. A write that is under way isn't taken back.
    pub(super) fn forget(&mut self, uid: &PodUid) {
        if let Some(card) = self.cards.remove(uid)
            && let Some(due) = card.due
        {
            self.due.remove(&(due, uid.clone()));
        }
    }

    /// Lines up everybody about whom the server has something newer than what was settled. `newest` gives its object.
    pub(super) fn reconsider(&mut self, newest: impl Fn(&PodReport) -> Option<Object>, now: Instant) {
        let is_new = |card: &Card| match (&card.settled, newest(&card.report)) {
            (Some(Settled { version, .. }), _) if *version != card.version => true,
            (Some(Settled { object: Some(settled), .. }), Some(newest)) => newest.tells_more_than(settled),
            (Some(Settled { object: None, .. }), newest) => newest.is_some(),
            (Some(_), None) => false,
            (None, _) => true,
        };
        let idle = self.cards.iter().filter(|(_, card)| card.turn.is_none());
        let idle = idle.filter(|(_, card)| card.due.is_none_or(|due| due > now));
        let uids: Vec<PodUid> = idle.filter(|(_, card)| is_new(card)).map(|(uid, _)| uid.clone()).collect();
        for uid in uids {
            self.line_up(&uid, now);
        }
    }

    /// What was settled and answered counts for nothing: versions may have begun anew. Contents are compared instead.
    pub(super) fn forget_versions(&mut self) {
        for card in self.cards.values_mut() {
            card.memory.answer = None;
            if let Some(settled) = &mut card.settled {
                settled.object = None;
            }
        }
    }

    /// All reports, as they are now.
    pub(super) fn reports(&self) -> impl Iterator<Item = &PodReport> {
        self.cards.values().map(|card| &card.report)
    }

    /// When somebody's turn comes, if nothing else happens before.
    pub(super) fn next_turn(&self) -> Option<Instant> {
        let (first, _) = self.due.first()?;
        match &self.pause {
            None => (self.writing < WRITES_MAX).then_some(*first),
            Some(pause) => (self.writing == 0).then_some(pause.until.max(*first)),
        }
    }

    /// Whose turn it is now, if a write may begin. It has to be ended with [`Desk::end`].
    pub(super) fn take_turn(&mut self, now: Instant) -> Option<Turn> {
        if self.next_turn().is_none_or(|next| next > now) {
            return None;
        }
        let (_, uid) = self.due.pop_first()?;
        let card = self.cards.get_mut(&uid)?;
        card.due = None;
        self.turns += 1;
        self.writing += 1;
        let number = self.turns;
        card.turn = Some(number);
        let (report, version, memory) = (card.report.clone(), card.version, card.memory.clone());
        Some(Turn { number, uid, report, version, memory, deleted_at: card.deleted_at })
    }

    /// Ends a turn.
    pub(super) fn end(&mut self, done: &Done, end: End, now: Instant) {
        let Done { turn, uid, version, began } = done;
        let (turn, version, began) = (*turn, *version, *began);
        self.writing = self.writing.saturating_sub(1);
        match end {
            End::Troubled | End::Idle(_) | End::Later(..) => {}
            // The server is there, whatever it says.
            End::Patched(..) | End::Deleted(_) | End::AwaitNews(_) | End::Failed(_) => self.pause = None,
        }
        // A pod that was forgotten meanwhile, and maybe told of anew, has another card.
        let Some(card) = self.cards.get_mut(uid).filter(|card| card.turn == Some(turn)) else { return };
        card.turn = None;
        let mut again = None;
        let settle = |card: &mut Card, object| {
            card.settled = Some(Settled { version, object });
            (card.failures, card.retry_at) = (0, None);
        };
        match end {
            End::Idle(object) => settle(card, object),
            End::Later(object, at) => {
                settle(card, object);
                again = Some(at);
            }
            End::Patched(object, memory) => {
                settle(card, Some(object));
                card.memory = memory;
                card.patched_at = Some(began);
                // Its object may be ready to go.
                again = card.report.is_finished.then_some(now);
            }
            End::Deleted(object) => {
                settle(card, Some(object));
                card.deleted_at = Some(now);
                again = Some(now + NEWS_WAIT_MAX);
            }
            End::AwaitNews(object) => {
                settle(card, object);
                card.memory = Memory::default();
                again = Some(now + NEWS_WAIT_MAX);
            }
            End::Failed(retry_at) => {
                card.failures = card.failures.saturating_add(1);
                card.retry_at = Some(retry_at);
                again = Some(retry_at);
            }
            End::Troubled => again = Some(now),
        }
        if card.version != version {
            again = Some(again.map_or(now, |at| at.min(now)));
        }
        if let Some(at) = again {
            self.line_up(uid, at);
        }
    }

    /// The answer that is remembered of a pod isn't newer than what the watch brought.
    pub(super) fn drop_answer(&mut self, uid: &PodUid) {
        if let Some(card) = self.cards.get_mut(uid) {
            card.memory.answer = None;
        }
    }

    /// Nobody's writes are sent for `wait(failures)`. Several that failed at the same time count once.
    pub(super) fn pause(&mut self, began: Instant, now: Instant, wait: impl FnOnce(u32) -> Duration) -> bool {
        let failures = match &self.pause {
            Some(pause) if began < pause.since => return false,
            Some(pause) => pause.failures.saturating_add(1),
            None => 1,
        };
        self.pause = Some(Pause { since: now, until: now + wait(failures), failures });
        failures == 1
    }

    /// How often in a row writes of this pod have failed.
    pub(super) fn failures(&self, uid: &PodUid) -> u32 {
        self.cards.get(uid).map_or(0, |card| card.failures)
    }

    fn line_up(&mut self, uid: &PodUid, at: Instant) {
        let Some(card) = self.cards.get_mut(uid).filter(|card| card.turn.is_none()) else { return };
        let gap_ends = card.patched_at.map(|patched| patched + PATCH_GAP);
        let not_before = [gap_ends.filter(|_| !card.report.is_finished), card.retry_at];
        let at = not_before.into_iter().flatten().fold(at, Instant::max);
        let at = card.due.map_or(at, |due| due.min(at));
        if let Some(due) = card.due.replace(at) {
            self.due.remove(&(due, uid.clone()));
        }
        self.due.insert((at, uid.clone()));
    }
}

impl Card {
    fn new(report: PodReport) -> Self {
        Self {
            report,
            version: 0,
            due: None,
            turn: None,
            patched_at: None,
            deleted_at: None,
            failures: 0,
            retry_at: None,
            settled: None,
            memory: Memory::default(),
        }
    }
}
