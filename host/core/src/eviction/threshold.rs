//! Thresholds as the kubelet's configuration sets them (`ParseThresholdConfig`, `UpdateContainerFsThresholds` in `helpers.go`).

use std::collections::BTreeMap;
use std::fmt;

use jiff::SignedDuration;
use thiserror::Error;

use super::filesystems::Filesystems;
use super::signal::Signal;
use crate::duration;
use crate::pod::quantity::{self, QuantityError};

#[cfg(test)]
mod tests;

/// Upstream's hard thresholds on Linux.
pub const DEFAULT_EVICTION_HARD: [(&str, &str); 5] = [
    ("memory.available", "100Mi"),
    ("nodefs.available", "10%"),
    ("nodefs.inodesFree", "5%"),
    ("imagefs.available", "15%"),
    ("imagefs.inodesFree", "5%"),
];

/// An amount, or a part of what there is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThresholdValue {
    /// So much, rounded up to whole bytes or pieces.
    Quantity {
        amount: i64,
        /// Whether it was written in powers of 1024, and is printed so.
        is_binary: bool,
    },
    /// A part of the capacity, from 0 to 1.
    Percentage(f32),
}

impl ThresholdValue {
    /// The amount that this is of a capacity.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "upstream's arithmetic")]
    pub fn amount(self, capacity: i64) -> i64 {
        match self {
            Self::Quantity { amount, .. } => amount,
            Self::Percentage(part) => (capacity as f64 * f64::from(part)) as i64,
        }
    }

    /// The amount as Go prints it; a percentage of anything is printed in powers of 1024.
    pub fn print(self, capacity: i64) -> String {
        match self {
            Self::Quantity { amount, is_binary: false } => quantity::decimal(amount),
            Self::Quantity { .. } | Self::Percentage(_) => quantity::binary(self.amount(capacity)),
        }
    }

    fn quantity(text: &str) -> Result<Self, QuantityError> {
        let amount = quantity::parse(text)?;
        // Rounded away from zero, so that nothing positive becomes none.
        Ok(Self::Quantity { amount: amount.value(), is_binary: text.ends_with('i') })
    }
}

/// As an operator reads it: `100Mi`, `10%`.
impl fmt::Display for ThresholdValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantity { .. } => f.write_str(&self.print(0)),
            // Four digits after the point of a float are noise.
            Self::Percentage(part) => {
                let percent = format!("{:.3}", part * 100.0);
                write!(f, "{}%", percent.trim_end_matches('0').trim_end_matches('.'))
            }
        }
    }
}

/// Less than this, for so long, is a shortage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    pub signal: Signal,
    /// What it is measured against.
    pub value: ThresholdValue,
    /// How long it has to be met; zero is a hard threshold.
    pub grace: SignedDuration,
    /// How much more than the threshold has to be there again before it counts as resolved.
    pub min_reclaim: Option<ThresholdValue>,
}

impl Threshold {
    /// Whether pods are evicted for it at once.
    pub fn is_hard(&self) -> bool {
        self.grace.is_zero()
    }

    /// Whether they are one threshold; what has to be reclaimed doesn't count (upstream: `hasThreshold`).
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let values_agree = match (self.value, other.value) {
            (ThresholdValue::Quantity { amount: a, .. }, ThresholdValue::Quantity { amount: b, .. }) => {
                a == b
            }
            (a, b) => a == b,
        };
        self.signal == other.signal && self.grace == other.grace && values_agree
    }
}

/// As the kubelet's flag writes it: `memory.available<100Mi`.
impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}<{}", self.signal, self.value)
    }
}

/// A threshold that makes no sense, in upstream's words where it has some.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ThresholdError {
    #[error("unsupported eviction signal {0}")]
    Signal(String),
    #[error("eviction percentage threshold {0} must be >= 0%: {1}")]
    BelowZero(Signal, String),
    #[error("eviction percentage threshold {0} must be <= 100%: {1}")]
    AboveAll(Signal, String),
    #[error("eviction threshold {0} must be positive: {1}")]
    NotPositive(Signal, String),
    /// A soft threshold without its time.
    #[error("grace period must be specified for the soft eviction threshold {0}")]
    NoGrace(Signal),
    /// A time that can't pass.
    #[error("invalid eviction grace period specified: {0}, must be a positive value")]
    NegativeGrace(String),
    #[error("time: invalid duration {0:?}")]
    Duration(String),
    /// A percentage of zero or less.
    #[error("eviction percentage minimum reclaim {0} must be positive: {1}")]
    ReclaimPercentage(Signal, String),
    #[error("negative eviction minimum reclaim specified for {0}")]
    NegativeReclaim(Signal),
    /// Not a number before the `%`.
    #[error("{0}: {1:?} is not a percentage")]
    Percentage(Signal, String),
    #[error("{0}: {1}")]
    Quantity(Signal, QuantityError),
}

