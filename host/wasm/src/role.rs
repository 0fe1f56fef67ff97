//! The roles that a component can have.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a component is for this host. One component may have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Decides on pods (`witlet:admission`).
    #[serde(rename = "admission")]
    Admission,
    /// Is a probe type (`witlet:probe`).
    #[serde(rename = "probe")]
    Probe,
    /// Brings pods (`witlet:pod-source`).
    #[serde(rename = "podSource")]
    PodSource,
}

impl Role {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Admission, Self::Probe, Self::PodSource];

    /// Returns the name as in an entry of the configuration, in tables and in labels of metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admission => "admission",
            Self::Probe => "probe",
            Self::PodSource => "podSource",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
