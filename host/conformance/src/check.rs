//! What was checked, and what came of it.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;
use witlet_wasm::role::Role;

use crate::plan::Layer;
use crate::plugin_response::Fault;

/// How many bytes of a text a finding has at most: enough to see what it is, too little to fill a terminal.
pub const TEXT_BYTES_MAX: usize = 4 << 10;

/// One check.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub layer: Layer,
    /// The role that it is about; none if it is about the component.
    pub role: Option<Role>,
    /// Stable: `determinism/warm-instance`. Begins with the layer.
    pub id: &'static str,
    /// What holds if it passed, in one line.
    pub title: String,
    /// What came of it.
    pub result: CheckResult,
    /// How long it took.
    #[serde(rename = "tookSeconds", serialize_with = "seconds")]
    pub took: Duration,
}

fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum CheckResult {
    /// The plugin keeps this.
    Passed,
    Failed(Finding),
    /// It couldn't be tried. Never counts as passed.
    Skipped {
        /// Why, and how it can be tried.
        why: String,
    },
}

impl From<Option<Finding>> for CheckResult {
    fn from(found: Option<Finding>) -> Self {
        found.map_or(Self::Passed, Self::Failed)
    }
}

impl From<Tried> for CheckResult {
    fn from(tried: Tried) -> Self {
        tried.map_or_else(|why| Self::Skipped { why }, Self::from)
    }
}

/// What went wrong, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which input: a case's name, or the input itself where it is small.
    pub input: String,
    /// What the plugin did.
    pub seen: String,
    /// What the contract says, in a sentence that names the WIT function.
    pub contract: String,
    /// How it can be seen again; none for what each run shows.
    pub repeat: Option<String>,
}

impl Finding {
    /// Creates a finding without a command to repeat it. Texts are cut at [`TEXT_BYTES_MAX`].
    pub fn new(input: impl Into<String>, seen: impl Into<String>, contract: impl Into<String>) -> Self {
        let (input, seen) = (cut(input.into(), TEXT_BYTES_MAX), cut(seen.into(), TEXT_BYTES_MAX));
        Self { input, seen, contract: contract.into(), repeat: None }
    }

    /// Creates the finding of a fault in an answer to this input.
    pub(crate) fn of(input: impl Into<String>, fault: Fault) -> Self {
        Self::new(input, fault.seen, fault.contract)
    }

    /// Adds the arguments of `witlet plugin test FILE` that repeat it, such as `--only determinism --seed 42`.
    pub fn repeated_by(self, arguments: impl Into<String>) -> Self {
        Self { repeat: Some(arguments.into()), ..self }
    }
}

/// Cuts a text to so many bytes, and says how many there were.
pub(crate) fn cut(text: String, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text;
    }
    let end = text.floor_char_boundary(bytes_max);
    format!("{}… ({} bytes)", &text[..end], text.len())
}

/// A number that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What: `admission fresh p50`.
    pub name: String,
    /// `s`, `bytes`, `bytes/call`, …
    pub unit: &'static str,
    pub value: f64,
}

/// Receives how far an examination is.
pub trait Progress: Send + Sync {
    /// A layer begins.
    fn begin(&self, layer: Layer);
    /// A check is done.
    fn check(&self, check: &Check);
    /// A layer ends; it took so long.
    fn end(&self, layer: Layer, checks: &[Check], took: Duration);
}

/// Says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _layer: Layer) {}
    fn check(&self, _check: &Check) {}
    fn end(&self, _layer: Layer, _checks: &[Check], _took: Duration) {}
}

/// A check's id, and what holds if it passed.
pub(crate) type Named = (&'static str, &'static str);

/// What was found, or why it couldn't be tried.
pub(crate) type Tried = Result<Option<Finding>, String>;

/// Collects what a layer finds.
pub(crate) struct Checks<'a> {
    layer: Layer,
    mark: Instant,
    progress: &'a dyn Progress,
    pub(crate) checks: Vec<Check>,
    pub(crate) figures: Vec<Figure>,
}

impl<'a> Checks<'a> {
    pub(crate) fn new(layer: Layer, progress: &'a dyn Progress) -> Self {
        Self { layer, mark: Instant::now(), progress, checks: Vec::new(), figures: Vec::new() }
    }

    /// Adds a check. It took as long as it is since the one before, or since the layer began. A finding that says nothing else is
    /// repeated by its layer.
    pub(crate) fn add(
        &mut self,
        role: impl Into<Option<Role>>,
        id: &'static str,
        title: impl Into<String>,
        result: impl Into<CheckResult>,
    ) {
        let took = self.mark.elapsed();
        self.mark = Instant::now();
        let mut result: CheckResult = result.into();
        // What loading shows each run shows.
        if self.layer != Layer::Load
            && let CheckResult::Failed(finding) = &mut result
        {
            finding.repeat.get_or_insert_with(|| format!("--only {}", self.layer));
        }
        let check = Check { layer: self.layer, role: role.into(), id, title: title.into(), result, took };
        self.progress.check(&check);
        self.checks.push(check);
    }

    /// Adds a check that has a name.
    pub(crate) fn named(
        &mut self,
        role: impl Into<Option<Role>>,
        check: Named,
        result: impl Into<CheckResult>,
    ) {
        self.add(role, check.0, check.1, result);
    }

    /// Adds checks that all couldn't be tried for one reason.
    pub(crate) fn skip_all(&mut self, role: Role, checks: &[Named], why: &str) {
        for (id, title) in checks {
            self.add(role, id, *title, CheckResult::Skipped { why: why.to_owned() });
        }
    }

    /// Adds a number.
    pub(crate) fn figure(&mut self, name: impl Into<String>, unit: &'static str, value: f64) {
        self.figures.push(Figure { name: name.into(), unit, value });
    }
}
