//! Which containerd it is.

use crate::config;
use crate::shell::{HarnessError, run};

/// A release of containerd, without its patch level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Release {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl Release {
    /// The one that tests start.
    pub(crate) fn installed() -> Result<Self, HarnessError> {
        let said = run("containerd", &["--version"])?;
        Self::parse(&said).ok_or_else(|| HarnessError::Answer(format!("no version of containerd: {said:?}")))
    }

    /// Whether it does what releases of the CRI brought that 1.x doesn't follow: user namespaces by idmapped mounts, a
    /// pod's policy of groups, mounts that are read-only below, too.
    pub(crate) fn has_features(self) -> bool {
        self >= config::FIRST_WITH_FEATURES
    }

    /// From `containerd <its source> <version> <revision>`; distributions leave the `v` of the version out.
    fn parse(said: &str) -> Option<Self> {
        let version = said.split_whitespace().nth(2)?;
        let mut numbers = version.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        Some(Self { major, minor })
    }
}

#[cfg(test)]
mod tests {
    //! What releases say of themselves.

    use super::*;

    #[test]
    fn versions_are_read_as_releases_print_them() {
        for (said, expected) in [
            ("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3", Some((1, 6))),
            ("containerd github.com/containerd/containerd/v2 2.1.9+unknown \n", Some((2, 1))),
            ("containerd github.com/containerd/containerd/v2 v2.10.0-rc.1 abc", Some((2, 10))),
            ("containerd github.com/containerd/containerd/v2", None),
            ("containerd of unknown origin", None),
        ] {
            let expected = expected.map(|(major, minor)| Release { major, minor });
            assert_eq!(Release::parse(said), expected, "{said}");
        }
    }

    #[test]
    fn releases_have_an_order() {
        let release = |major, minor| Release { major, minor };
        assert!(release(1, 7) > release(1, 6) && release(2, 0) > release(1, 7));
    }
}
