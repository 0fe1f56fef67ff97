//! The plugin host with real components: contracts, limits, the life of plugins, components from registries, and the
//! conformance kit. Cases that other programs must be installed for count as ignored where they aren't.
#![forbid(unsafe_code)]
#![allow(clippy::panic, reason = "a panic is how a test fails")]

mod admission_v0_2;
mod admitted_v0_2;
mod answers;
mod builtin_probes;
mod comparing;
mod editing;
mod explaining;
mod feeding;
mod fetching;
mod forging;
mod kit;
mod loading;
mod networks;
mod node;
mod older;
mod phases;
mod policies;
mod probes_v0_2;
mod probing;
mod random_rules;
mod recording;
mod registry;
mod reloading;
mod restarting;
mod rolling_out;
mod servers;
mod shipped_admission;
mod shipped_probes;
mod sources;
mod surviving;
mod swapping;
mod ten_rules;
mod upstream;
mod versions;
mod vouching;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// One test: a claim, and what shows it.
pub(crate) type Claim = (&'static str, fn() -> Shown);

/// A test's run.
pub(crate) type Shown = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let claims = [
        builtin_probes::CLAIMS,
        shipped_admission::CLAIMS,
        shipped_probes::CLAIMS,
        editing::CLAIMS,
        kit::manifests::CLAIMS,
        loading::CLAIMS,
        answers::CLAIMS,
        admission_v0_2::CLAIMS,
        older::CLAIMS,
        phases::CLAIMS,
        policies::CLAIMS,
        admitted_v0_2::CLAIMS,
        probes_v0_2::CLAIMS,
        explaining::CLAIMS,
        feeding::CLAIMS,
        fetching::CLAIMS,
        surviving::CLAIMS,
        comparing::CLAIMS,
        swapping::CLAIMS,
        ten_rules::CLAIMS,
        forging::CLAIMS,
        probing::CLAIMS,
        random_rules::CLAIMS,
        recording::CLAIMS,
        reloading::CLAIMS,
        restarting::CLAIMS,
        rolling_out::CLAIMS,
        sources::CLAIMS,
        upstream::CLAIMS,
        versions::CLAIMS,
        vouching::CLAIMS,
    ]
    .into_iter()
    .flatten()
    .copied();
    let mut trials: Vec<Trial> = claims.map(|(name, show)| Trial::test(name, move || run(show))).collect();
    trials.extend(registry::trials(&arguments));
    trials.extend(networks::trials(&arguments));
    trials.extend(kit::shipped::trials());
    trials.extend(kit::faults::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
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
