//! Example of contract 0.2: the policies that clusters have most, in a few lines each. A plugin's entry picks one:
//! `config: {policy: noPrivileged}`. Take the file that a policy of yours is closest to.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

pub mod host;
pub mod images;
pub mod metadata;
pub mod node;
pub mod resources;
pub mod security;

use serde::Deserialize;
use witlet_plugin_sdk_0_2::{AdmissionHandler, Error, Operation, Request, Setup, Verdict, export_admission};

/// Makes one handler of many: the field `policy` of the configuration says which, the others are that policy's own.
macro_rules! policies {
    ($($module:ident: $($policy:ident)+;)+) => {
        /// The policy that an entry picks.
        #[derive(Debug, Deserialize)]
        #[serde(tag = "policy", rename_all = "camelCase")]
        pub enum Policy {
            $($(
                #[doc = concat!("See [`", stringify!($module), "::", stringify!($policy), "`].")]
                $policy($module::$policy),
            )+)+
        }

        impl AdmissionHandler for Policy {
            fn subscribes(&self) -> Vec<Operation> {
                match self { $($(Self::$policy(policy) => policy.subscribes(),)+)+ }
            }

            fn validate(&self, setup: &Setup<'_>) -> Result<(), Error> {
                match self { $($(Self::$policy(policy) => policy.validate(setup),)+)+ }
            }

            fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
                match self { $($(Self::$policy(policy) => policy.admit(request),)+)+ }
            }
        }

        /// All policies, as the code names them.
        #[cfg(test)]
        const POLICIES: &[&str] = &[$($(stringify!($policy)),+),+];
    };
}

policies! {
    images: AllowedRegistries NoLatestTag DigestRequired PullPolicy ImagesAtMost ImageUpdates;
    security: NoPrivileged Capabilities RunAsNonRoot NoPrivilegeEscalation ReadOnlyRoot SeccompRequired AppArmorProfiles UserIds
        UserNamespaces DebugContainers;
    host: NoHostPath HostPathsReadOnly NoHostNamespaces HostPortRange VolumeKinds;
    resources: LimitsRequired LimitRatio PodSize GuaranteedQos ResizeAtMost;
    metadata: RequiredLabels RequiredAnnotations OwnerKinds NoServiceAccountToken ServiceAccounts PriorityClasses EnvSecrets;
    node: NodeZone SpreadReplicas Headroom UnderPressure;
}

export_admission!(Policy);

#[cfg(test)]
mod tests;
