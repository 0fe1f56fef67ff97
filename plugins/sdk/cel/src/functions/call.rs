//! What a function of the library is.

use crate::budget::{Budget, Exhausted};
use crate::error::Failure;
use crate::ops;
use crate::value::Value;

/// What amounts, times, addresses, URLs and numbers in texts count for when they are read, written or computed with, next to the call.
const CONVERSION_STEPS: u64 = 4;

/// A function: all its overloads, as function and as method.
#[derive(Debug)]
pub(crate) struct Function {
    /// With its namespace, if it has one.
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Call<'_>) -> Outcome,
    /// For the checker: `string.(int) string` is a method, `(string) quantity` a function. `A` and `B` stand for any type.
    pub(crate) signatures: &'static [&'static str],
}

pub(crate) type Outcome = Result<Value, Failure>;

/// A call with its arguments, the receiver first.
pub(crate) struct Call<'a> {
    pub(crate) name: &'static str,
    pub(crate) args: &'a [Value],
    pub(crate) budget: &'a Budget,
}

impl Call<'_> {
    /// No overload takes these arguments.
    pub(crate) fn unfit(&self) -> Outcome {
        Err(ops::no_overload(&format!("{}()", self.name), &self.args.iter().collect::<Vec<_>>()))
    }

    /// Counts that a value of one type is made of another's, or computed with in more than a step, and reads the texts of that.
    pub(crate) fn converts(&self) -> Result<(), Exhausted> {
        self.budget.spend(CONVERSION_STEPS)?;
        self.args.iter().try_for_each(|arg| match arg {
            Value::String(text) => self.budget.read(text.len()),
            _ => Ok(()),
        })
    }

    pub(crate) fn text(&self, text: String) -> Outcome {
        self.budget.make(text.len())?;
        Ok(Value::text(text))
    }

    pub(crate) fn list(&self, elements: Vec<Value>) -> Outcome {
        self.budget.spend(elements.len() as u64)?;
        self.budget.make(elements.len() * size_of::<Value>())?;
        Ok(Value::list(elements))
    }

    pub(crate) fn texts<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Outcome {
        let mut elements = Vec::new();
        for text in texts {
            self.budget.make(text.len() + size_of::<Value>())?;
            self.budget.spend(1)?;
            elements.push(Value::text(text));
        }
        Ok(Value::list(elements))
    }
}
