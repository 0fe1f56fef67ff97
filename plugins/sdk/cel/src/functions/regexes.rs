//! Regular expressions, by `regex-lite`: of linear time as RE2 is, with ASCII classes as RE2's, and without tables of Unicode.

use std::cell::RefCell;
use std::rc::Rc;

use regex_lite::{Regex, RegexBuilder};

use super::call::{Call, Function, Outcome};
use crate::budget::Budget;
use crate::error::Failure;
use crate::value::Value;

/// The longest pattern.
const PATTERN_BYTES_MAX: usize = 1 << 10;

/// How much a compiled pattern may take.
const PATTERN_SIZE_MAX: usize = 256 << 10;

/// States of the pattern that are tried on a byte of the text in a step.
const STATES_OF_A_STEP: usize = 8;

/// Compiling counts as matching so many bytes.
const BYTES_OF_COMPILING: usize = 64;

/// What a state takes.
const BYTES_OF_A_STATE: usize = 64;

/// How many compiled patterns are kept.
const COMPILED_MAX: usize = 16;

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "matches", run: matches, signatures: &["string.(string) bool", "(string,string) bool"] },
    Function { name: "find", run: find, signatures: &["string.(string) string"] },
    Function {
        name: "findAll",
        run: find_all,
        signatures: &["string.(string) list(string)", "string.(string,int) list(string)"],
    },
];

/// A pattern that can be matched, or what is wrong with it.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!("a pattern has more than {PATTERN_BYTES_MAX} bytes"));
    }
    if has_flag_of_blanks(pattern) {
        return Err("a pattern has the flag x, which RE2 doesn't know".to_owned());
    }
    RegexBuilder::new(pattern).size_limit(PATTERN_SIZE_MAX).build().map_err(|error| {
        let shown: String = pattern.chars().take(60).collect();
        format!("{shown:?} is no pattern: {error}")
    })
}

thread_local! {
    /// What was compiled last: the same pattern is matched against each container. What it costs is counted as if it were
    /// compiled again, so that a rule takes the same steps in a fresh instance and in a used one.
    static COMPILED: RefCell<Vec<(Rc<str>, Regex)>> = const { RefCell::new(Vec::new()) };
}

fn compiled(text: &str, pattern: &Rc<str>, budget: &Budget) -> Result<Regex, Failure> {
    budget.spend(steps(text, pattern))?;
    budget.make(states(pattern).saturating_mul(BYTES_OF_A_STATE))?;
    let known = COMPILED.with_borrow(|known| {
        known.iter().find(|(other, _)| other == pattern).map(|(_, regex)| regex.clone())
    });
    if let Some(regex) = known {
        return Ok(regex);
    }
    let regex = compile(pattern)?;
    COMPILED.with_borrow_mut(|known| {
        if known.len() == COMPILED_MAX {
            known.remove(0);
        }
        known.push((pattern.clone(), regex.clone()));
    });
    Ok(regex)
}

/// The steps that matching a text counts for, with what compiling the pattern takes.
pub(super) fn steps(text: &str, pattern: &str) -> u64 {
    let of_a_byte = states(pattern) / STATES_OF_A_STEP + 1;
    (text.len() + BYTES_OF_COMPILING).saturating_mul(of_a_byte) as u64
}

/// About how many states a pattern has: repetitions by numbers multiply what they repeat.
fn states(pattern: &str) -> usize {
    let mut sums = vec![0_usize];
    let mut last = 0;
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '(' => {
                sums.push(0);
                continue;
            }
            // An empty group is a state, too: where it begins and ends is kept.
            ')' if sums.len() > 1 => last = sums.pop().unwrap_or(0).saturating_add(1),
            '{' => {
                let numbers = letters.as_str().split('}').next().unwrap_or_default();
                let most = numbers.split(',').filter_map(|number| number.trim().parse::<usize>().ok()).max();
                let more = last.saturating_mul(most.unwrap_or(1).saturating_sub(1));
                last = last.saturating_add(more);
                if let Some(sum) = sums.last_mut() {
                    *sum = sum.saturating_add(more);
                }
                continue;
            }
            '\\' => {
                letters.next();
                last = 1;
            }
            '[' => {
                letters = after_class(letters.as_str()).chars();
                last = 1;
            }
            _ => last = 1,
        }
        if let Some(sum) = sums.last_mut() {
            *sum = sum.saturating_add(last);
        }
    }
    sums.into_iter().fold(0, usize::saturating_add)
}

/// What follows a class whose bracket was opened; one right behind that is a letter of the class.
fn after_class(text: &str) -> &str {
    let text = text.strip_prefix('^').unwrap_or(text);
    let mut rest = text.strip_prefix(']').unwrap_or(text);
    loop {
        let Some(at) = rest.find(['\\', ']', '[']) else { return "" };
        let (letter, after) = rest[at..].split_at(1);
        rest = match letter {
            "]" => return after,
            "\\" => after_letter(after),
            // A named class, such as `[:alpha:]`.
            _ => match after.strip_prefix(':').and_then(|named| named.split_once(":]")) {
                Some((_, behind)) => behind,
                None => after,
            },
        };
    }
}

/// Whether blanks and comments are left out of the pattern, which RE2 doesn't have: what a number repeats is known by its place.
fn has_flag_of_blanks(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '[', '(']) {
        let (letter, after) = rest[at..].split_at(1);
        rest = match letter {
            "\\" => after_letter(after),
            "[" => after_class(after),
            _ => {
                let flags = after.strip_prefix('?').unwrap_or_default();
                let end = flags.find(|letter: char| !letter.is_ascii_alphabetic() && letter != '-');
                if end.is_some_and(|end| flags[..end].contains('x')) {
                    return true;
                }
                after
            }
        };
    }
    false
}

/// What follows the first letter.
fn after_letter(text: &str) -> &str {
    text.char_indices().nth(1).map_or("", |(next, _)| &text[next..])
}

fn matches(call: &Call<'_>) -> Outcome {
    let [Value::String(text), Value::String(pattern)] = call.args else { return call.unfit() };
    Ok(Value::Bool(compiled(text, pattern, call.budget)?.is_match(text)))
}

fn find(call: &Call<'_>) -> Outcome {
    let [Value::String(text), Value::String(pattern)] = call.args else { return call.unfit() };
    let pattern = compiled(text, pattern, call.budget)?;
    call.text(pattern.find(text).map_or("", |found| found.as_str()).to_owned())
}

fn find_all(call: &Call<'_>) -> Outcome {
    let (text, pattern, limit) = match call.args {
        [Value::String(text), Value::String(pattern)] => (text, pattern, -1),
        [Value::String(text), Value::String(pattern), Value::Int(limit)] => (text, pattern, *limit),
        _ => return call.unfit(),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let compiled_pattern = compiled(text, pattern, call.budget)?;
    let states = states(pattern);
    let mut found = Vec::new();
    let mut matches = compiled_pattern.find_iter(text);
    while found.len() < limit
        && let Some(part) = matches.next()
    {
        // Each search may check all that follows.
        let follows = text.len() - part.end() + 1;
        call.budget.spend(follows.saturating_mul(states / STATES_OF_A_STEP + 1) as u64)?;
        call.budget.make(part.as_str().len() + size_of::<Value>())?;
        found.push(Value::text(part.as_str()));
    }
    Ok(Value::list(found))
}
