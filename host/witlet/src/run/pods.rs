//! What pods get of this machine, from the flags.

use std::collections::BTreeMap;
use std::path::PathBuf;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use thiserror::Error;
use witlet_agent::{HostSettings, ImagePullLimits, LogLimits};
use witlet_core::pod::quantity::{self, QuantityError};

use crate::cli::{PodArgs, RunArgs};

#[cfg(test)]
mod tests;

/// A flag that makes no sense.
#[derive(Debug, Error)]
pub(crate) enum PodArgsError {
    /// A runtime class isn't `CLASS=HANDLER`.
    #[error("--runtime-classes: {class:?} isn't CLASS=HANDLER")]
    RuntimeClass {
        /// What was given.
        class: String,
    },
    /// The size isn't one.
    #[error("--container-log-max-size: {size:?} is no size; write something like 10Mi")]
    LogSize {
        /// What was given.
        size: String,
        /// What is wrong with it.
        #[source]
        cause: Option<QuantityError>,
    },
}

/// What configurations of pods draw from.
pub(crate) fn host_settings(args: &RunArgs) -> Result<HostSettings, PodArgsError> {
    let class = |class: &String| match class.split_once('=') {
        Some((name, handler)) if !name.is_empty() && !handler.is_empty() => {
            Ok((name.to_owned(), handler.to_owned()))
        }
        Some(_) | None => Err(PodArgsError::RuntimeClass { class: class.clone() }),
    };
    Ok(HostSettings {
        seccomp_root: args.root_dir.join("seccomp"),
        seccomp_default: args.pods.seccomp_default,
        cluster_dns: args.pods.cluster_dns.clone(),
        cluster_domain: args.pods.cluster_domain.clone(),
        runtime_classes: args
            .pods
            .runtime_classes
            .iter()
            .map(class)
            .collect::<Result<BTreeMap<_, _>, _>>()?,
        swap_controller: witlet_node::has_swap_controller(),
        selinux: witlet_node::selinux_is_on(),
    })
}

/// How images are fetched.
pub(crate) fn image_pulls(args: &PodArgs) -> ImagePullLimits {
    ImagePullLimits {
        serialize: args.serialize_image_pulls,
        parallel_max: args.max_parallel_image_pulls.and_then(|most| usize::try_from(most).ok()),
        per_second: args.registry_qps,
        burst: args.registry_burst,
    }
}

/// How large logs get.
pub(crate) fn log_limits(args: &PodArgs) -> Result<LogLimits, PodArgsError> {
    let size = &args.container_log_max_size;
    let refuse = |cause| PodArgsError::LogSize { size: size.clone(), cause };
    let bytes = quantity::value(&Quantity(size.clone())).map_err(|cause| refuse(Some(cause)))?;
    let bytes_max = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0).ok_or_else(|| refuse(None))?;
    let files_max = usize::try_from(args.container_log_max_files).unwrap_or(usize::MAX);
    Ok(LogLimits { bytes_max, files_max, ..LogLimits::default() })
}

/// The file that the resolv.conf of pods is made from.
pub(crate) fn resolv_conf(args: &PodArgs) -> Option<PathBuf> {
    (!args.resolv_conf.is_empty()).then(|| PathBuf::from(&args.resolv_conf))
}

/// The folder of links to the logs of all containers.
pub(crate) fn container_logs_dir(args: &RunArgs) -> PathBuf {
    args.pods.container_logs_dir.clone().unwrap_or_else(|| args.pod_logs_dir.with_file_name("containers"))
}