/// What the configuration says of thresholds, text by signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThresholdConfig {
    /// `evictionHard`; none is upstream's default, an empty one is none at all.
    pub hard: Option<BTreeMap<String, String>>,
    /// `evictionSoft`
    pub soft: BTreeMap<String, String>,
    /// `evictionSoftGracePeriod`
    pub soft_grace: BTreeMap<String, String>,
    /// `evictionMinimumReclaim`
    pub min_reclaim: BTreeMap<String, String>,
    /// `mergeDefaultEvictionSettings`: what `evictionHard` leaves out has upstream's default.
    pub merge_defaults: bool,
    /// Whether `enforceNodeAllocatable` has `pods`.
    pub enforces_pods: bool,
}

impl ThresholdConfig {
    /// The hard thresholds as texts, with the defaults.
    fn hard_texts(&self) -> BTreeMap<String, String> {
        let defaults = || DEFAULT_EVICTION_HARD.map(|(signal, value)| (signal.to_owned(), value.to_owned()));
        match &self.hard {
            None => defaults().into(),
            Some(hard) if self.merge_defaults => {
                let mut all: BTreeMap<String, String> = defaults().into();
                all.extend(hard.clone());
                all
            }
            Some(hard) => hard.clone(),
        }
    }

    /// The thresholds, hard ones first.
    ///
    /// # Errors
    /// The first setting that makes no sense.
    pub fn thresholds(&self) -> Result<Vec<Threshold>, ThresholdError> {
        let mut all = statements(&self.hard_texts())?;
        let mut soft = statements(&self.soft)?;
        let graces = graces(&self.soft_grace)?;
        let reclaims = reclaims(&self.min_reclaim)?;
        for threshold in &mut soft {
            let grace = graces.get(&threshold.signal);
            threshold.grace = *grace.ok_or(ThresholdError::NoGrace(threshold.signal))?;
        }
        all.append(&mut soft);
        for threshold in &mut all {
            threshold.min_reclaim = reclaims.get(&threshold.signal).copied();
        }
        if self.enforces_pods {
            let of_pods: Vec<Threshold> = all.iter().filter_map(for_allocatable).collect();
            all.extend(of_pods);
        }
        Ok(all)
    }
}

/// What is set for the node's memory holds for the pods' as well.
fn for_allocatable(threshold: &Threshold) -> Option<Threshold> {
    let is_meant = threshold.signal == Signal::MemoryAvailable && threshold.is_hard();
    is_meant.then_some(Threshold { signal: Signal::AllocatableMemoryAvailable, ..*threshold })
}

fn signal(word: &str) -> Result<Signal, ThresholdError> {
    Signal::parse(word).ok_or_else(|| ThresholdError::Signal(word.to_owned()))
}

fn statements(texts: &BTreeMap<String, String>) -> Result<Vec<Threshold>, ThresholdError> {
    let mut found = Vec::new();
    for (word, text) in texts {
        let signal = signal(word)?;
        if let Some(value) = statement(signal, text)? {
            found.push(Threshold { signal, value, grace: SignedDuration::ZERO, min_reclaim: None });
        }
    }
    found.sort_by_key(|threshold| threshold.signal);
    Ok(found)
}

/// Parses a threshold; `None` for `0%` and `100%`, which disable it.
fn statement(signal: Signal, text: &str) -> Result<Option<ThresholdValue>, ThresholdError> {
    if text.ends_with('%') {
        if text == "0%" || text == "100%" {
            return Ok(None);
        }
        return match percentage(signal, text)? {
            part if part < 0.0 => Err(ThresholdError::BelowZero(signal, text.to_owned())),
            part if part > 1.0 => Err(ThresholdError::AboveAll(signal, text.to_owned())),
            part => Ok(Some(ThresholdValue::Percentage(part))),
        };
    }
    let value = ThresholdValue::quantity(text).map_err(|cause| ThresholdError::Quantity(signal, cause))?;
    if value.amount(0) <= 0 {
        return Err(ThresholdError::NotPositive(signal, quantity::canonical(text)));
    }
    Ok(Some(value))
}

