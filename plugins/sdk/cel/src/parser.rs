//! From tokens to expressions, by the grammar of the CEL specification.

use std::rc::Rc;

use crate::ast::{Access, BinaryOp, Comprehension, Expr, ExprKind, Macro};
use crate::error::{Fault, shortened};
use crate::functions;
use crate::lexer::{Token, TokenKind, tokens};
use crate::names::{instead_of, is_reserved, qualified_type, unescaped, unknown_function};
use crate::value::Value;

/// The longest source of an expression.
pub const SOURCE_BYTES_MAX: usize = 16 << 10;

/// How many levels an expression may have: chains of fields and operators count, those of && and || don't.
const DEPTH_MAX: u32 = 100;

/// How deep brackets may lie in each other.
const NESTING_MAX: u32 = 64;

/// Binary operators with how close they bind.
const OPERATORS: &[(&str, u8, BinaryOp)] = &[
    ("==", 3, BinaryOp::Equal),
    ("!=", 3, BinaryOp::NotEqual),
    ("<", 3, BinaryOp::Less),
    ("<=", 3, BinaryOp::LessEqual),
    (">", 3, BinaryOp::Greater),
    (">=", 3, BinaryOp::GreaterEqual),
    ("in", 3, BinaryOp::In),
    ("+", 4, BinaryOp::Add),
    ("-", 4, BinaryOp::Subtract),
    ("*", 5, BinaryOp::Multiply),
    ("/", 5, BinaryOp::Divide),
    ("%", 5, BinaryOp::Modulo),
];

/// Parses a source, whose tokens are taken from those that are left.
pub(crate) fn parse(source: &str, tokens_left: &mut usize) -> Result<Expr, Fault> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(Fault::new(0, format!("the expression has more than {SOURCE_BYTES_MAX} bytes"))
            .help("put parts of it into variables"));
    }
    let tokens = tokens(source)?;
    let Some(left) = tokens_left.checked_sub(tokens.len()) else {
        *tokens_left = 0;
        return Err(Fault::new(0, "all expressions together have too many names, values and signs"));
    };
    *tokens_left = left;
    let mut parser = Parser { tokens, next: 0, depth: 0 };
    if parser.peek() == &TokenKind::End {
        return Err(Fault::new(0, "the expression is empty").help("write what must be true"));
    }
    let expr = parser.expr()?;
    match parser.peek() {
        TokenKind::End => Ok(expr),
        _ if matches!(&expr.kind, ExprKind::Ident(name) if **name == *"not") => {
            Err(Fault::new(expr.at, "not is no operator").help("\"not\" is written !"))
        }
        _ => Err(parser.unexpected("the expression should end here, or go on with an operator")),
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: u32,
}

impl Parser {
    fn token(&self) -> &Token {
        // The last one is the end, which is never passed.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> &TokenKind {
        &self.token().kind
    }

    fn at(&self) -> u32 {
        self.token().at
    }

    fn advance(&mut self) -> TokenKind {
        let kind = self.peek().clone();
        self.next += 1;
        kind
    }

