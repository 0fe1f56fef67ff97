//! The main function of test programs that need containerd.
#![allow(clippy::print_stderr, reason = "for the main functions of test programs, whose report this is")]

use std::error::Error;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use crate::requirements::{REQUIRE_VARIABLE, is_required, skip_reason};

/// Runs a suite of tests with these names, or says why it can't be run here and reports every test as ignored. A suite
/// is also not run to list its tests.
pub fn run_or_ignore<'a, E: Error>(
    names: impl IntoIterator<Item = &'a str>,
    run: impl FnOnce(&Arguments) -> Result<ExitCode, E>,
) -> ExitCode {
    let arguments = Arguments::from_args();
    let skip = if arguments.list { None } else { skip_reason() };
    if let Some(skip) = &skip {
        if is_required() {
            eprintln!("FAILED: {REQUIRE_VARIABLE} is set, and {skip}");
            return ExitCode::FAILURE;
        }
        eprintln!("SKIPPED: {skip}");
    }
    if skip.is_some() || arguments.list {
        let ignored = names.into_iter().map(|name| {
            let trial = Trial::test(name, || Err("containerd can't run here".into()));
            trial.with_ignored_flag(skip.is_some())
        });
        return libtest_mimic::run(&arguments, ignored.collect()).exit_code();
    }
    run(&arguments).unwrap_or_else(|error| {
        eprintln!("FAILED: {}", report(&error));
        ExitCode::FAILURE
    })
}

/// An error with all its causes.
pub fn report(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
