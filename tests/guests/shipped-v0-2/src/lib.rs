//! The shipped admission handlers on `witlet:admission@0.2.0`, from the very files of the shipped ones: what the contract
//! costs is measured with them, and whether it says the same. `config:` names the handler.
//!
//! This crate stands for the SDK of 0.1 in these files: what they ask for, it asks the getters of 0.2 for.
#![allow(unsafe_code, reason = "the bindings are made of raw pointers")]
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::duplicate_mod,
    reason = "the files of the handlers are crates of their own, and only the component uses it all"
)]

extern crate self as witlet_plugin_sdk;

mod bindings {
    #![allow(missing_docs, clippy::all, clippy::mem_forget, unused_qualifications, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../../wit/host-0.2.0", "../../../wit/admission-0.2.0"],
        world: "witlet:admission/admission-handler",
        generate_all,
    });
}

mod sdk;

pub use sdk::{
    AdmissionHandler, Condition, Container, ContainerKind, Error, HostPort, Node, Operation, Pod, QosClass,
    Quantity, Rejection, Request, Shortage, Taint, Verdict, amount_of,
};
pub use toleration::Toleration;

#[path = "../../../../plugins/apparmor/src/lib.rs"]
mod apparmor;
#[path = "../../../../plugins/declared-features/src/lib.rs"]
mod declared_features;
#[path = "../../../../plugins/host-ports/src/lib.rs"]
mod host_ports;
// What node-affinity takes from the root of its crate.
#[path = "../../../../plugins/node-affinity/src/label.rs"]
mod label;
// What sysctls takes from the root of its crate.
#[path = "../../../../plugins/sysctls/src/name.rs"]
mod name;
#[path = "../../../../plugins/node-affinity/src/lib.rs"]
mod node_affinity;
#[path = "../../../../plugins/node-name/src/lib.rs"]
mod node_name;
#[path = "../../../../plugins/node-os/src/lib.rs"]
mod node_os;
#[path = "../../../../plugins/node-pressure/src/lib.rs"]
mod node_pressure;
#[path = "../../../../plugins/node-resources/src/lib.rs"]
mod node_resources;
#[path = "../../../../plugins/node-taints/src/lib.rs"]
mod node_taints;
#[path = "../../../../plugins/pod-level-resources/src/lib.rs"]
mod pod_level_resources;
#[path = "../../../../plugins/supplemental-groups/src/lib.rs"]
mod supplemental_groups;
#[path = "../../../../plugins/sysctls/src/lib.rs"]
mod sysctls;
// Its tests lie where a module of this crate would not have them.
#[rustfmt::skip]
#[path = "../../../../plugins/sdk/guest/src/toleration.rs"]
mod toleration;

use serde::de::DeserializeOwned;

use bindings::exports::witlet::admission::handler::Guest;
use bindings::witlet::admission::admission_types as wit;
use bindings::witlet::host::config;
use bindings::witlet::host::errors::Error as HostError;

struct Shipped;

#[cfg(target_family = "wasm")]
bindings::export!(Shipped with_types_in bindings);

/// One of the handlers: refuses a configuration, and judges.
type Handler = fn(&wit::Request) -> Result<Verdict, Error>;

fn judged<H: AdmissionHandler>(request: &wit::Request) -> Result<Verdict, Error>
where
    H::Config: DeserializeOwned,
{
    // As the SDK of 0.1: without a configuration it is made of null, or else of an object without fields.
    let config = serde_json::from_str("null").or_else(|_| serde_json::from_str("{}"));
    let config = config.map_err(|error| Error::invalid("config".to_owned(), error.to_string()))?;
    H::admit(&Request::new(request), &config)
}

fn handler(name: &str) -> Option<Handler> {
    Some(match name {
        "node-pressure" => judged::<node_pressure::NodePressure>,
        "sysctls" => judged::<sysctls::Sysctls>,
        "node-os" => judged::<node_os::NodeOs>,
        "supplemental-groups" => judged::<supplemental_groups::SupplementalGroups>,
        "node-resources" => judged::<node_resources::NodeResources>,
        "node-affinity" => judged::<node_affinity::NodeAffinity>,
        "node-name" => judged::<node_name::NodeName>,
        "host-ports" => judged::<host_ports::HostPorts>,
        "node-taints" => judged::<node_taints::NodeTaints>,
        "apparmor" => judged::<apparmor::AppArmor>,
        "pod-level-resources" => judged::<pod_level_resources::PodLevelResources>,
        "declared-features" => judged::<declared_features::DeclaredFeatures>,
        _ => return None,
    })
}

/// The handler that a JSON text names.
fn selected(config: &str) -> Result<Handler, HostError> {
    handler(config.trim_matches('"'))
        .ok_or_else(|| HostError::new("NoHandler", "config: must name a shipped handler"))
}

impl Guest for Shipped {
    fn validate(setup: &wit::Setup, config: String) -> Result<(), HostError> {
        setup.subscribe("add");
        setup.subscribe("resize");
        selected(&config).map(drop)
    }

    fn admit(request: &wit::Request, answer: &wit::Answer) -> Result<(), HostError> {
        match selected(&config::get())?(request) {
            Ok(Verdict::Admit) => answer.admit(),
            Ok(Verdict::Reject(Rejection { reason, message })) => answer.reject(&reason, &message),
            Ok(Verdict::Shortage(shortages)) => {
                for Shortage { resource, requested, used, capacity } in shortages {
                    answer.shortage(&resource, requested, used, capacity);
                }
            }
            Err(Error { field, problem }) => {
                return Err(HostError::new("Failed", &format!("{field}: {problem}")));
            }
        }
        Ok(())
    }
}