    fn is_next(&self, sign: &str) -> bool {
        matches!(self.peek(), TokenKind::Sign(next) if *next == sign)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = self.is_next(sign);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str, why: &str) -> Result<(), Fault> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(&format!("{sign} {why}"))) }
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let found = match self.peek() {
            TokenKind::End => "the end".to_owned(),
            TokenKind::Word(word) | TokenKind::QuotedName(word) => word.clone(),
            TokenKind::Int(number) => number.to_string(),
            TokenKind::UInt(number) => format!("{number}u"),
            TokenKind::Double(number) => number.to_string(),
            TokenKind::String(text) => format!("{text:?}"),
            TokenKind::Bytes(_) => "bytes".to_owned(),
            TokenKind::Sign(sign) => (*sign).to_owned(),
        };
        let shown: String = found.chars().take(40).collect();
        let fault = Fault::new(self.at(), format!("found {shown}: {expected}"));
        match self.foreign_operator(&shown) {
            Some(help) => fault.help(help),
            None => fault,
        }
    }

    /// What is meant by what stands here, if it is another language's operator.
    fn foreign_operator(&self, shown: &str) -> Option<&'static str> {
        // What this one follows without a blank.
        let before = self.next.checked_sub(1).and_then(|before| self.tokens.get(before));
        let before = before.filter(|before| before.end == self.at());
        let sign = match before {
            Some(Token { kind: TokenKind::Sign(sign), .. }) => *sign,
            _ => "",
        };
        match (sign, shown) {
            (_, "and") => Some("\"and\" is written &&"),
            (_, "or") => Some("\"or\" is written ||"),
            (_, "not") => Some("\"not\" is written !"),
            (_, "is") => Some("values are compared by ==, and whether a field is there is asked by has(…)"),
            ("<", ">") => Some("\"different\" is written !="),
            ("?", "?") => Some("what counts where nothing is: object.spec.?hostname.orValue('')"),
            _ if before.is_some() && matches!(self.peek(), TokenKind::Double(_)) => {
                Some("elements are asked for by their number, as in list[0]")
            }
            _ => None,
        }
    }

    /// Parses with one more level of depth.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.depth == NESTING_MAX {
            return Err(too_deep(self.at()));
        }
        self.depth += 1;
        let parsed = parse(self)?;
        self.depth -= 1;
        Ok(parsed)
    }

    fn expr(&mut self) -> Result<Expr, Fault> {
        self.nested(|parser| {
            let at = parser.at();
            let condition = parser.or()?;
            if !parser.takes("?") {
                return Ok(condition);
            }
            let is_chain = parser.is_next(".");
            let yes = parser.nested(Self::or)?;
            parser.expect(":", "is expected between the two results of a condition").map_err(|fault| {
                let help = "a field that may be missing is asked for by .?field, as in object.spec.?hostname";
                if is_chain { fault.help(help) } else { fault }
            })?;
            let no = parser.expr()?;
            node(at, ExprKind::Conditional(Box::new([condition, yes, no])))
        })
    }

    fn or(&mut self) -> Result<Expr, Fault> {
        self.chain("||", Self::and, ExprKind::Or)
    }

    fn and(&mut self) -> Result<Expr, Fault> {
        self.chain("&&", |parser| parser.binary(3), ExprKind::And)
    }

    /// Operands between the same logical sign, however many, side by side: they are no deeper than one.
    fn chain(
        &mut self,
        sign: &str,
        operand: impl Fn(&mut Self) -> Result<Expr, Fault>,
        kind: fn(Vec<Expr>) -> ExprKind,
    ) -> Result<Expr, Fault> {
        let first = operand(self)?;
        if !self.is_next(sign) {
            return Ok(first);
        }
        let at = first.at;
        let mut operands = vec![first];
        self.nested(|parser| {
            while parser.takes(sign) {
                operands.push(operand(parser)?);
            }
            node(at, kind(operands))
        })
    }

    /// Operators that bind at least so closely.
    fn binary(&mut self, closest: u8) -> Result<Expr, Fault> {
        let mut left = self.unary()?;
        while let Some((binding, op)) = self.operator().filter(|(binding, _)| *binding >= closest) {
            let at = self.at();
            self.next += 1;
            let right = self.nested(|parser| parser.binary(binding + 1))?;
            left = node(at, ExprKind::Binary(op, Box::new(left), Box::new(right)))?;
        }
        Ok(left)
    }

    fn operator(&self) -> Option<(u8, BinaryOp)> {
        let sign = match self.peek() {
            TokenKind::Sign(sign) => sign,
            TokenKind::Word(word) if word == "in" => "in",
            _ => return None,
        };
        OPERATORS.iter().find(|(other, ..)| *other == sign).map(|(_, binding, op)| (*binding, *op))
    }

    fn unary(&mut self) -> Result<Expr, Fault> {
        let at = self.at();
        if self.takes("!") {
            let operand = self.nested(Self::unary)?;
            return node(at, ExprKind::Not(Box::new(operand)));
        }
        if !self.takes("-") {
            return self.member();
        }
        // The least whole number has no positive counterpart.
        if let TokenKind::Int(number) = *self.peek() {
            let negative = 0_i64.checked_sub_unsigned(number);
            let negative = negative.ok_or_else(|| Fault::new(at, "the number is too small"))?;
            self.next += 1;
            let literal = node(at, ExprKind::Literal(Value::Int(negative)))?;
            return self.members(literal);
        }
        let operand = self.nested(Self::unary)?;
        node(at, ExprKind::Negate(Box::new(operand)))
    }

    fn member(&mut self) -> Result<Expr, Fault> {
        let primary = self.primary()?;
        self.members(primary)
    }

    /// What follows a value: fields, calls, indices.
    fn members(&mut self, mut operand: Expr) -> Result<Expr, Fault> {
        loop {
            let at = self.at();
            if self.takes(".") {
                operand = self.field_or_call(operand)?;
            } else if self.takes("[") {
                let is_optional = self.takes("?");
                let index = Box::new(self.expr()?);
                self.expect("]", "is expected behind an index")?;
                operand = node(at, ExprKind::Index { operand: Box::new(operand), index, is_optional })?;
            } else if self.is_next("{")
                && matches!(operand.kind, ExprKind::Ident(_) | ExprKind::Select { .. })
            {
                return Err(Fault::new(at, "objects can't be made by naming a type")
                    .help("maps are written {'key': value}"));
            } else {
                return Ok(operand);
            }
        }
    }

    fn field_or_call(&mut self, operand: Expr) -> Result<Expr, Fault> {
        let is_optional = self.takes("?");
        let at = self.at();
        let (name, is_quoted) = match self.advance() {
            TokenKind::Word(name) if !matches!(name.as_str(), "in" | "true" | "false" | "null") => {
                (name, false)
            }
            TokenKind::QuotedName(name) => (name, true),
            _ => {
                self.next -= 1;
                return Err(self.unexpected("a name is expected behind the point"));
            }
        };
        if !is_quoted && !is_optional && self.takes("(") {
            return self.method(operand, &name, at);
        }
        if !is_quoted
            && !is_optional
            && let Some(of) = qualified_type(&operand, &name)
        {
            return node(operand.at, ExprKind::Literal(of));
        }
        let mode = if is_optional { Access::Optional } else { Access::Get };
        let field = if is_quoted { Rc::from(name) } else { Rc::from(unescaped(&name)) };
        node(at, ExprKind::Select { operand: Box::new(operand), field, mode })
    }

    fn method(&mut self, receiver: Expr, name: &str, at: u32) -> Result<Expr, Fault> {
        let args = self.arguments()?;
        if let ExprKind::Ident(namespace) = &receiver.kind {
            let qualified = format!("{namespace}.{name}");
            if let Some(function) = functions::find(&qualified) {
                return node(at, ExprKind::Call { function, has_receiver: false, args });
            }
            if functions::is_namespace(namespace)
                && functions::find(name).is_none()
                && Macro::find(name).is_none()
            {
                return Err(unknown_function(&qualified, at));
            }
        }
        if let Some((kind, counts)) = Macro::find(name) {
            if counts.contains(&args.len()) {
                return comprehension(kind, receiver, args, at);
            }
            let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
            let message = format!("{name}() takes {} arguments, not {}", counts.join(" or "), args.len());
            return Err(Fault::new(at, message).help(format!("as in list.{name}(x, …)")));
        }
        let function = functions::find(name).ok_or_else(|| unknown_function(name, at))?;
        let args = std::iter::once(receiver).chain(args).collect();
        node(at, ExprKind::Call { function, has_receiver: true, args })
    }

    /// Arguments up to the closing parenthesis.
    fn arguments(&mut self) -> Result<Vec<Expr>, Fault> {
        let mut args = Vec::new();
        while !self.takes(")") {
            args.push(self.expr()?);
            if !self.takes(",") {
                self.expect(")", "is expected behind the arguments")?;
                break;
            }
        }
        Ok(args)
    }

    fn primary(&mut self) -> Result<Expr, Fault> {
        let at = self.at();
        let literal = match self.peek().clone() {
            TokenKind::Int(number) => {
                let number = i64::try_from(number);
                Value::Int(number.map_err(|_| {
                    Fault::new(at, "the number is too large").help("whole numbers have 64 bits")
                })?)
            }
            TokenKind::UInt(number) => Value::UInt(number),
            TokenKind::Double(number) => Value::Double(number),
            TokenKind::String(text) => Value::text(text),
            TokenKind::Bytes(bytes) => Value::Bytes(bytes.into()),
            TokenKind::Word(word) => match word.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                _ => return self.name(&word),
            },
            TokenKind::Sign("(") => {
                self.next += 1;
                let inner = self.expr()?;
                self.expect(")", "is expected")?;
                return Ok(inner);
            }
            TokenKind::Sign("[") => return self.list(),
            TokenKind::Sign("{") => return self.map(),
            TokenKind::Sign(".") => {
                self.next += 1;
                return match self.peek().clone() {
                    TokenKind::Word(word) => self.name(&word),
                    _ => Err(self.unexpected("a name is expected behind the point")),
                };
            }
            _ => return Err(self.unexpected("a value is expected")),
        };
        self.next += 1;
        node(at, ExprKind::Literal(literal))
    }

    fn name(&mut self, word: &str) -> Result<Expr, Fault> {
        let at = self.at();
        if is_reserved(word) {
            return Err(Fault::new(at, format!("{word} is a reserved word")).help(instead_of(word)));
        }
        if word == "in" {
            return Err(self.unexpected("a value is expected"));
        }
        self.next += 1;
        if !self.takes("(") {
            return node(at, ExprKind::Ident(word.into()));
        }
        let mut args = self.arguments()?;
        if word == "has" {
            return presence(args, at);
        }
        if word == "dyn" && args.len() == 1 {
            // What a value is when nothing is known of its type is the evaluator's view anyway; the checker asks for the call.
            let function = functions::find("dyn").ok_or_else(|| unknown_function(word, at))?;
            return node(at, ExprKind::Call { function, has_receiver: false, args: vec![args.remove(0)] });
        }
        let function = functions::find(word).ok_or_else(|| match Macro::find(word) {
            Some(_) => Fault::new(at, format!("{word}() is called on a list or a map"))
                .help(format!("as in object.spec.containers.{word}(c, …)")),
            None => unknown_function(word, at),
        })?;
        node(at, ExprKind::Call { function, has_receiver: false, args })
    }

    fn list(&mut self) -> Result<Expr, Fault> {
        let at = self.at();
        self.next += 1;
        let mut elements = Vec::new();
        while !self.takes("]") {
            let is_optional = self.takes("?");
            elements.push((self.expr()?, is_optional));
            if !self.takes(",") {
                self.expect("]", "is expected behind the elements of a list")?;
                break;
            }
        }
        node(at, ExprKind::List(elements))
    }

    fn map(&mut self) -> Result<Expr, Fault> {
        let at = self.at();
        self.next += 1;
        let mut entries = Vec::new();
        while !self.takes("}") {
            let is_optional = self.takes("?");
            if self.is_next("{") {
                return Err(Fault::new(self.at(), "a map can't be a key of a map")
                    .help("maps are written {'key': value}; templates with {{ }} aren't filled in"));
            }
            let key = self.expr()?;
            self.expect(":", "is expected between key and value")?;
            entries.push((key, self.expr()?, is_optional));
            if !self.takes(",") {
                self.expect("}", "is expected behind the entries of a map")?;
                break;
            }
        }
        node(at, ExprKind::Map(entries))
    }
}

