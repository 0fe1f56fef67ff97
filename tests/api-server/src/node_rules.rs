//! NodeRestriction: what a node may write.

use serde_json::Value;

use crate::error::ApiError;
use crate::resources::Resource;
use crate::write::Cx;

/// Whether this user may create or change that.
pub(crate) fn admit(
    _cx: &Cx<'_>,
    _resource: &Resource,
    _subresource: &str,
    _old: Option<&Value>,
    _new: Option<&Value>,
) -> Result<(), ApiError> {
    Ok(())
}

/// Whether this user may delete that.
pub(crate) fn admit_deletion(_cx: &Cx<'_>, _resource: &Resource, _object: &Value) -> Result<(), ApiError> {
    Ok(())
}
