//! The families, each written in one go over all rows, so that a body is never in memory as a whole.

mod cpu;
mod disk;
mod memory;
mod network;
mod process;
mod spec;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::disks::BlockDevice;
use super::machine::{Machine, write_machine, write_version};
use super::rows::Row;
use crate::stats::exposition::{Exposition, FamilyWriter, Format, Kind, Labels, piece};

/// All that one response shows.
#[derive(Clone, Debug, Default)]
pub struct Scrape {
    /// When it was gathered.
    pub at: Timestamp,
    /// The cgroups; empty if they couldn't be listed.
    pub rows: Vec<Row>,
    /// Whether they couldn't be listed.
    pub has_failed: bool,
    /// Names of block devices below `/dev`.
    pub devices: BTreeMap<BlockDevice, String>,
    /// The machine.
    pub machine: Machine,
}

/// The response, family by family: small pieces, made when they are wanted.
pub fn chunks(scrape: Arc<Scrape>, format: Format) -> impl Iterator<Item = Vec<u8>> + Send {
    let labels: Vec<Labels> = scrape.rows.iter().map(|row| Labels::new(format, row.labels.pairs())).collect();
    let first = piece(format, |to| {
        write_version(to, &scrape.machine);
        scrape_error(to, "container_scrape_error", CONTAINER_ERROR, scrape.has_failed);
        write_machine(to, &scrape.machine);
    });
    let last = piece(format, |to| {
        scrape_error(to, "machine_scrape_error", MACHINE_ERROR, scrape.machine.topology.is_none());
    });
    let mut families: Vec<&'static Family> = [
        cpu::FAMILIES,
        disk::FAMILIES,
        memory::FAMILIES,
        network::FAMILIES,
        process::FAMILIES,
        spec::FAMILIES,
    ]
    .into_iter()
    .flatten()
    .collect();
    families.sort_by_key(|family| family.name);
    let of_rows =
        families.into_iter().map(move |family| piece(format, |to| family.write(to, &scrape, &labels)));
    let all = std::iter::once(first).chain(of_rows).chain([last]);
    all.filter(|piece| !piece.is_empty())
}

const CONTAINER_ERROR: &str = "1 if there was an error while getting container metrics, 0 otherwise";
const MACHINE_ERROR: &str = "1 if there was an error while getting machine metrics, 0 otherwise";

fn scrape_error(to: &mut Exposition, name: &str, help: &str, failed: bool) {
    to.gauge(name, help, f64::from(u8::from(failed)));
}

/// Figures of one name.
struct Family {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    figures: fn(&Row, &mut Figures<'_>),
}

impl Family {
    const fn counter(name: &'static str, help: &'static str, figures: fn(&Row, &mut Figures<'_>)) -> Self {
        Self { name, help, kind: Kind::Counter, figures }
    }

    const fn gauge(name: &'static str, help: &'static str, figures: fn(&Row, &mut Figures<'_>)) -> Self {
        Self { name, help, kind: Kind::Gauge, figures }
    }

    fn write(&self, to: &mut Exposition, scrape: &Scrape, labels: &[Labels]) {
        let Self { name, help, kind, figures } = self;
        let none = Labels::default();
        let mut to = Figures { family: to.family(name, help, *kind), labels: &none, scrape, at: None };
        for (row, labels) in scrape.rows.iter().zip(labels) {
            to.labels = labels;
            to.at = Some(row.details.usage.at);
            figures(row, &mut to);
        }
    }
}

/// Where a family's figures of one row go.
struct Figures<'a> {
    family: FamilyWriter<'a>,
    labels: &'a Labels,
    scrape: &'a Scrape,
    at: Option<Timestamp>,
}

impl Figures<'_> {
    /// A figure without further labels.
    fn put(&mut self, value: f64) {
        self.put_with(&[], value);
    }

    /// A figure with these labels besides the row's.
    fn put_with(&mut self, labels: &[(&str, &str)], value: f64) {
        self.family.sample_of(self.labels, labels, value, self.at);
    }

    /// Figures of limits and of starts have no time of their own.
    fn without_time(&mut self) -> &mut Self {
        self.at = None;
        self
    }

    /// The path of a device; none of one that isn't known any more.
    fn device(&self, device: BlockDevice) -> Option<String> {
        self.scrape.devices.get(&device).map(|name| format!("/dev/{name}"))
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