/// A node that isn't too deep.
fn node(at: u32, kind: ExprKind) -> Result<Expr, Fault> {
    let expr = Expr::new(at, kind);
    if expr.depth > DEPTH_MAX { Err(too_deep(at)) } else { Ok(expr) }
}

fn too_deep(at: u32) -> Fault {
    Fault::new(at, "the expression nests too deep").help("put parts of it into variables")
}

/// `has(a.b)`
fn presence(mut args: Vec<Expr>, at: u32) -> Result<Expr, Fault> {
    let wrong = || Fault::new(at, "has() takes one field, as in has(object.spec.hostname)");
    if args.len() != 1 {
        return Err(wrong());
    }
    let arg = args.remove(0);
    match arg.kind {
        ExprKind::Select { operand, field, mode: Access::Get } => {
            node(arg.at, ExprKind::Select { operand, field, mode: Access::Test })
        }
        ExprKind::Index { .. } => Err(wrong().help("keys of maps are asked for by `'key' in map`")),
        _ => Err(wrong()),
    }
}

fn comprehension(kind: Macro, range: Expr, args: Vec<Expr>, at: u32) -> Result<Expr, Fault> {
    let takes_two = matches!(kind, Macro::TransformList | Macro::TransformMap | Macro::TransformMapEntry);
    let has_two =
        takes_two || args.len() == 3 && matches!(kind, Macro::All | Macro::Exists | Macro::ExistsOne);
    let mut args = args.into_iter();
    let mut variable = || match args.next() {
        Some(Expr { kind: ExprKind::Ident(name), .. }) => Ok(name),
        other => Err(Fault::new(
            other.map_or(at, |expr| expr.at),
            format!("the first argument of {}() names a variable", kind.name()),
        )
        .help(format!("as in list.{}(x, …)", kind.name()))),
    };
    let var = variable()?;
    let var2 = if has_two { Some(variable()?) } else { None };
    if var2.as_ref() == Some(&var) {
        let message = format!("both variables of {}() are called {}", kind.name(), shortened(&var));
        return Err(Fault::new(at, message).help("give one of them another name"));
    }
    let (first, second) = (args.next(), args.next());
    let (filter, body) = match (first, second) {
        (filter, Some(body)) => (filter, body),
        (Some(body), None) => (None, body),
        (None, None) => return Err(Fault::new(at, format!("{}() has no expression", kind.name()))),
    };
    node(at, ExprKind::Comprehension(Box::new(Comprehension { kind, range, var, var2, filter, body })))
}
