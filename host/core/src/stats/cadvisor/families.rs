//! The families, each written in one go over all rows, so that a body is never in memory as a whole.

mod cpu;
mod disk;
mod memory;
mod network;
mod process;
mod spec;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;

use super::disks::BlockDevice;
use super::machine::{Machine, machine_text, version_text};
use super::rows::{Row, push_label};
use crate::stats::exposition::Kind;

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

/// The response in the text format of Prometheus, family by family: small pieces, made when they are wanted.
pub fn chunks(scrape: Arc<Scrape>) -> impl Iterator<Item = String> + Send {
    let labels: Vec<String> = scrape.rows.iter().map(|row| row.labels.text()).collect();
    let error = scrape_error("container_scrape_error", "container metrics", scrape.has_failed);
    let first = [version_text(&scrape.machine), error, machine_text(&scrape.machine)];
    let last = scrape_error("machine_scrape_error", "machine metrics", scrape.machine.topology.is_none());
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
    let of_rows = families.into_iter().map(move |family| family.text(&scrape, &labels));
    let all = first.into_iter().chain(of_rows).chain([last]);
    all.filter(|text| !text.is_empty())
}

fn scrape_error(name: &str, of: &str, failed: bool) -> String {
    let value = u8::from(failed);
    format!(
        "# HELP {name} 1 if there was an error while getting {of}, 0 otherwise\n# TYPE {name} gauge\n{name} {value}\n"
    )
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

    /// Empty if no row has such a figure.
    fn text(&self, scrape: &Scrape, labels: &[String]) -> String {
        let Self { name, help, kind, figures } = self;
        let mut text = String::new();
        for (row, labels) in scrape.rows.iter().zip(labels) {
            figures(
                row,
                &mut Figures { text: &mut text, name, labels, scrape, at: Some(row.details.usage.at) },
            );
        }
        if text.is_empty() {
            return text;
        }
        let kind = kind.name();
        format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{text}")
    }
}

/// Where a family's figures of one row go.
struct Figures<'a> {
    text: &'a mut String,
    name: &'static str,
    labels: &'a str,
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
        self.text.push_str(self.name);
        self.text.push('{');
        self.text.push_str(self.labels);
        for (name, value) in labels {
            push_label(self.text, name, value);
        }
        self.text.push('}');
        // Writing to a string doesn't fail.
        let _infallible = write!(self.text, " {value}");
        if let Some(at) = self.at {
            let _infallible = write!(self.text, " {}", at.as_millisecond());
        }
        self.text.push('\n');
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
