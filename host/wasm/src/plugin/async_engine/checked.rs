//! What a probe type said about parameters, kept so that it is asked once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// How many answers are kept; the oldest goes first. As many as probes run at once.
pub(super) const CHECKED_MAX: usize = 1024;
/// How many bytes of parameters are kept with them.
pub(super) const CHECKED_BYTES_MAX: usize = 1 << 20;

/// Answers by parameters.
#[derive(Debug, Default)]
pub(super) struct Checked {
    answers: HashMap<Arc<str>, Result<(), String>>,
    /// In the order in which they came.
    order: VecDeque<Arc<str>>,
    bytes: usize,
}

impl Checked {
    /// The answer about these parameters, if it is known.
    pub(super) fn get(&self, parameters: &str) -> Option<Result<(), String>> {
        self.answers.get(parameters).cloned()
    }

    /// Keeps an answer, and forgets as many old ones as its place takes.
    pub(super) fn keep(&mut self, parameters: Arc<str>, answer: Result<(), String>) {
        if parameters.len() > CHECKED_BYTES_MAX || self.answers.contains_key(&parameters) {
            return;
        }
        while self.order.len() >= CHECKED_MAX || self.bytes + parameters.len() > CHECKED_BYTES_MAX {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= oldest.len();
            self.answers.remove(&oldest);
        }
        self.bytes += parameters.len();
        self.order.push_back(parameters.clone());
        self.answers.insert(parameters, answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_and_bounded() {
        let mut checked = Checked::default();
        checked.keep("{}".into(), Ok(()));
        checked.keep("{\"port\": 0}".into(), Err("no port".to_owned()));
        assert_eq!(checked.get("{}"), Some(Ok(())));
        assert_eq!(checked.get("{\"port\": 0}"), Some(Err("no port".to_owned())));
        assert_eq!(checked.get("{\"port\": 1}"), None);
        for number in 0..CHECKED_MAX {
            checked.keep(number.to_string().into(), Ok(()));
        }
        assert_eq!((checked.answers.len(), checked.get("{}")), (CHECKED_MAX, None));
        assert_eq!(checked.get("7"), Some(Ok(())), "the newest stay");
    }

    #[test]
    fn long_parameters_take_the_place_of_many_short_ones() {
        let mut checked = Checked::default();
        for number in 0..100 {
            checked.keep(number.to_string().into(), Ok(()));
        }
        let long = "x".repeat(CHECKED_BYTES_MAX - 10);
        checked.keep(long.as_str().into(), Ok(()));
        assert_eq!(checked.get(&long), Some(Ok(())));
        assert!(checked.bytes <= CHECKED_BYTES_MAX && checked.get("0").is_none());
        checked.keep("y".repeat(CHECKED_BYTES_MAX + 1).into(), Ok(()));
        assert!(checked.get(&long).is_some(), "what is too long isn't kept and takes no one's place");
    }
}
