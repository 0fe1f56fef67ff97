//! Which host ids pods with user namespaces may have at all: what was delegated to the user `kubelet`, else all above the first
//! 65,536 (upstream: `getKubeletMappings`, `MakeUserNsManager`).

use thiserror::Error;

use super::{IDS_PER_POD, PODS_MAX};

/// Ids that are cut into ranges of [`IDS_PER_POD`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    first_id: u32,
    ranges: u32,
}

impl Default for IdRange {
    fn default() -> Self {
        Self { first_id: IDS_PER_POD, ranges: u32::MAX / IDS_PER_POD }
    }
}

/// The ids that were delegated to the user `kubelet` can't be pods'.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IdRangeError {
    /// Users and groups are delegated differently.
    #[error("mismatched subuids and subgids for user \"kubelet\"")]
    Mismatch,
    /// Not exactly one range is delegated.
    #[error("error parsing line {0:?}: it must contain only one line")]
    Lines(String),
    /// It isn't `<index>: <user> <first id> <count>`.
    #[error("invalid line {0:?}")]
    Line(String),
    /// The first id isn't where a pod's ids may begin.
    #[error("kubelet user assigned ID {0} is not a multiple of {IDS_PER_POD}")]
    FirstId(u32),
    /// Root of the host is in it.
    #[error("kubelet user assigned ID {0} must be greater or equal to {IDS_PER_POD}")]
    Root(u32),
    /// A part is left over.
    #[error("kubelet user assigned IDs length {0} is not a multiple of {IDS_PER_POD}")]
    Count(u32),
    /// The node may run more pods than that.
    #[error("kubelet user assigned IDs are not enough to support {0} pods")]
    TooFew(u32),
    /// There are no such ids.
    #[error("kubelet user assigned IDs from {first_id} end above the last ID")]
    End { first_id: u32 },
}

impl IdRange {
    /// The delegated ids, of what `getsubids kubelet` and `getsubids -g kubelet` print, for a node that runs up to `pods_max`
    /// pods.
    ///
    /// # Errors
    /// When they aren't one range for users and groups alike, or can't be cut into enough ranges.
    pub fn delegated(users: &str, groups: &str, pods_max: u32) -> Result<Self, IdRangeError> {
        if users != groups {
            return Err(IdRangeError::Mismatch);
        }
        let line = users.trim_matches('\n');
        if line.contains('\n') {
            return Err(IdRangeError::Lines(users.to_owned()));
        }
        let invalid = || IdRangeError::Line(users.to_owned());
        let [_, _, first_id, count] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(invalid());
        };
        let number = |text: &str| text.parse::<u32>().map_err(|_| invalid());
        let (first_id, count) = (number(first_id)?, number(count)?);
        if first_id % IDS_PER_POD != 0 {
            return Err(IdRangeError::FirstId(first_id));
        }
        if first_id < IDS_PER_POD {
            return Err(IdRangeError::Root(first_id));
        }
        if count % IDS_PER_POD != 0 {
            return Err(IdRangeError::Count(count));
        }
        let ranges = count / IDS_PER_POD;
        if ranges < pods_max {
            return Err(IdRangeError::TooFew(pods_max));
        }
        if u64::from(first_id) + u64::from(count) > u64::from(u32::MAX) + 1 {
            return Err(IdRangeError::End { first_id });
        }
        Ok(Self { first_id, ranges })
    }

    /// How many pods may have ids of their own at the same time.
    pub(super) fn pods_max(self) -> u32 {
        self.ranges.min(PODS_MAX)
    }

    /// Where the range of this number begins.
    pub(super) fn first_id(self, slot: u32) -> u32 {
        self.first_id + slot * IDS_PER_POD
    }

    /// The number of the range that begins there, if one does.
    pub(super) fn slot(self, first_id: u32) -> Option<u32> {
        let offset = first_id.checked_sub(self.first_id)?;
        (offset % IDS_PER_POD == 0).then_some(offset / IDS_PER_POD).filter(|slot| *slot < self.ranges)
    }
}
