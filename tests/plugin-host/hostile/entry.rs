//! An attack as an entry of the configuration.

use std::path::Path;

use witlet_test_guests::corpus::{Attack, Origin, Role};
use witlet_test_guests::{FORGERS, HANDLERS, INTRUDER, SOURCER};

use crate::servers::Servers;

/// The namespace that sources may bring pods into.
pub(crate) const NAMESPACE: &str = "edge";

/// Puts the component where the entry names it.
pub(crate) fn place(attack: &Attack, folder: &Path) {
    let path = folder.join(file_name(attack));
    let written = match attack.origin {
        // Already there, for all who use them.
        Origin::Intruder | Origin::Sourcer => return,
        Origin::Written => std::fs::write(&path, written(attack.name)),
        Origin::Made(make) => std::fs::write(&path, make()),
        Origin::Sparse(make) => {
            let (head, length) = make();
            std::fs::write(&path, head)
                .and_then(|()| std::fs::OpenOptions::new().write(true).open(&path))
                .and_then(|file| file.set_len(length))
        }
    };
    written.expect("the test's folder is writable");
}

/// Puts the components that many entries name.
pub(crate) fn place_common(folder: &Path) {
    for (name, bytes) in [("intruder.wasm", INTRUDER), ("sourcer.wasm", SOURCER)] {
        std::fs::write(folder.join(name), bytes).expect("the test's folder is writable");
    }
}

fn file_name(attack: &Attack) -> String {
    match attack.origin {
        Origin::Intruder => "intruder.wasm".to_owned(),
        Origin::Sourcer => "sourcer.wasm".to_owned(),
        Origin::Written | Origin::Made(_) | Origin::Sparse(_) => format!("{}.wasm", attack.name),
    }
}

fn written(name: &str) -> &'static [u8] {
    let mut all = HANDLERS.iter().chain(FORGERS);
    all.find(|(known, _)| *known == name).map(|(_, bytes)| *bytes).expect("the corpus names what is there")
}

/// The entry, in one line.
pub(crate) fn entry(attack: &Attack, folder: &Path, servers: &Servers) -> String {
    let Attack { name, role, timeout, memory, .. } = attack;
    let file = file_name(attack);
    let (role, time) = match role {
        Role::Admission => {
            (format!("admission: {{match: {{namespaces: [{name}]}}}}"), format!("timeout: {timeout}ms"))
        }
        Role::Probe => (format!("probe: {{type: {name}}}"), String::new()),
        Role::PodSource => (
            format!("podSource: {{interval: 1s, allow: {{namespaces: [{NAMESPACE}]}}}}"),
            format!("timeout: {timeout}ms"),
        ),
    };
    let memory = if memory.is_empty() { String::new() } else { format!("memory: {memory}") };
    let limits = [time, memory].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    let fill = |text: &str| servers.fill(text).replace("{folder}", &folder.join("data").to_string_lossy());
    let config = match attack.origin {
        Origin::Intruder => {
            serde_json::to_string(&fill(attack.config)).expect("every text can be written as JSON")
        }
        Origin::Sourcer | Origin::Written | Origin::Made(_) | Origin::Sparse(_) => fill(attack.config),
    };
    let grants = fill(attack.grants);
    format!(
        "- {{name: {name}, component: {file}, {role}, limits: {{{limits}}}, grants: {{{grants}}}, config: {config}}}\n"
    )
}
