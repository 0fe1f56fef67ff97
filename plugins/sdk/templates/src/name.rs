//! The name of a plugin, and how languages write it.

use std::fmt;

use thiserror::Error;

/// Characters of a name at most: a DNS label's (RFC 1123).
pub const NAME_LENGTH_MAX: usize = 63;

/// A plugin's name: small letters, digits and dashes, a letter first, no dash at the end, at most [`NAME_LENGTH_MAX`]. It
/// becomes the name of a file, of a package and of an entry of a PluginConfiguration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// Nothing.
    #[error("a plugin needs a name")]
    Empty,
    /// More than [`NAME_LENGTH_MAX`] characters.
    #[error("a plugin's name has {NAME_LENGTH_MAX} characters at most, not {length}")]
    TooLong {
        /// Characters.
        length: usize,
    },
    /// It begins with something else than a letter.
    #[error("{name:?} doesn't begin with a small letter")]
    Start {
        /// The text.
        name: String,
    },
    /// It ends in a dash.
    #[error("{name:?} ends in a dash")]
    End {
        /// The text.
        name: String,
    },
    /// It has a character that no name has.
    #[error(
        "{name:?} has {found:?}; a plugin's name has small letters, digits and dashes, such as my-plugin"
    )]
    Character {
        /// The text.
        name: String,
        /// The first such character.
        found: char,
    },
}

impl Name {
    /// A name, if the text is one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let name = || text.to_owned();
        let length = text.chars().count();
        if length > NAME_LENGTH_MAX {
            return Err(NameError::TooLong { length });
        }
        let allowed = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
        let Some(first) = text.chars().next() else { return Err(NameError::Empty) };
        if let Some(found) = text.chars().find(|char| !allowed(*char)) {
            return Err(NameError::Character { name: name(), found });
        }
        if !first.is_ascii_lowercase() {
            return Err(NameError::Start { name: name() });
        }
        if text.ends_with('-') {
            return Err(NameError::End { name: name() });
        }
        Ok(Self(name()))
    }

    /// As it was given: `my-plugin`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As variables and modules are written: `my_plugin`.
    pub fn snake(&self) -> String {
        self.0.replace('-', "_")
    }

    /// As types are written: `MyPlugin`.
    pub fn camel(&self) -> String {
        let capital = |word: &str| {
            let mut chars = word.chars();
            chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str())
        };
        self.0.split('-').filter_map(capital).collect()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
