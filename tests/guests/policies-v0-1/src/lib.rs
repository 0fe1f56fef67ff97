//! The common ones of `examples/plugins/rust/policies` on contract 0.1, as their authors had to write them: the same configuration, and the
//! same answers to the same cases. What 0.2 hands out, the modules `containers` and `images` read from the pod's JSON here. A test counts
//! the lines of both, and the book has the numbers.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod containers;
mod images;
mod policies;

use serde::Deserialize;
use witlet_plugin_sdk::{AdmissionHandler, Error, Operation, Pod, Request, Verdict, export_admission};

/// One policy.
trait Policy {
    /// Why pods are rejected.
    const REASON: &'static str;

    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }

    /// What is wrong with a pod, if anything is.
    fn objection(&self, pod: &Pod) -> Result<Option<String>, Error>;
}

/// The verdict of a policy on new pods: 0.1 has no word for edits, and of what these check a resize changes limits alone, which it
/// never takes away.
fn judge<P: Policy>(policy: &P, request: &Request<'_>) -> Result<Verdict, Error> {
    if request.operation() != Operation::Add {
        return Ok(Verdict::Admit);
    }
    let objection = policy.objection(&request.pod())?;
    Ok(objection.map_or(Verdict::Admit, |words| Verdict::reject(P::REASON, words)))
}

/// Makes one handler of all: the field `policy` of the configuration says which.
macro_rules! policies {
    ($($policy:ident)+) => {
        /// The policy that an entry picks.
        #[derive(Debug, Deserialize)]
        #[serde(tag = "policy", rename_all = "camelCase")]
        pub enum Config {
            $(#[doc = stringify!($policy)] $policy(policies::$policy)),+
        }

        impl AdmissionHandler for Policies {
            type Config = Config;

            fn validate(config: &Config) -> Result<(), Error> {
                match config { $(Config::$policy(policy) => policy.validate()),+ }
            }

            fn admit(request: &Request<'_>, config: &Config) -> Result<Verdict, Error> {
                match config { $(Config::$policy(policy) => judge(policy, request)),+ }
            }
        }

        /// All policies, as the code names them.
        #[cfg(test)]
        const POLICIES: &[&str] = &[$(stringify!($policy)),+];
    };
}

/// The handler.
pub struct Policies;

policies! {
    AllowedRegistries NoLatestTag DigestRequired NoPrivileged Capabilities RunAsNonRoot SeccompRequired NoHostPath NoHostNamespaces
    LimitsRequired NoServiceAccountToken
}

export_admission!(Policies);

#[cfg(test)]
mod tests;
