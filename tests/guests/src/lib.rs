//! Guest programs for tests: components that behave badly in every way that a host must survive, and a good one.
#![forbid(unsafe_code)]

#[allow(unreachable_pub, dead_code, reason = "generated: pub for its includers, with a list for its tests")]
mod components {
    //! What the build script has compiled.
    include!(concat!(env!("OUT_DIR"), "/components.rs"));
}

#[allow(unreachable_pub, dead_code, reason = "generated: pub for its includers, with a constant for each")]
mod shipped {
    //! What the build script has compiled for contract 0.2.
    include!(concat!(env!("OUT_DIR"), "/shipped.rs"));
}

mod handlers {
    //! What the build script has encoded.
    include!(concat!(env!("OUT_DIR"), "/handlers.rs"));
}

mod forgers {
    //! What the build script has encoded.
    include!(concat!(env!("OUT_DIR"), "/forgers.rs"));
}

pub mod bombs;
pub mod corpus;
mod made;

pub use made::{
    compile_bomb, core_module, giant_memory, giant_table, invalid_code, many_memories, truncated,
    unknown_imports, wrong_world,
};

/// An admission handler that does what its configuration says: a JSON string with the name of a behaviour.
/// `tests/guests/hostile` lists them.
pub const HOSTILE: &[u8] = components::HOSTILE;

/// An admission handler that never ends its initialisation.
pub const LOOP_AT_START: &[u8] = components::LOOP_AT_START;

/// A probe type that does what its parameters say. `tests/guests/prober` lists what.
pub const PROBER: &[u8] = components::PROBER;

/// A pod source that does what its configuration says. `tests/guests/sourcer` lists what.
pub const SOURCER: &[u8] = components::SOURCER;

/// A plugin of all three roles that attacks as its configuration says. `tests/guests/intruder` lists how.
pub const INTRUDER: &[u8] = components::INTRUDER;

/// A plugin of all three roles that tells which version of it was asked. `tests/guests/witness` says how.
pub const WITNESS: &[u8] = components::WITNESS;

/// A plugin of all three roles that keeps its contracts unless its configuration plants a fault. `tests/guests/faults` has
/// them.
pub const FAULTS: &[u8] = components::FAULTS;

/// A probe type that tells its secret if its configuration says so. `tests/guests/tattler` says how.
pub const TATTLER: &[u8] = components::TATTLER;

/// Rules of the kinds that people write, in CEL: what [`TEN_RULES_GUEST`] has as code, and is measured next to it.
pub const TEN_RULES: [&str; 10] = [
    "object.metadata.namespace != 'kube-system'",
    "object.spec.containers.size() <= 10",
    "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
    "object.spec.containers.all(c, !c.image.endsWith(':latest'))",
    "object.spec.containers.all(c, c.image.matches('^[a-z0-9./-]+:[0-9.]+$'))",
    "!object.spec.?hostNetwork.orValue(false)",
    "object.spec.containers.all(c, !c.?securityContext.privileged.orValue(false))",
    "object.spec.?volumes.orValue([]).all(v, !has(v.hostPath))",
    "object.spec.containers.map(c, c.name).distinct().size() == object.spec.containers.size()",
    "object.spec.containers.all(c, c.?env.orValue([]).all(e, !e.name.contains('PASSWORD')))",
];

/// An admission handler of contract 0.2 with the ten rules. `tests/guests/ten-rules` has it.
pub const TEN_RULES_GUEST: &[u8] = components::TEN_RULES;

/// An admission handler of a version of the contract that only tests have. `tests/guests/next-version` has both.
pub const NEXT_VERSION: &[u8] = components::NEXT_VERSION;

/// An admission handler of contract 0.2 that does what its configuration says. `tests/guests/admission-v0-2` has it.
pub const ADMISSION_V0_2: &[u8] = components::ADMISSION_V0_2;

/// A probe type of contract 0.2 that does what its parameters say. `tests/guests/probe-v0-2` has it.
pub const PROBE_V0_2: &[u8] = components::PROBE_V0_2;

/// A pod source of contract 0.2 that does what its configuration says. `tests/guests/source-v0-2` has it.
pub const SOURCE_V0_2: &[u8] = components::SOURCE_V0_2;

/// The common ones of [`POLICIES`] on contract 0.1. `tests/guests/policies-v0-1` has them.
pub const POLICIES_V0_1: &[u8] = components::POLICIES_V0_1;

/// The shipped admission handlers on contract 0.2, with the names of their files. `tests/guests/shipped-v0-2` makes them.
pub const SHIPPED_V0_2: &[(&str, &[u8])] = shipped::COMPONENTS;

/// The one of these components that is made for the plugin of this name.
///
/// # Panics
///
/// When there is none.
pub fn component_of(components: &[(&str, &'static [u8])], plugin: &str) -> &'static [u8] {
    let found = components.iter().find(|(file, _)| file.replace('_', "-") == plugin);
    found.expect("there is a component of each plugin").1
}

/// The example handler that refuses images without a fixed tag.
pub const NO_LATEST_TAG: &[u8] = components::NO_LATEST_TAG;

/// The example pod source of contract 0.2, which reads a folder.
pub const POD_FOLDER: &[u8] = components::POD_FOLDER;

/// The example handler that puts pods off.
pub const NOT_BEFORE: &[u8] = components::NOT_BEFORE;

/// The example handler that lets pods start at certain times of the week.
pub const TIME_WINDOW: &[u8] = components::TIME_WINDOW;

/// The example handlers of contract 0.2: many policies, one of which an entry picks.
pub const POLICIES: &[u8] = components::POLICIES;

/// The example probe type that asks PostgreSQL servers whether they accept connections.
pub const POSTGRES_READY: &[u8] = components::POSTGRES_READY;

/// The example probe type of contract 0.2, which asks Redis servers.
pub const REDIS_PING: &[u8] = components::REDIS_PING;

/// The example probe type that sends datagrams.
pub const UDP: &[u8] = components::UDP;

/// Handlers written by hand that attack their host, by name. `tests/guests/made` has their text.
pub const HANDLERS: &[(&str, &[u8])] = handlers::HANDLERS;

/// Probe types and pod sources written by hand that attack their host, by name. `tests/guests/made` has their text.
pub const FORGERS: &[(&str, &[u8])] = forgers::FORGERS;

/// The example workloads by the names of their files.
pub const WORKLOADS: &[(&str, &[u8])] = &[
    ("http-server", components::HTTP_SERVER),
    ("worker", components::WORKER),
    ("crasher", components::CRASHER),
    ("stubborn", components::STUBBORN),
    ("probe-target", components::PROBE_TARGET),
];
