//! Fuzz targets: each takes any bytes, hands them to the parsers of one place, and panics where one of them breaks its promise.
//!
//! A target promises for all bytes: no panic, the same result for the same bytes, messages and results within bounds, and where a
//! result can be written, that reading it again gives the same. `tests/bounded.rs` runs the targets over their corpora and a
//! bounded number of changed inputs; cargo-fuzz runs them with coverage.
#![forbid(unsafe_code)]
#![allow(clippy::panic, reason = "a target fails by panicking")]

mod cel;
mod cel_rules;
#[cfg(feature = "engine")]
mod component;
mod cri_lists;
mod environment;
mod image_references;
mod kubeconfig;
#[cfg(feature = "kubelet")]
mod kubelet_configuration;
mod log_lines;
mod manifests;
pub mod mutate;
#[cfg(feature = "engine")]
mod plugin_configuration;
#[cfg(feature = "engine")]
mod plugin_manifest;
mod registry_answers;
mod resolver_files;
mod upgrades;
mod watch_events;

/// One target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its corpus and of its program for cargo-fuzz.
    pub name: &'static str,
    /// Takes an input. Panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Words of its inputs, for those who change them.
    pub words: &'static [&'static str],
}

/// All targets.
pub const TARGETS: &[Target] = &[
    cel::TARGET,
    cel_rules::TARGET,
    #[cfg(feature = "engine")]
    component::TARGET,
    cri_lists::TARGET,
    environment::TARGET,
    image_references::TARGET,
    kubeconfig::TARGET,
    #[cfg(feature = "kubelet")]
    kubelet_configuration::TARGET,
    log_lines::TARGET,
    manifests::TARGET,
    #[cfg(feature = "engine")]
    plugin_configuration::TARGET,
    #[cfg(feature = "engine")]
    plugin_manifest::TARGET,
    registry_answers::TARGET,
    resolver_files::TARGET,
    upgrades::TARGET,
    watch_events::TARGET,
];

/// The target with this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}

/// Hands an input to the target with this name.
///
/// # Panics
///
/// When there is no such target, or the input breaks one of its promises.
pub fn run(name: &str, data: &[u8]) {
    let target = target(name).unwrap_or_else(|| panic!("there is no target {name}"));
    (target.run)(data);
}

/// Bytes of a message about one thing that is wrong: what it says of foreign words must be cut. Paths of fields may be long, and
/// are counted by `long`.
fn check_message(message: &str, long: usize) {
    const MESSAGE_BYTES_MAX: usize = 4096;
    let most = MESSAGE_BYTES_MAX + long;
    assert!(message.len() <= most, "a message of {} bytes: {:.200}…", message.len(), message);
}

/// The input in two, at the first line that is only this word; all of it and nothing, if there is none.
fn split_at_line<'a>(text: &'a str, word: &str) -> (&'a str, &'a str) {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == word {
            return (&text[..offset], &text[offset + line.len()..]);
        }
        offset += line.len();
    }
    (text, "")
}

/// Where to cut an input into pieces, taken from the input itself: the same bytes are always cut the same.
fn pieces(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut random = mutate::Random::new(
        data.iter().fold(data.len() as u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte))),
    );
    let mut rest = data;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let most = if random.below(4) == 0 { rest.len() } else { 16.min(rest.len()) };
        let (piece, after) = rest.split_at(1 + random.below(most));
        rest = after;
        Some(piece)
    })
}
