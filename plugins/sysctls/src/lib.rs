//! Admission handler: the pod sets only sysctls that belong to it alone, or that the operator allows.
//!
//! Upstream's `SysctlForbidden` (`kubelet/sysctl`): twelve sysctls are safe, as far as the kernel has them per namespace;
//! others must be allowed by name or by the beginning of a name (`config: {allowedUnsafeSysctls: ["kernel.msg*"]}`, as in
//! the KubeletConfiguration). A sysctl of a namespace that the pod shares with the host is refused in either case.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod allowed;
mod name;

use serde::Deserialize;
use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Verdict, export_admission};

use allowed::{Pattern, check};

/// Reason of the rejection.
pub const REASON: &str = "SysctlForbidden";

/// The node's fact that says which kernel it runs.
const KERNEL_FACT: &str = "kernel.version";

/// The handler.
pub struct Sysctls;

/// What the operator allows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Config {
    /// Sysctls, or beginnings of their names that end in `*`, which pods may set in addition to the safe ones.
    #[serde(default)]
    pub allowed_unsafe_sysctls: Vec<String>,
}

impl Config {
    fn patterns(&self) -> Result<Vec<Pattern>, Error> {
        let numbered = self.allowed_unsafe_sysctls.iter().enumerate();
        let read = numbered.map(|(index, text)| {
            Pattern::parse(text)
                .map_err(|problem| Error::invalid(format!("allowedUnsafeSysctls[{index}]"), problem))
        });
        read.collect()
    }
}

/// One of `spec.securityContext.sysctls`.
#[derive(Deserialize)]
struct Sysctl {
    name: String,
}

impl AdmissionHandler for Sysctls {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        config.patterns().map(|_| ())
    }

    fn admit(request: &Request<'_>, config: &Config) -> Result<Verdict, Error> {
        let pod = request.pod();
        let sysctls: Vec<Sysctl> = pod.at("/spec/securityContext/sysctls")?.unwrap_or_default();
        if sysctls.is_empty() {
            return Ok(Verdict::Admit);
        }
        let shares = |field: &str| pod.pointer(field).as_deref() == Some("true");
        let shared = allowed::Shared { net: shares("/spec/hostNetwork"), ipc: shares("/spec/hostIPC") };
        let kernel = request.node().fact(KERNEL_FACT).and_then(|version| allowed::kernel(&version));
        let patterns = config.patterns()?;
        let refused = sysctls.iter().find_map(|sysctl| check(&sysctl.name, kernel, &patterns, shared).err());
        Ok(match refused {
            None => Verdict::Admit,
            Some(problem) => Verdict::reject(REASON, format!("forbidden sysctl: {problem}")),
        })
    }
}

export_admission!(Sysctls);

#[cfg(test)]
mod tests;
