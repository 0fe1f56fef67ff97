//! Bearer tokens: whose they are, and until when.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::identity::Identity;

/// A token that is known.
#[derive(Clone, Debug)]
struct Token {
    owner: Identity,
    /// None for those that never end.
    end: Option<Timestamp>,
}

/// Every known token.
#[derive(Default)]
pub(crate) struct Tokens {
    known: BTreeMap<String, Token>,
}

impl Tokens {
    /// Makes a token known.
    pub(crate) fn add(&mut self, token: &str, owner: Identity, end: Option<Timestamp>) {
        self.known.insert(token.to_owned(), Token { owner, end });
    }

    /// Whose token this is, if it isn't over.
    pub(crate) fn owner(&self, token: &str, now: Timestamp) -> Option<Identity> {
        let found = self.known.get(token)?;
        found.end.is_none_or(|end| now < end).then(|| found.owner.clone())
    }

    /// Ends every token.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }
}
