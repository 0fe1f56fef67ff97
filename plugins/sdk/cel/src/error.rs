//! What is wrong with an expression, and where.

use std::fmt;

use crate::budget::Exhausted;

/// The longest name that a message shows.
const NAME_CHARS_MAX: usize = 100;

/// Something that is wrong with an expression, found before it is evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it, if that can be said.
    pub help: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

/// The same by its offset in the source, as parser and checker find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: u32,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Fault {
    pub(crate) fn new(at: u32, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn located(self, source: &str) -> Problem {
        let (line, column) = place(source, self.at);
        Problem { line, column, message: self.message, help: self.help }
    }
}

/// A name in a message, which a long one may not fill.
pub(crate) fn shortened(name: &str) -> &str {
    name.char_indices().nth(NAME_CHARS_MAX).map_or(name, |(end, _)| &name[..end])
}

/// Line and column of an offset.
pub(crate) fn place(source: &str, at: u32) -> (usize, usize) {
    let before = source.get(..at as usize).unwrap_or(source);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where in the source, as line and column; none for what a variable has failed with.
    pub place: Option<(usize, usize)>,
    /// Why.
    pub message: String,
    /// Whether a limit was reached: then no operator may go on as if nothing were.
    pub is_limit: bool,
    /// The same place as an offset, until the failure leaves the expression: most are absorbed before.
    pub(crate) at: Option<u32>,
}

impl Failure {
    /// Of a variable, in the words of the one who provides it.
    pub fn of_variable(message: impl Into<String>) -> Self {
        Self { place: None, message: message.into(), is_limit: false, at: None }
    }

    /// Of a limit, in the words of the one who sets it.
    pub fn of_limit(message: impl Into<String>) -> Self {
        Self { is_limit: true, ..Self::of_variable(message) }
    }

    /// The place in the source for people.
    pub(crate) fn located(mut self, source: &str) -> Self {
        if let Some(at) = self.at.take() {
            self.place = Some(place(source, at));
        }
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "line {line}, column {column}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Exhausted> for Failure {
    fn from(exhausted: Exhausted) -> Self {
        Self::of_limit(exhausted.to_string())
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::of_variable(message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Self::of_variable(message)
    }
}
