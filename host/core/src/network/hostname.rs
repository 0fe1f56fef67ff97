//! A pod's host name and domain (upstream: `GeneratePodHostNameAndDomain`, `util.GetNodenameForKernel`).

use k8s_openapi::api::core::v1::Pod;
use thiserror::Error;

use crate::pod::validation::{is_dns_label, is_dns_subdomain};

#[cfg(test)]
mod tests;

/// Longest host name, in bytes (Linux: `HOST_NAME_MAX` is 64 with the final zero; DNS labels have 63).
pub const HOSTNAME_BYTES_MAX: usize = 63;
/// Longest name that the kernel keeps, in bytes: what a full name or an override may have.
pub const KERNEL_NAME_BYTES_MAX: usize = 64;

/// A pod can't be named as it asks.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum HostnameError {
    /// `spec.hostname`
    #[error("pod Hostname {name:?} is not a valid DNS label")]
    Hostname {
        /// As the spec has it.
        name: String,
    },
    /// `spec.subdomain`
    #[error("pod Subdomain {name:?} is not a valid DNS label")]
    Subdomain {
        /// As the spec has it.
        name: String,
    },
    /// `spec.hostnameOverride`
    #[error("pod HostnameOverride {name:?} is not a DNS name of at most {KERNEL_NAME_BYTES_MAX} characters")]
    Override {
        /// As the spec has it.
        name: String,
    },
    /// Nothing is left of the name after it was cut.
    #[error("hostname for pod {name:?} was invalid")]
    Empty { name: String },
    /// The full name doesn't fit.
    #[error(
        "failed to construct FQDN from pod hostname and cluster domain, FQDN {fqdn} is too long \
         ({KERNEL_NAME_BYTES_MAX} characters is the max, {} characters requested)",
        fqdn.len()
    )]
    FqdnTooLong { fqdn: String },
}

/// A pod's name in its own network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodHostname {
    pub hostname: String,
    /// What follows it in the full name; empty without `spec.subdomain`. A node without a cluster's domain ends it with the point.
    pub domain: String,
}

/// The override, else `spec.hostname`, else the pod's name cut to 63 bytes; the domain follows from `spec.subdomain`.
///
/// # Errors
/// A name in the spec isn't valid, or nothing is left of the pod's own.
pub fn of_pod(pod: &Pod, cluster_domain: &str) -> Result<PodHostname, HostnameError> {
    let spec = pod.spec.as_ref();
    let set = |field: Option<&String>| field.filter(|text| !text.is_empty()).cloned();
    if let Some(name) = set(spec.and_then(|spec| spec.hostname_override.as_ref())) {
        if !is_dns_subdomain(&name) || name.len() > KERNEL_NAME_BYTES_MAX {
            return Err(HostnameError::Override { name });
        }
        return Ok(PodHostname { hostname: name, domain: String::new() });
    }
    let pod_name = pod.metadata.name.as_deref().unwrap_or_default();
    let hostname = match set(spec.and_then(|spec| spec.hostname.as_ref())) {
        Some(name) if !is_dns_label(&name) => return Err(HostnameError::Hostname { name }),
        Some(name) => name,
        None => cut(pod_name)?,
    };
    let domain = match set(spec.and_then(|spec| spec.subdomain.as_ref())) {
        Some(name) if !is_dns_label(&name) => return Err(HostnameError::Subdomain { name }),
        Some(subdomain) => {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            format!("{subdomain}.{namespace}.svc.{cluster_domain}")
        }
        None => String::new(),
    };
    Ok(PodHostname { hostname, domain })
}

/// A name that was cut must not end in a separator; one that wasn't is as the API allowed it.
fn cut(name: &str) -> Result<String, HostnameError> {
    if name.len() <= HOSTNAME_BYTES_MAX {
        return Ok(name.to_owned());
    }
    let mut end = HOSTNAME_BYTES_MAX;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let cut = name[..end].trim_end_matches(['-', '.']);
    if cut.is_empty() { Err(HostnameError::Empty { name: name.to_owned() }) } else { Ok(cut.to_owned()) }
}

impl PodHostname {
    /// Returns what the kernel calls the pod's machine: the host name, or the full name with `setHostnameAsFQDN`.
    ///
    /// # Errors
    /// The full name is too long.
    pub fn kernel_name(&self, as_fqdn: bool) -> Result<String, HostnameError> {
        if self.domain.is_empty() || !as_fqdn {
            return Ok(self.hostname.clone());
        }
        let fqdn = format!("{}.{}", self.hostname, self.domain);
        if fqdn.len() > KERNEL_NAME_BYTES_MAX { Err(HostnameError::FqdnTooLong { fqdn }) } else { Ok(fqdn) }
    }
}
