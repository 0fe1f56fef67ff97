//! Bearer tokens: whose they are, whom they are for, and until when.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;

use crate::identity::Identity;

/// Tokens that are remembered; the oldest are forgotten first.
const TOKENS_MAX: usize = 100_000;
/// The audience of tokens that name none.
pub(crate) const DEFAULT_AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

/// A token that is known.
#[derive(Clone, Debug)]
struct Token {
    owner: Identity,
    /// Empty for this server's.
    audiences: Vec<String>,
    /// None for those that never end.
    end: Option<Timestamp>,
}

/// Every known token.
#[derive(Default)]
pub(crate) struct Tokens {
    known: BTreeMap<String, Token>,
    order: VecDeque<String>,
}

impl Tokens {
    /// Makes a token known.
    pub(crate) fn add(
        &mut self,
        token: &str,
        owner: Identity,
        audiences: Vec<String>,
        end: Option<Timestamp>,
    ) {
        self.known.insert(token.to_owned(), Token { owner, audiences, end });
        self.order.push_back(token.to_owned());
        if self.order.len() > TOKENS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Whose token this is, if it is for one of these audiences (this server's if none is named) and isn't over; and for which of them.
    pub(crate) fn owner(
        &self,
        token: &str,
        expected: &[String],
        now: Timestamp,
    ) -> Option<(Identity, Vec<String>)> {
        let found = self.known.get(token)?;
        if found.end.is_some_and(|end| now >= end) {
            return None;
        }
        let own = [DEFAULT_AUDIENCE.to_owned()];
        let has = if found.audiences.is_empty() { &own[..] } else { &found.audiences[..] };
        let expected = if expected.is_empty() { &own[..] } else { expected };
        let both: Vec<String> = expected.iter().filter(|audience| has.contains(audience)).cloned().collect();
        (!both.is_empty()).then(|| (found.owner.clone(), both))
    }

    /// Ends every token.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
        self.order.clear();
    }
}
