//! What a request for the node's own logs asks for: upstream's node log query, read, judged, and as arguments of `journalctl`.
//!
//! Rules and words of the kubelet's `kubelet_server_journal.go`.

use std::fmt::Display;

use jiff::Timestamp;
use serde_json::json;
use thiserror::Error;

use super::entry::is_rfc3339;

#[cfg(test)]
mod tests;

/// Lines from the end of a log that can be asked for.
const TAIL_LINES_MAX: i64 = 100_000;

/// Bytes of a service's name.
const SERVICE_BYTES_MAX: usize = 256;

/// Services of one query.
const SERVICES_MAX: usize = 4;

/// The arguments with which `journalctl` lists the units that it knows.
pub const JOURNAL_UNITS: [&str; 2] = ["--field", "_SYSTEMD_UNIT"];

/// Why a query is refused, in the API's words.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}", together(problems))]
pub struct NodeLogQueryError {
    problems: Vec<String>,
}

/// A query for logs of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeLogQuery {
    /// Services by their names.
    pub services: Vec<String>,
    /// Files below the folder of logs.
    pub files: Vec<String>,
    /// What of the logs.
    pub options: NodeLogOptions,
}

/// What of a log is shown; by default all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeLogOptions {
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// Only so many lines from the end.
    pub tail_lines: Option<i64>,
    /// Of this boot: 0 is the current one, -1 the one before.
    pub boot: Option<i64>,
    /// Only lines that match this regular expression; empty is all.
    pub pattern: String,
}

/// Where the logs of a valid query are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeLogSource<'a> {
    File(&'a str),
    /// Services, at least one.
    Services(&'a [String]),
}

impl NodeLogQuery {
    /// Reads a query; none if it has no parameter of a log query. Unknown names are passed over.
    ///
    /// # Errors
    /// A value isn't of its type, or `query` names nothing: 400.
    pub fn from_query(pairs: &[(String, String)]) -> Result<Option<Self>, NodeLogQueryError> {
        let mut problems = Vec::new();
        let (mut query, mut is_named) = (Self::default(), false);
        let named: Vec<&str> = values(pairs, "query").collect();
        for name in &named {
            is_named = true;
            if name.contains(['/', '\\']) {
                query.files.push((*name).to_owned());
            } else if !name.trim().is_empty() {
                query.services.push((*name).to_owned());
            }
        }
        if is_named && query.services.is_empty() && query.files.is_empty() {
            problems.push(invalid("query", json!(named), "query cannot be empty"));
        }
        let given = |name: &'static str| values(pairs, name).next().filter(|value| !value.is_empty());
        let mut time = |name: &'static str| {
            let text = given(name)?;
            let time: Option<Timestamp> = is_rfc3339(text).then(|| text.parse().ok()).flatten();
            if time.is_none() {
                problems.push(invalid(name, json!(text), "invalid time format"));
            }
            time
        };
        (query.options.since, query.options.until) = (time("sinceTime"), time("untilTime"));
        let mut number = |name: &'static str| {
            let text = given(name)?;
            let number = text.parse::<i64>();
            let why = number.as_ref().err().map(|error| go_number_error(text, error));
            problems.extend(why.map(|why| invalid(name, json!(text), why)));
            number.ok()
        };
        (query.options.boot, query.options.tail_lines) = (number("boot"), number("tailLines"));
        query.options.pattern = given("pattern").unwrap_or_default().to_owned();
        if !problems.is_empty() {
            return Err(NodeLogQueryError { problems });
        }
        Ok((query != Self::default()).then_some(query))
    }

    /// Where the logs are.
    ///
    /// # Errors
    /// The query makes no sense, alone or together: 406.
    pub fn source(&self) -> Result<NodeLogSource<'_>, NodeLogQueryError> {
        let mut problems: Vec<String> =
            self.services.iter().filter_map(|name| service_problem(name)).collect();
        let count = self.services.len();
        if count > SERVICES_MAX {
            problems.push(format!("query: Too many: {count}: must have at most {SERVICES_MAX} items"));
        }
        let source = match (self.files.as_slice(), self.services.as_slice()) {
            ([], []) => Err("query: Required value: cannot be empty with options".to_owned()),
            ([], services) => Ok(NodeLogSource::Services(services)),
            (files, services @ [_, ..]) => {
                let both = format!("[{}], [{}]", files.join(" "), services.join(" "));
                Err(invalid("query", json!(both), "cannot specify a file and service"))
            }
            (files @ [_, _, ..], []) => {
                Err(invalid("query", json!(files), "cannot specify more than one file"))
            }
            (files @ [_], []) if self.options != NodeLogOptions::default() => {
                Err(invalid("query", json!(files), "cannot specify file with options"))
            }
            ([file], []) => Ok(NodeLogSource::File(file)),
        };
        problems.extend(source.as_ref().err().cloned());
        problems.extend(self.options.problems());
        match source {
            Ok(source) if problems.is_empty() => Ok(source),
            Ok(_) | Err(_) => Err(NodeLogQueryError { problems }),
        }
    }

    /// Returns what a query for a file is refused with that can't be opened.
    pub fn unreadable(&self, why: impl Display) -> NodeLogQueryError {
        NodeLogQueryError { problems: vec![invalid("query", json!(self.files), why)] }
    }
}

