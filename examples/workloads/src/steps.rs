//! The steps of `probe-target`: what its arguments ask it to do, one after the other.

use std::time::Duration;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Says something on standard output.
    Print(String),
    /// Waits, without noticing anything.
    Sleep(Duration),
    /// Waits until the container is asked to stop.
    Wait,
    /// Computes for ever.
    Spin,
    /// Replaces a file.
    Write(String, String),
    /// Adds a line to a file.
    Append(String, String),
    /// Removes a file; one that isn't there is removed.
    Remove(String),
    /// Prints a file.
    Read(String),
    /// Ends with code 1 unless the file is there.
    Exists(String),
    /// Leaves a termination message.
    Message(String),
    /// Answers HTTP until the container is asked to stop.
    Serve,
    /// Ends with a code.
    Exit(u8),
}

/// The steps that `words` ask for: a verb with its arguments, and so on.
///
/// # Errors
///
/// Names the verb that isn't one, or that lacks an argument.
pub fn parse(words: &[String]) -> Result<Vec<Step>, String> {
    let mut words = words.iter();
    let mut steps = Vec::new();
    while let Some(verb) = words.next() {
        let mut argument = || words.next().cloned().ok_or_else(|| format!("{verb}: an argument is missing"));
        let number = |value: String| value.parse().map_err(|_| format!("{verb}: {value:?} isn't a number"));
        steps.push(match verb.as_str() {
            "print" => Step::Print(argument()?),
            "sleep" => Step::Sleep(Duration::from_millis(number(argument()?)?)),
            "wait" => Step::Wait,
            "spin" => Step::Spin,
            "write" => Step::Write(argument()?, argument()?),
            "append" => Step::Append(argument()?, argument()?),
            "remove" => Step::Remove(argument()?),
            "read" => Step::Read(argument()?),
            "exists" => Step::Exists(argument()?),
            "message" => Step::Message(argument()?),
            "serve" => Step::Serve,
            "exit" => {
                let code = number(argument()?)?;
                Step::Exit(u8::try_from(code).map_err(|_| format!("exit: {code} is more than 255"))?)
            }
            unknown => return Err(format!("{unknown:?} is no step")),
        });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests;
