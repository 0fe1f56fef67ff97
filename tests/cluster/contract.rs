//! What a node agent relies on in an API server: the same cases on the small server in memory and on a real one.
#![allow(clippy::print_stderr, reason = "a test program of its own, and this is its report")]

#[path = "contract/deletion.rs"]
mod deletion;
#[path = "contract/lists.rs"]
mod lists;
#[path = "contract/objects.rs"]
mod objects;
#[path = "contract/patches.rs"]
mod patches;
#[path = "contract/real.rs"]
mod real;
#[path = "contract/subresources.rs"]
mod subresources;
#[path = "contract/support.rs"]
mod support;
#[path = "contract/watches.rs"]
mod watches;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime as Tokio;
use witlet_api_server::{ApiServer, Identity, Options};

use crate::real::RealServer;
use crate::support::{Case, namespace};

/// How long a case may take on any server.
const PATIENCE: Duration = Duration::from_secs(60);

fn cases() -> impl Iterator<Item = &'static Case> {
    [objects::CASES, patches::CASES, lists::CASES, watches::CASES, deletion::CASES, subresources::CASES]
        .into_iter()
        .flatten()
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let tokio = Arc::new(Tokio::new().expect("threads can be started"));
    #[allow(clippy::disallowed_methods, reason = "the suite's own clock, at its rim")]
    let small = ApiServer::new(Options::new(Arc::new(Timestamp::now)));
    let client = tokio.block_on(async { small.client(&Identity::admin()) });
    let mut trials: Vec<Trial> =
        cases().map(|case| trial("small", case, &tokio, Ok(client.clone()))).collect();

    let real = if arguments.list {
        Err("tests are only listed".to_owned())
    } else {
        tokio.block_on(RealServer::start())
    };
    if let Err(reason) = &real {
        if RealServer::is_wanted() && !arguments.list {
            eprintln!("FAILED: {reason}");
            return ExitCode::FAILURE;
        }
        eprintln!("SKIPPED on a real API server: {reason}");
    }
    let client = real.as_ref().map(RealServer::client).map_err(Clone::clone);
    trials.extend(cases().map(|case| trial("real", case, &tokio, client.clone())));
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(real);
    conclusion.exit_code()
}

fn trial(server: &str, case: &'static Case, tokio: &Arc<Tokio>, client: Result<Client, String>) -> Trial {
    let is_ignored = client.is_err();
    let tokio = tokio.clone();
    let run = move || {
        let client = client.map_err(Failed::from)?;
        let within = async {
            let namespace = namespace(&client).await;
            (case.run)(client, namespace).await;
        };
        tokio
            .block_on(async { tokio::time::timeout(PATIENCE, within).await })
            .map_err(|_| Failed::from("it took too long"))
    };
    Trial::test(format!("{server}::{}", case.name), run).with_ignored_flag(is_ignored)
}
