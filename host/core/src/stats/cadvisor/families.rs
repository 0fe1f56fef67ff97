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
use crate::stats::exposition::{Exposition, FamilyWriter, Format, Kind, Labels, piece, piece_in};

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
    pub machine: Machine,
}

/// A piece of text is as large, or a row larger.
const PIECE_BYTES: usize = 32 * 1024;
/// Of a row, in most families.
const ROW_BYTES: usize = 4 * 1024;

/// The response in small pieces, made as they are sent.
pub fn chunks(scrape: Arc<Scrape>, format: Format) -> impl Iterator<Item = Vec<u8>> + Send {
    let first = piece(format, |to| {
        write_version(to, &scrape.machine);
        scrape_error(to, "container_scrape_error", CONTAINER_ERROR, scrape.has_failed);
        write_machine(to, &scrape.machine);
    });
    let last = piece(format, |to| {
        scrape_error(to, "machine_scrape_error", MACHINE_ERROR, scrape.machine.topology.is_none());
    });
    let all = std::iter::once(first).chain(FamilyPieces::new(scrape, format)).chain([last]);
    all.filter(|piece| !piece.is_empty())
}

/// The families of rows, in the order of their names. A family in text is as many pieces as it takes; one of Protocol Buffers, whose length
/// goes before it, is one.
struct FamilyPieces {
    scrape: Arc<Scrape>,
    format: Format,
    labels: Vec<Labels>,
    families: Vec<&'static Family>,
    /// The family that is next, the row that is its next, and whether the family has begun.
    at: (usize, usize, bool),
}

impl FamilyPieces {
    fn new(scrape: Arc<Scrape>, format: Format) -> Self {
        let labels = scrape.rows.iter().map(|row| Labels::new(format, row.labels.pairs())).collect();
        let all = [
            cpu::FAMILIES,
            disk::FAMILIES,
            memory::FAMILIES,
            network::FAMILIES,
            process::FAMILIES,
            spec::FAMILIES,
        ];
        let mut families: Vec<&'static Family> = all.into_iter().flatten().collect();
        families.sort_by_key(|family| family.name);
        Self { scrape, format, labels, families, at: (0, 0, false) }
    }

    fn is_full(&self, to: &Exposition) -> bool {
        to.len() >= PIECE_BYTES && self.format == Format::Text
    }

    /// Writes until the piece is full, and says where the next one goes on.
    fn write(&self, to: &mut Exposition) -> (usize, usize, bool) {
        let (mut at, mut row, mut is_begun) = self.at;
        while let Some(family) = self.families.get(at) {
            (row, is_begun) = family.write(to, self, row, is_begun);
            if row < self.scrape.rows.len() {
                break;
            }
            (at, row, is_begun) = (at + 1, 0, false);
            if self.is_full(to) || self.format == Format::Protobuf {
                break;
            }
        }
        (at, row, is_begun)
    }
}

impl Iterator for FamilyPieces {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.at.0 >= self.families.len() {
            return None;
        }
        let bytes = if self.format == Format::Text { PIECE_BYTES + ROW_BYTES } else { 0 };
        let (piece, at) = piece_in(self.format, bytes, |to| self.write(to));
        self.at = at;
        Some(piece)
    }
}

const CONTAINER_ERROR: &str = "1 if there was an error while getting container metrics, 0 otherwise";
const MACHINE_ERROR: &str = "1 if there was an error while getting machine metrics, 0 otherwise.";

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

    /// Writes the figures of this row and those after it, until the piece is full; returns the row that is next, and whether the family
    /// has begun.
    fn write(&self, to: &mut Exposition, pieces: &FamilyPieces, row: usize, is_begun: bool) -> (usize, bool) {
        let Self { name, help, kind, figures } = self;
        let (scrape, none) = (&*pieces.scrape, Labels::default());
        let family = if is_begun { to.rest_of_family(name) } else { to.family(name, help, *kind) };
        let mut to = Figures { family, labels: &none, scrape, at: None };
        for (number, (row, labels)) in scrape.rows.iter().zip(&pieces.labels).enumerate().skip(row) {
            to.labels = labels;
            to.at = Some(row.details.usage.at);
            figures(row, &mut to);
            if pieces.is_full(to.family.written_to()) {
                return (number + 1, to.family.is_begun());
            }
        }
        (scrape.rows.len(), to.family.is_begun())
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

    /// A time in seconds, without further labels.
    fn put_seconds(&mut self, nanoseconds: u64) {
        self.put_seconds_with(&[], nanoseconds);
    }

    fn put_seconds_with(&mut self, labels: &[(&str, &str)], nanoseconds: u64) {
        self.family.seconds_of(self.labels, labels, nanoseconds, self.at);
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
