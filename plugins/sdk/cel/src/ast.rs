//! Expressions as they were parsed.

use std::rc::Rc;

use crate::functions::Function;
use crate::value::Value;

/// A node, with the offset in the source that messages name.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) at: u32,
    pub(crate) kind: ExprKind,
    /// How many levels it has, itself among them.
    pub(crate) depth: u32,
}

impl Expr {
    pub(crate) fn new(at: u32, kind: ExprKind) -> Self {
        let mut below = 0;
        kind.each_child(|child| below = below.max(child.depth));
        Self { at, kind, depth: below + 1 }
    }
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Literal(Value),
    Ident(Rc<str>),
    /// `a.b`, `a.?b` and, as a test, `has(a.b)`.
    Select {
        operand: Box<Expr>,
        field: Rc<str>,
        mode: Access,
    },
    /// `a[b]` and `a[?b]`.
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        is_optional: bool,
    },
    /// A function with its arguments; the first is the receiver if there is one.
    Call {
        function: &'static Function,
        has_receiver: bool,
        args: Vec<Expr>,
    },
    /// Elements, each with whether it is `?e`.
    List(Vec<(Expr, bool)>),
    /// Keys and values, each with whether it is `?k: v`.
    Map(Vec<(Expr, Expr, bool)>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Two or more operands of `&&`, or of `||`.
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Conditional(Box<[Expr; 3]>),
    Comprehension(Box<Comprehension>),
}

impl ExprKind {
    /// Shows each expression that is a direct part of this one.
    pub(crate) fn each_child<'a>(&'a self, mut show: impl FnMut(&'a Expr)) {
        match self {
            Self::Literal(_) | Self::Ident(_) => {}
            Self::Select { operand, .. } | Self::Not(operand) | Self::Negate(operand) => show(operand),
            Self::Index { operand, index, .. } => {
                show(operand);
                show(index);
            }
            Self::Call { args, .. } | Self::And(args) | Self::Or(args) => args.iter().for_each(show),
            Self::List(elements) => elements.iter().for_each(|(element, _)| show(element)),
            Self::Map(entries) => {
                for (key, value, _) in entries {
                    show(key);
                    show(value);
                }
            }
            Self::Binary(_, left, right) => {
                show(left);
                show(right);
            }
            Self::Conditional(parts) => parts.iter().for_each(show),
            Self::Comprehension(it) => {
                show(&it.range);
                it.filter.iter().for_each(&mut show);
                show(&it.body);
            }
        }
    }
}

/// How a field is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Get,
    Optional,
    Test,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
}

impl BinaryOp {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::In => "in",
        }
    }
}

/// A macro that binds variables: `range.all(var, body)` and the like.
#[derive(Debug)]
pub(crate) struct Comprehension {
    pub(crate) kind: Macro,
    pub(crate) range: Expr,
    pub(crate) var: Rc<str>,
    /// The second variable of the two-variable forms: the first is an index or a key then, this one the value.
    pub(crate) var2: Option<Rc<str>>,
    /// What elements must fulfil, for `map` and `transform…` with a filter.
    pub(crate) filter: Option<Expr>,
    pub(crate) body: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Macro {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
    SortBy,
    TransformList,
    TransformMap,
    TransformMapEntry,
    OptMap,
    OptFlatMap,
}

/// Names of macros with a receiver, with how many arguments they take.
const MACROS: &[(&str, Macro, &[usize])] = &[
    ("all", Macro::All, &[2, 3]),
    ("exists", Macro::Exists, &[2, 3]),
    ("exists_one", Macro::ExistsOne, &[2, 3]),
    ("existsOne", Macro::ExistsOne, &[2, 3]),
    ("filter", Macro::Filter, &[2]),
    ("map", Macro::Map, &[2, 3]),
    ("sortBy", Macro::SortBy, &[2]),
    ("transformList", Macro::TransformList, &[3, 4]),
    ("transformMap", Macro::TransformMap, &[3, 4]),
    ("transformMapEntry", Macro::TransformMapEntry, &[3, 4]),
    ("optMap", Macro::OptMap, &[2]),
    ("optFlatMap", Macro::OptFlatMap, &[2]),
];

impl Macro {
    /// The macro of this name, with how many arguments it may have.
    pub(crate) fn find(name: &str) -> Option<(Self, &'static [usize])> {
        MACROS.iter().find(|(macro_name, ..)| *macro_name == name).map(|(_, kind, counts)| (*kind, *counts))
    }

    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        MACROS.iter().map(|(name, ..)| *name)
    }

    pub(crate) fn name(self) -> &'static str {
        MACROS.iter().find(|(_, kind, _)| *kind == self).map_or("", |(name, ..)| *name)
    }
}
