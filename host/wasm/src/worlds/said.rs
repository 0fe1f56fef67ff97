//! The one thing that an answer is to say, where a plugin says it by a call.

/// What was said so far, under the word of the call that said it.
#[derive(Debug)]
pub(crate) struct Said<T> {
    first: Option<(&'static str, T)>,
    /// What was said next to that.
    second: Option<&'static str>,
}

impl<T> Default for Said<T> {
    fn default() -> Self {
        Self { first: None, second: None }
    }
}

impl<T> Said<T> {
    pub(crate) fn say(&mut self, word: &'static str, value: T) {
        match &self.first {
            None => self.first = Some((word, value)),
            Some(_) => self.second = self.second.or(Some(word)),
        }
    }

    /// Returns what the answer says, or why it is none; `words` names what it could be.
    pub(crate) fn finish(self, words: &str) -> Result<T, String> {
        match (self.first, self.second) {
            (Some((first, _)), Some(second)) => Err(format!("it answered {first}, and then {second}")),
            (Some((_, value)), None) => Ok(value),
            (None, _) => Err(format!("it answered nothing: an answer is one of {words}")),
        }
    }
}

#[cfg(test)]
mod tests {
    //! What counts as an answer.

    use super::*;

    #[test]
    fn exactly_one_thing_is_an_answer() {
        let finished = |words: &[&'static str]| {
            let mut said = Said::default();
            words.iter().for_each(|word| said.say(word, *word));
            said.finish("yes, no")
        };
        let fault = |words: &str| Err(words.to_owned());
        assert_eq!(finished(&["yes"]), Ok("yes"));
        assert_eq!(finished(&[]), fault("it answered nothing: an answer is one of yes, no"));
        assert_eq!(finished(&["yes", "yes"]), fault("it answered yes, and then yes"));
        assert_eq!(finished(&["yes", "no", "yes"]), fault("it answered yes, and then no"));
    }
}
