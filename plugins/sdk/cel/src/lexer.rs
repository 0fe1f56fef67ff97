//! Tokens of an expression.

use crate::error::{Fault, shortened};
use crate::functions;
use crate::literal;

/// A token with the offsets where it begins and ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) at: u32,
    pub(crate) end: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    End,
    /// A name, or a word of the language.
    Word(String),
    /// A name between backticks, which may stand behind a point only.
    QuotedName(String),
    Int(u64),
    UInt(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
    /// An operator or a bracket.
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: &[&str] = &[
    "&&", "||", "==", "!=", "<=", ">=", "(", ")", "[", "]", "{", "}", ".", ",", "?", ":", "+", "-", "*", "/",
    "%", "<", ">", "!",
];

/// Signs of other languages, with what is meant here. Longer ones first.
const MISTAKEN: &[(&str, &str)] = &[
    ("=>", "a variable and what is asked about it are two arguments, as in list.all(x, x != '')"),
    ("=", "values are compared by =="),
    ("&", "\"and\" is written &&"),
    ("|", "\"or\" is written ||"),
    ("“", "texts stand between straight quotation marks"),
    ("”", "texts stand between straight quotation marks"),
    ("‘", "texts stand between straight quotation marks"),
    ("’", "texts stand between straight quotation marks"),
    (";", "an expression has no statements"),
    ("$", "names have letters, digits and underscores"),
    ("#", "comments begin with //"),
];

/// All tokens of a source, the last of which is [`TokenKind::End`].
pub(crate) fn tokens(source: &str) -> Result<Vec<Token>, Fault> {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next()?;
        let is_end = token.kind == TokenKind::End;
        tokens.push(token);
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes characters as long as they are of a kind.
    fn take_while(&mut self, is_desired: impl Fn(char) -> bool) -> usize {
        let rest = self.rest();
        let length = rest.find(|letter| !is_desired(letter)).unwrap_or(rest.len());
        self.at += length;
        length
    }

    fn skip_blanks(&mut self) {
        loop {
            self.take_while(|letter| matches!(letter, ' ' | '\t' | '\r' | '\n' | '\x0c'));
            if !self.rest().starts_with("//") {
                return;
            }
            self.take_while(|letter| letter != '\n');
        }
    }

    fn next(&mut self) -> Result<Token, Fault> {
        self.skip_blanks();
        let at = self.at;
        let kind = match self.peek() {
            None => TokenKind::End,
            Some('`') => self.quoted_name()?,
            Some(letter) if literal::begins_text(self.rest()) => {
                let _ = letter;
                self.text()?
            }
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => {
                self.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '_');
                TokenKind::Word(self.source[at..self.at].to_owned())
            }
            Some(letter) if letter.is_ascii_digit() => self.number()?,
            Some('.') if self.rest()[1..].starts_with(|letter: char| letter.is_ascii_digit()) => {
                self.number()?
            }
            Some(letter) => match SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) {
                Some(sign) => {
                    self.at += sign.len();
                    TokenKind::Sign(sign)
                }
                None => {
                    let fault = Fault::new(offset(at), format!("{letter:?} has no meaning here"));
                    let meant = MISTAKEN.iter().find(|(mistaken, _)| self.rest().starts_with(mistaken));
                    return Err(meant.map_or(fault.clone(), |(_, help)| fault.help(*help)));
                }
            },
        };
        Ok(Token { kind, at: offset(at), end: offset(self.at) })
    }

    fn quoted_name(&mut self) -> Result<TokenKind, Fault> {
        let at = self.at;
        self.at += 1;
        let begin = self.at;
        self.take_while(|letter| letter.is_ascii_alphanumeric() || "_.-/ ".contains(letter));
        if self.peek() != Some('`') || self.at == begin {
            return Err(Fault::new(offset(at), "a quoted name doesn't end")
                .help("it has letters, digits, and _ . - / between two backticks"));
        }
        self.at += 1;
        Ok(TokenKind::QuotedName(self.source[begin..self.at - 1].to_owned()))
    }

    fn text(&mut self) -> Result<TokenKind, Fault> {
        let at = self.at;
        let text = literal::text(self.rest()).map_err(|wrong| {
            let fault = Fault::new(offset(at + wrong.at), wrong.message);
            match wrong.help {
                Some(help) => fault.help(help),
                None => fault,
            }
        })?;
        self.at += text.length;
        Ok(match String::from_utf8(text.content) {
            Ok(content) if !text.is_bytes => TokenKind::String(content),
            Ok(content) => TokenKind::Bytes(content.into_bytes()),
            Err(content) => TokenKind::Bytes(content.into_bytes()),
        })
    }

    fn number(&mut self) -> Result<TokenKind, Fault> {
        let at = self.at;
        let rest = self.rest();
        if rest.starts_with("0x") || rest.starts_with("0X") {
            self.at += 2;
            let digits = self.at;
            self.take_while(|letter| letter.is_ascii_hexdigit());
            let digits = digits..self.at;
            return self.whole(at, digits, 16);
        }
        self.take_while(|letter| letter.is_ascii_digit());
        let digits = at..self.at;
        let mut is_whole = true;
        let digit = |letter: char| letter.is_ascii_digit();
        if self.rest().starts_with('.') && self.rest()[1..].starts_with(digit) {
            is_whole = false;
            self.at += 1;
            self.take_while(digit);
        }
        let exponent = self.rest().strip_prefix(['e', 'E']);
        if exponent.is_some_and(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest).starts_with(digit)) {
            is_whole = false;
            self.at += 2;
            self.take_while(digit);
        }
        if is_whole {
            return self.whole(at, digits, 10);
        }
        self.refuse_letters(at)?;
        match self.source[at..self.at].parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(TokenKind::Double(number)),
            _ => Err(Fault::new(offset(at), "the number is too large for a double")),
        }
    }

    fn whole(&mut self, at: usize, digits: std::ops::Range<usize>, radix: u32) -> Result<TokenKind, Fault> {
        let is_unsigned = self.rest().starts_with(['u', 'U']);
        let digits = &self.source[digits];
        let number = u64::from_str_radix(digits, radix);
        self.at += usize::from(is_unsigned);
        self.refuse_letters(at)?;
        match number {
            Ok(number) if is_unsigned => Ok(TokenKind::UInt(number)),
            Ok(number) => Ok(TokenKind::Int(number)),
            Err(_) if digits.is_empty() => Err(Fault::new(offset(at), "a number has no digits")),
            Err(_) => {
                Err(Fault::new(offset(at), "the number is too large").help("whole numbers have 64 bits"))
            }
        }
    }

    /// `500Mi` is no number, but what was meant can be said.
    fn refuse_letters(&mut self, at: usize) -> Result<(), Fault> {
        let begin = self.at;
        self.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if begin == self.at {
            return Ok(());
        }
        let word = shortened(&self.source[at..self.at]);
        let fault = Fault::new(offset(at), format!("{word:?} is no number"));
        let is = |function: &str| functions::convert(function, word).is_ok();
        Err(if is("quantity") {
            fault.help(format!("amounts are written quantity('{word}')"))
        } else if is("duration") {
            fault.help(format!("spans of time are written duration('{word}')"))
        } else {
            fault.help("numbers are written like 7, 1.5, 2e3 or 0x1f, and texts between quotation marks")
        })
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
