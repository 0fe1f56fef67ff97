//! Conformance: guest programs against the host's contracts and limits.
//!
//! Has its own `main`, because the program that compiles components in a child process is this one.
#![forbid(unsafe_code)]
#![allow(clippy::panic, reason = "a panic is how a test fails")]

mod answers;
mod builtin_probes;
mod forging;
mod loading;
mod node;
mod probing;
mod recording;
mod reloading;
mod servers;
mod shipped_admission;
mod shipped_probes;
mod sources;
mod surviving;
mod swapping;
mod upstream;
mod versions;
mod vouching;

use std::ffi::OsString;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use witlet_wasm::compile;

/// One test: a claim, and what shows it.
pub(crate) type Claim = (&'static str, fn() -> Shown);

/// A test's run.
pub(crate) type Shown = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if compile::is_compile_command(&words) {
        return compile::child_main(words.into_iter().skip(1));
    }
    let claims = [
        builtin_probes::CLAIMS,
        shipped_admission::CLAIMS,
        shipped_probes::CLAIMS,
        loading::CLAIMS,
        answers::CLAIMS,
        surviving::CLAIMS,
        swapping::CLAIMS,
        forging::CLAIMS,
        probing::CLAIMS,
        recording::CLAIMS,
        reloading::CLAIMS,
        sources::CLAIMS,
        upstream::CLAIMS,
        versions::CLAIMS,
        vouching::CLAIMS,
    ]
    .into_iter()
    .flatten()
    .copied();
    let trials = claims.map(|(name, show)| Trial::test(name, move || run(show))).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn run(show: fn() -> Shown) -> Result<(), libtest_mimic::Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(show());
    Ok(())
}

/// Lists tests by name.
macro_rules! claims {
    ($($name:ident),* $(,)?) => {
        pub(crate) const CLAIMS: &[crate::Claim] = &[$((stringify!($name), || Box::pin($name()))),*];
    };
}
pub(crate) use claims;
