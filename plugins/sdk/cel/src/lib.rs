//! CEL, the Common Expression Language, for rules about pods: an expression is parsed, checked against what it may refer to, and
//! evaluated within limits.
//!
//! The language is that of the CEL specification with the libraries of Kubernetes 1.36. Each evaluation counts its steps and the bytes
//! that it makes ([`Limits`]), so that it ends with an error that has a name instead of running out of a plugin's time.
//!
//! ```
//! use witlet_cel::{Budget, Environment, Limits, Program, Type, Value, Variables};
//!
//! let program = Program::parse("size(images) <= 2 && images.all(i, i.startsWith('registry.example.com/'))")?;
//! let variables = vec![("images".to_owned(), Type::list(Type::String))];
//! assert_eq!(program.check(&Environment { variables, ..Environment::default() })?, Type::Bool);
//!
//! struct Images;
//!
//! impl Variables for Images {
//!     fn get(&self, name: &str, _: &Budget) -> Option<Result<Value, witlet_cel::Failure>> {
//!         (name == "images").then(|| Ok(Value::list(vec!["registry.example.com/web".into()])))
//!     }
//! }
//!
//! let value = program.evaluate(&Images, &Budget::new(Limits::DEFAULT)).expect("a value");
//! assert!(matches!(value, Value::Bool(true)));
//! # Ok::<(), witlet_cel::Problem>(())
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod ast;
mod budget;
mod check;
mod error;
mod eval;
mod functions;
mod json;
mod lexer;
mod literal;
mod names;
mod near;
mod ops;
mod parser;
mod quantity;
mod text;
mod types;
mod url;
mod value;

pub use budget::{Budget, Exhausted, Limits};
pub use check::Environment;
pub use error::{Failure, Problem};
pub use eval::Variables;
pub use functions::{library, parse_duration};
pub use near::nearest;
pub use parser::SOURCE_BYTES_MAX;
pub use quantity::Quantity;
pub use types::{Schema, Type};
pub use url::Url;
pub use value::{Cidr, Key, Map, Value};

/// An expression that was parsed.
#[derive(Debug)]
pub struct Program {
    source: Box<str>,
    expr: ast::Expr,
}

impl Program {
    /// Parses an expression.
    ///
    /// # Errors
    /// Says where the expression isn't one, and what is expected there.
    pub fn parse(source: &str) -> Result<Self, Problem> {
        let mut any_number = usize::MAX;
        Self::parse_one_of(source, &mut any_number)
    }

    /// Parses one of several expressions that may have so many tokens together, what is wrong with them or not. How long it takes follows
    /// from their number.
    ///
    /// # Errors
    /// Those of [`Program::parse`]; or no more are left, of which there are none from then on.
    pub fn parse_one_of(source: &str, tokens_left: &mut usize) -> Result<Self, Problem> {
        let expr = parser::parse(source, tokens_left).map_err(|fault| fault.located(source))?;
        Ok(Self { source: source.into(), expr })
    }

    /// The text that was parsed.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the expression refers to a variable of this name.
    pub fn refers_to(&self, name: &str) -> bool {
        fn refers(expr: &ast::Expr, name: &str) -> bool {
            let mut found = matches!(&expr.kind, ast::ExprKind::Ident(ident) if **ident == *name);
            expr.kind.each_child(|child| found = found || refers(child, name));
            found
        }
        refers(&self.expr, name)
    }

    /// Checks the expression against what it may refer to, and returns its type.
    ///
    /// # Errors
    /// Names what is unknown or doesn't fit, with the nearest name that there is.
    pub fn check(&self, environment: &Environment) -> Result<Type, Problem> {
        check::check(&self.expr, environment).map_err(|fault| fault.located(&self.source))
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// When a field isn't there, types don't fit, or a limit is reached.
    pub fn evaluate(&self, variables: &dyn Variables, budget: &Budget) -> Result<Value, Failure> {
        eval::evaluate(&self.expr, &self.source, variables, budget)
    }
}

/// The value as text, as `string()` makes it; none for lists, maps and the like.
pub fn text_of(value: &Value) -> Option<String> {
    text::string(value)
}

/// Whether lists and maps lie in each other at most so deep: what a variable keeps has to be checked before it is kept.
///
/// # Errors
/// When checking takes more steps than are left.
pub fn is_flatter_than(value: &Value, depth: u32, budget: &Budget) -> Result<bool, Failure> {
    value.is_flatter_than(depth, budget).map_err(Failure::from)
}

#[cfg(test)]
mod tests;