fn percentage(signal: Signal, text: &str) -> Result<f32, ThresholdError> {
    let number: Option<f32> = text.trim_end_matches('%').parse().ok();
    // A number that is none has no order.
    let number = number.filter(|number| !number.is_nan());
    number.map(|number| number / 100.0).ok_or_else(|| ThresholdError::Percentage(signal, text.to_owned()))
}

fn graces(texts: &BTreeMap<String, String>) -> Result<BTreeMap<Signal, SignedDuration>, ThresholdError> {
    let grace = |(word, text): (&String, &String)| {
        let signal = signal(word)?;
        let nanoseconds =
            duration::nanoseconds(text).ok_or_else(|| ThresholdError::Duration(text.clone()))?;
        if nanoseconds < 0 {
            return Err(ThresholdError::NegativeGrace(text.clone()));
        }
        Ok((signal, SignedDuration::from_nanos(nanoseconds)))
    };
    texts.iter().map(grace).collect()
}

fn reclaims(texts: &BTreeMap<String, String>) -> Result<BTreeMap<Signal, ThresholdValue>, ThresholdError> {
    let reclaim = |(word, text): (&String, &String)| {
        let signal = signal(word)?;
        if text.ends_with('%') {
            let part = percentage(signal, text)?;
            if part <= 0.0 {
                return Err(ThresholdError::ReclaimPercentage(signal, text.clone()));
            }
            return Ok((signal, ThresholdValue::Percentage(part)));
        }
        let value =
            ThresholdValue::quantity(text).map_err(|cause| ThresholdError::Quantity(signal, cause))?;
        if value.amount(0) < 0 {
            return Err(ThresholdError::NegativeReclaim(signal));
        }
        Ok((signal, value))
    };
    texts.iter().map(reclaim).collect()
}

/// The thresholds with those of writable layers: what is set for the file system that they are on, in place of what the operator set.
/// (Upstream adds thresholds without an operator where nothing is set; these are never met, and aren't added here.)
pub(super) fn with_container_fs(thresholds: &[Threshold], filesystems: Filesystems) -> Vec<Threshold> {
    let (available, inodes) = match filesystems {
        Filesystems::Single | Filesystems::Split => (Signal::NodeFsAvailable, Signal::NodeFsInodesFree),
        Filesystems::DedicatedImages => (Signal::ImageFsAvailable, Signal::ImageFsInodesFree),
    };
    let is_own = |threshold: &&Threshold| !is_of_containers(threshold);
    let copied = thresholds.iter().filter_map(|threshold| {
        let signal = match threshold.signal {
            signal if signal == available => Signal::ContainerFsAvailable,
            signal if signal == inodes => Signal::ContainerFsInodesFree,
            _ => return None,
        };
        Some(Threshold { signal, ..*threshold })
    });
    thresholds.iter().filter(is_own).copied().chain(copied).collect()
}

/// Upstream's words for each threshold of the operator's that [`with_container_fs`] leaves out.
pub fn ignored(thresholds: &[Threshold]) -> Vec<String> {
    let words = |threshold: &Threshold| {
        let kind = if threshold.is_hard() { "hard" } else { "soft" };
        format!("found {} for {kind} eviction. ignoring", threshold.signal)
    };
    thresholds.iter().filter(|threshold| is_of_containers(threshold)).map(words).collect()
}

/// A sentence for each soft threshold that is never met before a hard one of its signal, and so does nothing. Upstream is silent.
pub fn ineffective(thresholds: &[Threshold]) -> Vec<String> {
    let (hard, soft): (Vec<&Threshold>, Vec<&Threshold>) = thresholds.iter().partition(|one| one.is_hard());
    let words = |soft: &&Threshold| {
        let hides = |hard: &&&Threshold| hard.signal == soft.signal && is_at_least(hard.value, soft.value);
        let hard = hard.iter().find(hides)?;
        Some(format!("the soft threshold {soft} has no effect: the hard threshold {hard} is met before it"))
    };
    soft.iter().filter_map(words).collect()
}

/// False also where the capacity would have to be known.
fn is_at_least(this: ThresholdValue, other: ThresholdValue) -> bool {
    match (this, other) {
        (ThresholdValue::Quantity { amount: this, .. }, ThresholdValue::Quantity { amount: other, .. }) => {
            this >= other
        }
        (ThresholdValue::Percentage(this), ThresholdValue::Percentage(other)) => this >= other,
        _ => false,
    }
}

fn is_of_containers(threshold: &Threshold) -> bool {
    matches!(threshold.signal, Signal::ContainerFsAvailable | Signal::ContainerFsInodesFree)
}
