//! Finds a component's roles and their versions from what it exports, and what in its imports this host can't give.

use std::fmt;

use super::adapter::newer;
use super::{admission, is_newer, pod_source, probe, serves};
use crate::guest::printable;
use crate::role::Role;

/// Longest list of names in a message.
const NAMES_MAX: usize = 16;
/// How much of a foreign name is reported.
const NAME_BYTES_MAX: usize = 128;
/// How many imports a component may have; the interpreters of Python and JavaScript have thirty.
const IMPORTS_MAX: usize = 256;
/// Interfaces of this project that every plugin may import, in the versions that are served.
const GIVEN: [&str; 8] = [
    "witlet:host/log@0.1.0",
    "witlet:host/config@0.1.0",
    "witlet:host/errors@0.2.0",
    "witlet:host/log@0.2.0",
    "witlet:host/config@0.2.0",
    "witlet:host/node@0.2.0",
    "witlet:host/features@0.2.0",
    "witlet:host/metrics@0.2.0",
];
/// Interfaces of this project that need a grant.
const SECRET: [&str; 2] = ["witlet:host/secret@0.1.0", "witlet:host/secret@0.2.0"];
/// Data of the plugin's entry.
const DATA: &str = "witlet:host/data@0.2.0";
/// See [`SECRET`].
const EXEC: [&str; 2] = ["witlet:probe/exec@0.1.0", "witlet:probe/exec@0.2.0"];
/// Connections that the host opens for probes, within the grant `network`.
const CONNECTIONS: &str = "witlet:probe/connections@0.2.0";
/// The packages of WASI 0.2 that link as they are; other WASI interfaces link as refusals.
const WASI_BASIC: [&str; 6] =
    ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];
/// What links next to these on the engine of guests that may wait.
const WASI_ASYNC: [&str; 2] = ["wasi:http/types@0.2", "wasi:http/outgoing-handler@0.2"];

/// Capabilities that a component can have only by a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) secret: bool,
    /// Commands in probed containers.
    pub(crate) exec: bool,
}

impl Capabilities {
    /// All of them.
    pub(crate) const ALL: Self = Self { secret: true, exec: true };
}

/// What a component is, as far as this host can use it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Detected {
    pub(crate) admission: Option<&'static admission::Adapter>,
    pub(crate) probe: Option<&'static probe::Adapter>,
    pub(crate) pod_source: Option<&'static pod_source::Adapter>,
    /// Whether it is a pod source that wants to receive the statuses of its pods.
    pub(crate) feedback: bool,
    /// The capabilities that it imports.
    pub(crate) wants: Capabilities,
    /// Whether it reads data of its entry.
    pub(crate) data: bool,
    /// Whether it imports what needs a grant to be of use: sockets or HTTP.
    pub(crate) network: bool,
    /// Interfaces to be linked as refusals on the synchronous engine.
    pub(crate) denied: Vec<String>,
    /// Interfaces to be linked as refusals on the engine of probes and pod sources.
    pub(crate) denied_async: Vec<String>,
    /// Interfaces of this project that this host doesn't have, on both engines.
    pub(crate) unserved: Vec<String>,
    /// What a component that is newer than this host may find refused, each a sentence for the operator.
    pub(crate) newer: Vec<String>,
}

impl Detected {
    /// Returns its roles with the versions that serve them.
    pub(crate) fn roles(&self) -> Vec<(Role, &'static str)> {
        let admission = self.admission.map(|adapter| (Role::Admission, adapter.version));
        let probe = self.probe.map(|adapter| (Role::Probe, adapter.version));
        let pod_source = self.pod_source.map(|adapter| (Role::PodSource, adapter.version));
        admission.into_iter().chain(probe).chain(pod_source).collect()
    }

    /// Whether one of its roles is served by the engine of guests that may wait.
    pub(crate) fn waits(&self) -> bool {
        self.probe.is_some() || self.pod_source.is_some()
    }
}