impl NodeLogOptions {
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if let (Some(since), Some(until)) = (self.since, self.until)
            && since > until
        {
            problems.push(invalid("untilTime", json!(until.to_string()), "must be after `sinceTime`"));
        }
        if let Some(boot) = self.boot.filter(|boot| *boot > 0) {
            problems.push(invalid("boot", json!(boot), "must be less than 1"));
        }
        if let Some(lines) = self.tail_lines.filter(|lines| !(0..=TAIL_LINES_MAX).contains(lines)) {
            let why = format!("must be between 0 and {TAIL_LINES_MAX}, inclusive");
            problems.push(invalid("tailLines", json!(lines), why));
        }
        if let Err(error) = regex_syntax::ast::parse::Parser::new().parse(&literal_braces(&self.pattern)) {
            let why = format!("error parsing regexp: {}", error.kind());
            problems.push(invalid("pattern", json!(self.pattern), why));
        }
        problems
    }

    /// The arguments with which `journalctl` shows this of the logs of these services.
    pub fn journal_arguments(&self, services: &[String]) -> Vec<String> {
        let mut arguments: Vec<String> =
            ["--utc", "--no-pager", "--output=short-precise"].map(str::to_owned).into();
        // With its zone, for journalctl reads a time without one as the machine's.
        let time = |time: Timestamp| time.strftime("%Y-%m-%d %H:%M:%S UTC");
        arguments.extend(self.since.map(|since| format!("--since={}", time(since))));
        arguments.extend(self.until.map(|until| format!("--until={}", time(until))));
        if let Some(lines) = self.tail_lines {
            arguments.extend(["--pager-end".to_owned(), format!("--lines={lines}")]);
        }
        arguments.extend(services.iter().map(|service| format!("--unit={service}")));
        if !self.pattern.is_empty() {
            arguments.push(format!("--grep={}", self.pattern));
        }
        if let Some(boot) = self.boot {
            arguments.extend(["--boot".to_owned(), boot.to_string()]);
        }
        arguments
    }
}

/// Whether the journal has logs of a service, by its list of units.
pub fn is_journal_unit(units: &str, service: &str) -> bool {
    units.lines().any(|unit| unit == service || unit.strip_suffix(".service") == Some(service))
}

/// The files that may hold the log of a service which the journal doesn't know, in the order in which they are tried.
pub fn log_file_names(service: &str) -> [String; 3] {
    [service.to_owned(), format!("{service}.log"), format!("{service}/{service}.log")]
}

fn values<'a>(pairs: &'a [(String, String)], name: &'a str) -> impl Iterator<Item = &'a str> {
    pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn service_problem(name: &str) -> Option<String> {
    if name.len() > SERVICE_BYTES_MAX {
        return Some(invalid("query", json!(name), format!("length must be less than {SERVICE_BYTES_MAX}")));
    }
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:@".contains(&byte);
    let problem = || invalid("query", json!(name), "input contains unsupported characters");
    (!name.bytes().all(is_safe)).then(problem)
}

/// The pattern with each brace escaped that begins no repetition: those are literal in Go's and Perl's syntax, and errors in Rust's.
fn literal_braces(pattern: &str) -> String {
    let mut escaped = String::new();
    let mut rest = pattern.chars();
    let mut before = None;
    while let Some(char) = rest.next() {
        match char {
            '\\' => {
                escaped.push(char);
                let next = rest.next();
                escaped.extend(next);
                // A class of Unicode or a code, whose braces belong to it.
                before = next.filter(|next| matches!(next, 'p' | 'P' | 'x'));
                continue;
            }
            '{' if before.is_none() && !is_repetition(rest.as_str()) => escaped.push_str("\\{"),
            _ => escaped.push(char),
        }
        before = None;
    }
    escaped
}

/// Whether what follows a brace makes a repetition of it: `3}`, `3,}` or `3,5}`.
fn is_repetition(rest: &str) -> bool {
    let Some((bounds, _)) = rest.split_once('}') else { return false };
    let (least, most) = bounds.split_once(',').unwrap_or((bounds, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && is_digits(least) && is_digits(most)
}

fn invalid(field: &str, value: serde_json::Value, why: impl Display) -> String {
    format!("{field}: Invalid value: {value}: {why}")
}

fn go_number_error(text: &str, error: &std::num::ParseIntError) -> String {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    let why = match error.kind() {
        PosOverflow | NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    format!("strconv.Atoi: parsing {text:?}: {why}")
}

/// One alone, several in a list, each once.
fn together(problems: &[String]) -> String {
    let mut each: Vec<&str> = Vec::new();
    for problem in problems {
        if !each.contains(&problem.as_str()) {
            each.push(problem);
        }
    }
    match each[..] {
        [one] => one.to_owned(),
        _ => format!("[{}]", each.join(", ")),
    }
}
