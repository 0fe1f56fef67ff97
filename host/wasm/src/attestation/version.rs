//! Versions of the kit.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A version of the kit: `MAJOR.MINOR.PATCH`, or one before it with `-something` behind. What follows a `+` counts for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KitVersion {
    numbers: [u64; 3],
    /// Versions before a release sort before it.
    released: bool,
}

/// It isn't three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a version is three numbers with points between them, such as 0.1.0")]
pub struct KitVersionError;

impl FromStr for KitVersion {
    type Err = KitVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.split('+').next().unwrap_or_default();
        let (numbers, released) = match text.split_once('-') {
            Some((_, "")) => return Err(KitVersionError),
            Some((numbers, _)) => (numbers, false),
            None => (text, true),
        };
        let mut parts = numbers.split('.').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u64>().ok()).flatten().ok_or(KitVersionError)
        });
        let mut next = || parts.next().unwrap_or(Err(KitVersionError));
        let numbers = [next()?, next()?, next()?];
        match parts.next() {
            None => Ok(Self { numbers, released }),
            Some(_) => Err(KitVersionError),
        }
    }
}

impl fmt::Display for KitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}{}", if self.released { "" } else { "-pre" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> KitVersion {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn versions_are_ordered_by_their_numbers_and_what_is_before_a_release_is_less() {
        let ordered =
            ["0.0.9", "0.1.0-rc.1", "0.1.0", "0.1.10", "0.2.0", "1.0.0-0", "1.0.0+build.5", "10.0.0"];
        for pair in ordered.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
        assert_eq!(version("0.1.0"), version("0.1.0+elsewhere"));
    }

    #[test]
    fn what_is_not_three_numbers_is_no_version() {
        for text in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "v1.2.3",
            "1.2.x",
            "1.2.+3",
            "1.2.3-",
            "-1.2.3",
            "1.2.99999999999999999999",
        ] {
            assert_eq!(text.parse::<KitVersion>(), Err(KitVersionError), "{text:?}");
        }
    }
}
