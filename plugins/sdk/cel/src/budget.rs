//! What an evaluation may cost.

use std::cell::Cell;

/// Bytes of text that count as one step.
const BYTES_OF_A_STEP: usize = 64;

/// Limits of an evaluation, or of several that share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many steps: a node of an expression that is evaluated, an element that a function checks, 64 bytes of text that it
    /// reads or writes; four for an amount, a time, an address or a number that is read, written or computed with by a function.
    pub steps: u64,
    /// How many bytes of values may be made, whether they are still there or not.
    pub bytes: u64,
    /// How deep evaluation may nest, variables included.
    pub depth: u32,
}

impl Limits {
    /// What rules about a pod get: some milliseconds, and a fraction of a component's memory.
    pub const DEFAULT: Self = Self { steps: 200_000, bytes: 4 << 20, depth: 200 };
}

/// What is left of the limits. Shared by the evaluations that count together.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    steps: Cell<u64>,
    bytes: Cell<u64>,
    depth: Cell<u32>,
}

/// The limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// So many steps were allowed.
    Steps(u64),
    /// So many bytes could be made.
    Bytes(u64),
    /// So many levels could be entered.
    Depth(u32),
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Steps(most) => write!(f, "evaluation takes more than {most} steps"),
            Self::Bytes(most) => write!(f, "evaluation makes more than {most} bytes of values"),
            Self::Depth(most) => write!(f, "evaluation nests deeper than {most} levels"),
        }
    }
}

impl Budget {
    /// All of the limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            steps: Cell::new(limits.steps),
            bytes: Cell::new(limits.bytes),
            depth: Cell::new(limits.depth),
        }
    }

    /// Steps that were taken.
    pub fn steps_taken(&self) -> u64 {
        self.limits.steps - self.steps.get()
    }

    /// Counts steps that are taken for a variable's value.
    ///
    /// # Errors
    /// When no more are left.
    pub fn count(&self, steps: u64) -> Result<(), Exhausted> {
        self.spend(steps)
    }

    pub(crate) fn spend(&self, steps: u64) -> Result<(), Exhausted> {
        match self.steps.get().checked_sub(steps) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => {
                self.steps.set(0);
                Err(Exhausted::Steps(self.limits.steps))
            }
        }
    }

    /// Counts text that is read.
    pub(crate) fn read(&self, bytes: usize) -> Result<(), Exhausted> {
        self.spend((bytes / BYTES_OF_A_STEP) as u64)
    }

    /// Counts a value of so many bytes that is made.
    pub(crate) fn make(&self, bytes: usize) -> Result<(), Exhausted> {
        self.read(bytes)?;
        match self.bytes.get().checked_sub(bytes as u64) {
            Some(left) => {
                self.bytes.set(left);
                Ok(())
            }
            None => Err(Exhausted::Bytes(self.limits.bytes)),
        }
    }

    /// One level deeper, until [`Budget::leave`].
    pub(crate) fn enter(&self) -> Result<(), Exhausted> {
        match self.depth.get().checked_sub(1) {
            Some(left) => {
                self.depth.set(left);
                Ok(())
            }
            None => Err(Exhausted::Depth(self.limits.depth)),
        }
    }

    pub(crate) fn leave(&self) {
        self.depth.set(self.depth.get() + 1);
    }
}