/// One thing that keeps a component from being linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// No role of this project is among the exports.
    WrongWorld { exports: Vec<String> },
    /// A role in a version that this host doesn't serve.
    Version { export: String, served: &'static [&'static str] },
    /// It wants to receive the statuses of its pods, and has none.
    FeedbackAlone { export: String },
    /// A capability that isn't granted.
    NotGranted { import: String, grant: &'static str },
    /// A capability of this project that doesn't exist in this version.
    Capability { import: String },
    /// An import that no one here can give.
    UnknownImport { import: String },
    /// More obstacles than are worth reading.
    More { obstacles: usize },
    /// No real component has so many imports, and each one costs time.
    TooManyImports,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ROLES: [&str; 3] = [admission::HANDLER, probe::PROBER, pod_source::SOURCE];
        match self {
            Self::WrongWorld { exports } if exports.is_empty() => {
                write!(f, "it exports nothing; a plugin exports one of {}", ROLES.join(", "))
            }
            Self::WrongWorld { exports } => write!(
                f,
                "not a plugin: it exports {}; a plugin exports one of {}",
                exports.join(", "),
                ROLES.join(", ")
            ),
            Self::Version { export, served } => {
                write!(f, "it exports {export}, but this host serves version {}", served.join(", "))
            }
            Self::FeedbackAlone { export } => {
                write!(f, "it exports {export} without {}", pod_source::SOURCE)
            }
            Self::NotGranted { import, grant } => {
                write!(f, "it imports {import}, which isn't granted (grants.{grant})")
            }
            Self::Capability { import } => {
                write!(f, "it imports {import}, which doesn't exist in this release")
            }
            Self::UnknownImport { import } => {
                write!(f, "it imports {import}, which this host doesn't provide")
            }
            Self::More { obstacles } => write!(f, "and {obstacles} more"),
            Self::TooManyImports => write!(f, "it has more than {IMPORTS_MAX} imports"),
        }
    }
}

/// Checks the names of all imports and exports. Reports everything that is in the way, not only the first.
pub(crate) fn detect<'a>(
    imports: impl IntoIterator<Item = &'a str>,
    exports: impl IntoIterator<Item = &'a str>,
    granted: Capabilities,
) -> Result<Detected, Vec<Obstacle>> {
    let exports: Vec<&str> = exports.into_iter().collect();
    let mut detected = Detected::default();
    let mut obstacles = Vec::new();
    let has_other_versions = roles(&exports, &mut detected, &mut obstacles);
    for (number, import) in imports.into_iter().enumerate() {
        if number >= IMPORTS_MAX {
            // First, because those before it are cut.
            obstacles.insert(0, Obstacle::TooManyImports);
            break;
        }
        obstacles.extend(take(import, granted, &mut detected));
    }
    if obstacles.len() > NAMES_MAX {
        let more = obstacles.len() - NAMES_MAX;
        obstacles.truncate(NAMES_MAX);
        obstacles.push(Obstacle::More { obstacles: more });
    }
    if !obstacles.is_empty() {
        return Err(obstacles);
    }
    // One that brings versions of a role for several hosts knows what each of them has.
    if has_other_versions {
        detected.newer.clear();
    }
    detected.newer.truncate(NAMES_MAX);
    Ok(detected)
}

/// The interface that serves an import of this project, with its version here.
pub(crate) fn served_by(import: &str) -> Option<String> {
    let (interface, expected) = import.split_once('@')?;
    let version = versions_here(interface).into_iter().find(|served| serves(served, expected))?;
    Some(format!("{interface}@{version}"))
}

/// Notes what an import means, or says what is in the way.
fn take(import: &str, granted: Capabilities, detected: &mut Detected) -> Option<Obstacle> {
    let denied = |here: bool, list: &mut Vec<String>| {
        if !here {
            list.push(import.to_owned());
        }
    };
    if let Some(served) = served_by(import)
        && let (Some((_, expected)), Some((_, version))) = (import.split_once('@'), served.split_once('@'))
        && is_newer(expected, version)
    {
        let import = shown(import);
        detected.newer.push(format!(
            "it was built against {import}, and this host has {version}: a call of what came later is refused"
        ));
    }
    if let Some(role) = role_of_types(import) {
        // On the other engine than its role's it is of no use, but the component has it.
        denied(role == Role::Admission, &mut detected.denied);
        denied(role != Role::Admission, &mut detected.denied_async);
        return None;
    }
    match import {
        _ if SECRET.iter().any(|secret| is_served(secret, import)) => {
            detected.wants.secret = true;
            not_granted(import, "secrets", granted.secret)
        }
        _ if EXEC.iter().any(|exec| is_served(exec, import)) => {
            detected.wants.exec = true;
            denied(false, &mut detected.denied);
            not_granted(import, "exec", granted.exec)
        }
        _ if is_served(CONNECTIONS, import) => {
            detected.network = true;
            denied(false, &mut detected.denied);
            None
        }
        _ if is_served(DATA, import) => {
            detected.data = true;
            None
        }
        _ if GIVEN.iter().any(|given| is_served(given, import)) => None,
        _ if import.starts_with("wasi:") => {
            let basic = WASI_BASIC.iter().any(|package| import.starts_with(package));
            let waiting = WASI_ASYNC.iter().any(|interface| import.starts_with(interface));
            detected.network |= waiting || import.starts_with("wasi:sockets/");
            denied(basic, &mut detected.denied);
            denied(basic || waiting, &mut detected.denied_async);
            None
        }
        // Without a role that is served nothing is of use; with one it may bring what other hosts have.
        _ if import.starts_with("witlet:") && detected.roles().is_empty() => {
            Some(Obstacle::Capability { import: shown(import) })
        }
        _ if import.starts_with("witlet:") => {
            let name = shown(import);
            detected
                .newer
                .push(format!("it imports {name}, which this host doesn't have: a call of it is refused"));
            detected.unserved.push(import.to_owned());
            None
        }
        _ => Some(Obstacle::UnknownImport { import: shown(import) }),
    }
}

