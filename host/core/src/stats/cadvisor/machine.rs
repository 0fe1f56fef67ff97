//! What the machine has.

use std::collections::BTreeSet;

use super::rows::push_label;

/// The machine, by which all its figures are labelled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Of `/etc/machine-id`.
    pub machine_id: String,
    /// Of the firmware.
    pub system_uuid: String,
    /// Of this boot.
    pub boot_id: String,
    /// The kernel's release.
    pub kernel_version: String,
    /// The operating system's name.
    pub os_version: String,
    /// Processors; none if they can't be read.
    pub topology: Option<Topology>,
    /// Bytes.
    pub memory: Option<u64>,
    /// Bytes.
    pub swap: Option<u64>,
}

/// Places of one logical processor: its core, socket, book and drawer; the last two are those of mainframes.
type Place = [i64; 4];

/// Processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Logical ones.
    pub processors: u64,
    /// Cores.
    pub cores: u64,
    /// Sockets.
    pub sockets: u64,
    /// Books; 0 where the machine has none.
    pub books: u64,
    /// Drawers; 0 where the machine has none.
    pub drawers: u64,
}

impl Topology {
    /// Of each logical processor's core, socket, book and drawer; -1 for a book or drawer that it isn't in.
    pub fn of(places: &[Place]) -> Self {
        let distinct = |key: fn(&Place) -> (i64, i64)| {
            let all: BTreeSet<(i64, i64)> = places.iter().map(key).filter(|(_, id)| *id >= 0).collect();
            count(all.len())
        };
        Self {
            processors: count(places.len()),
            // Each socket numbers its cores.
            cores: distinct(|[core, socket, _, _]| (*socket, *core)),
            sockets: distinct(|[_, socket, _, _]| (0, *socket)),
            books: distinct(|[_, _, book, _]| (0, *book)),
            drawers: distinct(|[_, _, _, drawer]| (0, *drawer)),
        }
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// The families of the machine; a figure that isn't known isn't there.
pub(super) fn machine_text(machine: &Machine) -> String {
    let topology = machine.topology.as_ref();
    let processors = |of: fn(&Topology) -> u64| topology.map(of);
    let figures = [
        ("machine_cpu_books", "Books of processors", processors(|topology| topology.books)),
        ("machine_cpu_cores", "Logical processors", processors(|topology| topology.processors)),
        ("machine_cpu_drawers", "Drawers of processors", processors(|topology| topology.drawers)),
        ("machine_cpu_physical_cores", "Cores of processors", processors(|topology| topology.cores)),
        ("machine_cpu_sockets", "Sockets of processors", processors(|topology| topology.sockets)),
        ("machine_memory_bytes", "Memory of the machine", machine.memory),
        ("machine_swap_bytes", "Swap of the machine", machine.swap),
    ];
    let mut labels = String::new();
    push_label(&mut labels, "boot_id", &machine.boot_id);
    push_label(&mut labels, "machine_id", &machine.machine_id);
    push_label(&mut labels, "system_uuid", &machine.system_uuid);
    let mut text = String::new();
    for (name, help, value) in figures {
        if let Some(value) = value {
            text += &format!("# HELP {name} {help}\n# TYPE {name} gauge\n{name}{{{labels}}} {value}\n");
        }
    }
    text
}

/// Which software counts; there is no Docker and no cAdvisor here.
pub(super) fn version_text(machine: &Machine) -> String {
    let name = "cadvisor_version_info";
    let mut labels = String::new();
    for (label, value) in [
        ("cadvisorRevision", ""),
        ("cadvisorVersion", ""),
        ("dockerVersion", ""),
        ("kernelVersion", &machine.kernel_version),
        ("osVersion", &machine.os_version),
    ] {
        push_label(&mut labels, label, value);
    }
    format!(
        "# HELP {name} Always 1; its labels name the kernel and the operating system\n# TYPE {name} gauge\n{name}{{{labels}}} 1\n"
    )
}
