//! The fake runtime keeps the promises that every runtime keeps.

use std::time::Duration;

use witlet_contracts::{Commands, Environment, Offers, Workload, run_all};
use witlet_testkit::{Behaviour, ExecScript, FakeImage, FakeRuntime, ManualClock};

#[tokio::test(start_paused = true)]
async fn the_fake_runtime_passes_the_contract_suite() {
    let runtime = FakeRuntime::new(ManualClock::new());
    runtime.add_image("sleeper:1", FakeImage::present(Behaviour::Sleeps));
    runtime.add_image("pullable:1", FakeImage::absent(Behaviour::Sleeps));
    runtime.add_image("removable:1", FakeImage::absent(Behaviour::Sleeps));
    let says = |text: &str| format!("to {text}\n");
    let writes = ExecScript { stdout: says("stdout"), stderr: says("stderr"), ..ExecScript::default() };
    runtime.set_exec("write", writes);
    runtime.set_exec("fail", ExecScript { exit_code: 3, ..ExecScript::default() });
    runtime.set_exec("hang", ExecScript { takes: Duration::from_secs(600), ..ExecScript::default() });
    let sleeper = Workload { image: "sleeper:1".to_owned(), command: Vec::new(), args: Vec::new() };
    let logs = tempfile::tempdir().expect("a folder for logs");
    let environment = Environment {
        log_root: logs.path().to_owned(),
        sleeper: sleeper.clone(),
        processes: None,
        pullable_image: Some("pullable:1".to_owned()),
        absent_image: "absent:1".to_owned(),
        offers: Offers {
            commands: Some(Commands {
                beside: sleeper,
                writes: vec!["write".to_owned()],
                fails: (vec!["fail".to_owned()], 3),
                never_ends: vec!["hang".to_owned()],
            }),
            changes_limits: true,
            removable_image: Some("removable:1".to_owned()),
            ..Offers::default()
        },
        addresses: true,
        patience: Duration::from_secs(60),
    };
    let report = run_all(&runtime.ports(), &environment).await;
    println!("{report}");
    assert!(report.is_success(), "{report}");
}