/// The interfaces with the types of the roles' contracts, which come with the roles, and their versions.
const TYPES: [(Role, &[(&str, &str)]); 3] =
    [(Role::Admission, admission::TYPES), (Role::Probe, probe::TYPES), (Role::PodSource, pod_source::TYPES)];

/// The role whose types an import is, in a version that is served.
fn role_of_types(import: &str) -> Option<Role> {
    let (expected, older) = import.split_once('@')?;
    let is_it = |(interface, version): &(&str, &str)| *interface == expected && serves(version, older);
    TYPES.iter().find(|(_, types)| types.iter().any(is_it)).map(|(role, _)| *role)
}

/// Whether this interface, in this version, serves who asks for that one.
fn is_served(served: &str, expected: &str) -> bool {
    match (served.split_once('@'), expected.split_once('@')) {
        (Some((served, version)), Some((expected, older))) => served == expected && serves(version, older),
        _ => false,
    }
}

/// The versions of one of this project's interfaces that this host has, as a component imports or exports it; none of what
/// isn't this project's or doesn't exist here.
pub(crate) fn versions_here(interface: &str) -> Vec<&'static str> {
    let exported = [
        (admission::HANDLER, admission::VERSIONS),
        (probe::PROBER, probe::VERSIONS),
        (pod_source::SOURCE, pod_source::VERSIONS),
        (pod_source::FEEDBACK, pod_source::VERSIONS),
    ];
    let imported = SECRET
        .into_iter()
        .chain(EXEC)
        .chain([DATA, CONNECTIONS])
        .chain(GIVEN)
        .filter_map(|given| given.split_once('@'));
    let exported = exported
        .into_iter()
        .flat_map(|(name, versions)| versions.iter().map(move |version| (name, *version)));
    let types = TYPES.iter().flat_map(|(_, types)| types.iter().copied());
    imported
        .chain(types)
        .chain(exported)
        .filter(|(name, _)| *name == interface)
        .map(|(_, version)| version)
        .collect()
}

fn not_granted(import: &str, grant: &'static str, granted: bool) -> Option<Obstacle> {
    (!granted).then(|| Obstacle::NotGranted { import: import.to_owned(), grant })
}

/// A name as it is shown: the component's author chose it.
fn shown(name: &str) -> String {
    printable(name, NAME_BYTES_MAX)
}

/// Finds the roles among the exports. A role of another version is in the way only if the component has none that is
/// served: it may bring an older and a newer one, for older and newer hosts. Returns whether it does.
fn roles(exports: &[&str], detected: &mut Detected, obstacles: &mut Vec<Obstacle>) -> bool {
    let mut others = Vec::new();
    let mut feedback = None;
    for export in exports {
        let Some((interface, version)) = export.split_once('@') else { continue };
        let other = |served| Obstacle::Version { export: shown(export), served };
        match interface {
            admission::HANDLER => match admission::serving(version) {
                Some(adapter) => detected.admission = Some(newer(detected.admission, adapter)),
                None => others.push(other(admission::VERSIONS)),
            },
            probe::PROBER => match probe::serving(version) {
                Some(adapter) => detected.probe = Some(newer(detected.probe, adapter)),
                None => others.push(other(probe::VERSIONS)),
            },
            pod_source::SOURCE => match pod_source::serving(version) {
                Some(adapter) => detected.pod_source = Some(newer(detected.pod_source, adapter)),
                None => others.push(other(pod_source::VERSIONS)),
            },
            pod_source::FEEDBACK if pod_source::serving(version).is_some() => {
                feedback = Some(*export);
            }
            _ => {}
        }
    }
    detected.feedback = feedback.is_some();
    let has_other_versions = !others.is_empty();
    if detected.roles().is_empty() {
        obstacles.append(&mut others);
        if obstacles.is_empty() {
            let exports = exports.iter().take(NAMES_MAX).map(|name| shown(name)).collect();
            obstacles.push(Obstacle::WrongWorld { exports });
        }
    } else if let Some(export) = feedback
        && detected.pod_source.is_none()
    {
        obstacles.push(Obstacle::FeedbackAlone { export: shown(export) });
    }
    has_other_versions
}

#[cfg(test)]
mod tests;
