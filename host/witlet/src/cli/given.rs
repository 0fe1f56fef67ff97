//! The values of the flags of `witlet run`, as `/flagz` shows them.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::CommandFactory;

use super::Cli;

#[cfg(test)]
mod tests;

/// The flag whose values may be tokens, which no one is shown.
const CLASSIFIED: &str = "manifest-url-header";

/// The values of all flags by their names, given or by default; none if these aren't arguments of `witlet run`.
pub(crate) fn flags_of_run(arguments: impl IntoIterator<Item = OsString>) -> BTreeMap<String, String> {
    let command = Cli::command();
    let found = command.clone().try_get_matches_from(arguments);
    let (Some(run), Ok(found)) = (command.find_subcommand("run"), found) else { return BTreeMap::new() };
    let Some(("run", found)) = found.subcommand() else { return BTreeMap::new() };
    let mut flags = BTreeMap::new();
    for argument in run.get_arguments() {
        let Some(name) = argument.get_long() else { continue };
        let values = found.try_get_raw(argument.get_id().as_str()).ok().flatten().into_iter().flatten();
        let values: Vec<_> = values.map(|value| value.to_string_lossy().into_owned()).collect();
        let is_secret = name == CLASSIFIED && !values.is_empty();
        flags.insert(name.to_owned(), if is_secret { "CLASSIFIED".to_owned() } else { values.join(",") });
    }
    flags
}
