//! Who stands for a component, where the configuration demands that someone does.

use super::{LoadError, Loader};
use crate::plugin::conformance::Vouched;
use crate::plugin::signatures::Signed;
use crate::plugin::{Origin, Spec};

impl Loader {
    /// Who signed what a registry has under this reference; none where no one need.
    pub(super) async fn signed(&self, spec: &Spec) -> Result<Option<Signed>, LoadError> {
        let Some(demand) = &spec.signature else { return Ok(None) };
        let Origin::Registry { reference, credentials } = &spec.origin else { return Ok(None) };
        let checked = demand.check(reference, credentials.as_deref(), self.parts.fetcher.as_ref()).await;
        checked.map(Some).map_err(|cause| LoadError::Signature(Box::new(cause)))
    }

    /// Who vouches for these bytes, before anything is made of them; none where no one need.
    pub(super) async fn vouched(&self, spec: &Spec, digest: &str) -> Result<Option<Vouched>, LoadError> {
        let Some(demand) = &spec.conformance else { return Ok(None) };
        let fetcher = self.parts.fetcher.as_ref();
        let checked = demand.check(digest, spec.roles().collect(), &spec.origin, fetcher).await;
        let vouched = checked.map_err(|cause| LoadError::Conformance(Box::new(cause)))?;
        if !vouched.report.passed {
            let (plugin, key) = (&*spec.name, vouched.key.display());
            tracing::warn!(plugin, %key, "Conformance report of the plugin has failed checks");
        }
        Ok(Some(vouched))
    }
}
