//! The contract of the runtime ports on the embedded runtime, through the agent's own CRI client.

use std::path::PathBuf;
use std::sync::Arc;

use libtest_mimic::Trial;
use witlet_contracts::{CASES, Case, Commands, Environment, Offers, Outcome, Processes, Workload, run_case};
use witlet_ports::Clock;

use crate::client::{REMOVABLE, Runtime};
use crate::on_shared;

/// What needs a registry: images are files next to this runtime. The fakes show these.
const NEEDS_REGISTRY: [&str; 2] = [
    "a_private_image_is_only_for_those_who_show_its_credentials",
    "what_a_registry_has_not_got_can_not_be_pulled",
];

pub(crate) fn trials() -> Vec<Trial> {
    let anywhere = environment(PathBuf::new());
    CASES
        .iter()
        .map(|case| {
            let skipped = case.skipped(&anywhere);
            if let Some(reason) = &skipped {
                eprintln!("SKIPPED contract::{}: {reason}", case.name);
            }
            let trial = on_shared(&format!("contract::{}", case.name), move |one| hold(case, one));
            trial.with_ignored_flag(NEEDS_REGISTRY.contains(&case.name))
        })
        .collect()
}

struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }
}

fn workload(image: &str, arguments: &[&str]) -> Workload {
    Workload {
        image: format!("file:{image}.wasm"),
        command: Vec::new(),
        args: arguments.iter().map(|word| (*word).to_owned()).collect(),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn environment(log_root: PathBuf) -> Environment {
    Environment {
        log_root,
        sleeper: workload("subject", &["read-input"]),
        processes: Some(Processes {
            exits_with: Arc::new(|code| workload("worker", &[&code.to_string(), "1", "1"])),
            ignores_stop: workload("stubborn", &[]),
            writes: Some(workload("subject", &["write"])),
        }),
        pullable_image: Some("file:http_server.wasm".to_owned()),
        absent_image: "file:not-there.wasm".to_owned(),
        offers: Offers {
            commands: Some(Commands {
                commands_in: workload("subject", &["wait-forever"]),
                writes: words(&["subject", "write"]),
                fails: (words(&["subject", "no-such-deed"]), 1),
                never_ends: words(&["subject", "wait-forever"]),
            }),
            writes_to: Some(Arc::new(|path| workload("subject", &["append", path]))),
            writes_on: Some(workload("stubborn", &[])),
            changes_limits: true,
            prints_memory_limit: None,
            tells_events: true,
            // Images are files next to the runtime.
            registry: None,
            removable_image: Some(format!("file:{REMOVABLE}.wasm")),
        },
        addresses: true,
        timeout: witlet_harness::WAIT_TIMEOUT,
    }
}

async fn hold(case: &'static Case, one: Runtime) {
    let log_root = one.folder.join("contract-logs");
    std::fs::create_dir_all(&log_root).expect("a folder");
    let environment = environment(log_root);
    for image in ["subject", "worker", "stubborn"] {
        one.pull(&format!("file:{image}.wasm")).await.expect("it is pulled");
    }
    let endpoint = format!("unix://{}", one.folder.join("root/runtime.sock").display());
    let runtime = witlet_cri::connect(&endpoint, Arc::new(WallClock)).expect("an endpoint");
    match run_case(case, &runtime, &environment).await {
        Outcome::Passed => {}
        Outcome::Skipped(reason) => panic!("this runtime should show it: {reason}"),
        Outcome::Failed(violation) => panic!("{violation}"),
    }
}
