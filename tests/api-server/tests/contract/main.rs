//! What a node agent relies on in an API server: the same cases on the small server in memory and on a real one.
#![allow(clippy::print_stderr, reason = "a test program of its own, and this is its report")]

mod deletion;
mod lists;
mod node;
mod nodes;
mod objects;
mod patches;
mod proxied;
mod real;
mod recorded;
mod subresources;
mod support;
mod watches;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime as Tokio;
use witlet_api_server::{Admission, ApiServer, Identity, Options};

use crate::real::RealServer;
use crate::support::{BOOTSTRAPPERS, Case, Clients, NODE, namespace};

/// How long a case may take on any server: only a hang reaches it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(180);

fn cases() -> impl Iterator<Item = &'static Case> {
    [
        objects::CASES,
        patches::CASES,
        lists::CASES,
        watches::CASES,
        deletion::CASES,
        subresources::CASES,
        nodes::CASES,
        proxied::CASES,
        recorded::CASES,
    ]
    .into_iter()
    .flatten()
}

/// The server in memory. Its first versions are forgotten already, as on one that has run for a while.
fn small() -> Clients {
    let admission = Admission { node_rules: true, sign_requests: true, ..Admission::default() };
    #[allow(clippy::disallowed_methods, reason = "the suite's own clock, at its rim")]
    let server = ApiServer::new(Options { admission, ..Options::new(Arc::new(Timestamp::now)) });
    server.expire_history();
    Clients {
        admin: server.client(&Identity::admin()),
        node: server.client(&Identity::node(NODE)),
        bootstrap: server.client(&Identity::new("system:bootstrap:abcdef", &[BOOTSTRAPPERS])),
        signs: true,
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let tokio = Arc::new(Tokio::new().expect("threads can be started"));
    let clients = tokio.block_on(async { small() });
    let mut trials: Vec<Trial> =
        cases().map(|case| trial("small", case, &tokio, Ok(clients.clone()), u32::MAX)).collect();

    let real = if arguments.list {
        Err("tests are only listed".to_owned())
    } else {
        tokio.block_on(RealServer::start())
    };
    if let Err(reason) = &real {
        if RealServer::is_desired() && !arguments.list {
            eprintln!("FAILED: {reason}");
            return ExitCode::FAILURE;
        }
        eprintln!("SKIPPED on a real API server: {reason}");
    }
    let clients = real.as_ref().map(RealServer::clients).map_err(Clone::clone);
    let minor = real.as_ref().map_or(u32::MAX, RealServer::minor);
    for case in cases().filter(|case| case.since > minor) {
        eprintln!("SKIPPED real::{}: this server is 1.{minor}, and it came with 1.{}", case.name, case.since);
    }
    trials.extend(cases().map(|case| trial("real", case, &tokio, clients.clone(), minor)));
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(real);
    conclusion.exit_code()
}

/// One case on one server; ignored where there is no server, or an older one.
fn trial(
    server: &str,
    case: &'static Case,
    tokio: &Arc<Tokio>,
    clients: Result<Clients, String>,
    minor: u32,
) -> Trial {
    let is_ignored = clients.is_err() || case.since > minor;
    let tokio = tokio.clone();
    let run = move || {
        let clients = clients.map_err(Failed::from)?;
        let within = async {
            let namespace = namespace(&clients.admin).await;
            (case.run)(clients, namespace).await;
        };
        tokio
            .block_on(async { tokio::time::timeout(WAIT_TIMEOUT, within).await })
            .map_err(|_| Failed::from("it took too long"))
    };
    Trial::test(format!("{server}::{}", case.name), run).with_ignored_flag(is_ignored)
}
