//! What the machine has.

use std::collections::BTreeSet;

use crate::stats::exposition::{Exposition, Kind};

/// The machine, by which all its figures are labelled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Of `/etc/machine-id`.
    pub machine_id: String,
    pub system_uuid: String,
    pub boot_id: String,
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
type CpuPlace = [i64; 4];

/// Processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    pub processors: u64,
    pub cores: u64,
    pub sockets: u64,
    /// Books; 0 where the machine has none.
    pub books: u64,
    /// Drawers; 0 where the machine has none.
    pub drawers: u64,
}

impl Topology {
    /// Of each logical processor's core, socket, book and drawer; -1 for a book or drawer that it isn't in.
    pub fn of(places: &[CpuPlace]) -> Self {
        let distinct = |key: fn(&CpuPlace) -> (i64, i64)| {
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
pub(super) fn write_machine(to: &mut Exposition, machine: &Machine) {
    let topology = machine.topology.as_ref();
    let processors = |of: fn(&Topology) -> u64| topology.map(of);
    let figures = [
        ("machine_cpu_books", "Number of CPU books.", processors(|topology| topology.books)),
        ("machine_cpu_cores", "Number of logical CPU cores.", processors(|topology| topology.processors)),
        ("machine_cpu_drawers", "Number of CPU drawers.", processors(|topology| topology.drawers)),
        (
            "machine_cpu_physical_cores",
            "Number of physical CPU cores.",
            processors(|topology| topology.cores),
        ),
        ("machine_cpu_sockets", "Number of CPU sockets.", processors(|topology| topology.sockets)),
        ("machine_memory_bytes", "Amount of memory installed on the machine.", machine.memory),
        ("machine_swap_bytes", "Amount of swap memory available on the machine.", machine.swap),
    ];
    let labels = [
        ("boot_id", &*machine.boot_id),
        ("machine_id", &*machine.machine_id),
        ("system_uuid", &*machine.system_uuid),
    ];
    for (name, help, value) in figures {
        if let Some(value) = value {
            to.family(name, help, Kind::Gauge).sample(&labels, value as f64);
        }
    }
}

/// Which software counts; there is no Docker and no cAdvisor here.
pub(super) fn write_version(to: &mut Exposition, machine: &Machine) {
    let labels = [
        ("cadvisorRevision", ""),
        ("cadvisorVersion", ""),
        ("dockerVersion", ""),
        ("kernelVersion", &*machine.kernel_version),
        ("osVersion", &*machine.os_version),
    ];
    let help = "A metric with a constant '1' value labeled by kernel version, OS version, docker version, \
                cadvisor version & cadvisor revision.";
    to.family("cadvisor_version_info", help, Kind::Gauge).sample(&labels, 1.0);
}
