//! The fake runtime keeps the promises that every runtime keeps.

use std::time::Duration;

use witlet_contracts::{Commands, Environment, Offers, Outcome, Registry, Workload, run_all};
use witlet_core::runtime::ImageAuth;
use witlet_testkit::{Behaviour, ExecScript, FakeImage, FakeRuntime, ManualClock};

/// What fakes can't show: they run no processes, keep no logs and mount nothing. The embedded runtime shows these.
const NEEDS_PROCESSES: [&str; 7] = [
    "exit_codes_are_reported",
    "a_process_that_ignores_being_asked_is_killed_after_its_grace",
    "output_is_logged_in_the_cri_format",
    "a_log_that_was_moved_away_is_written_again",
    "a_mounted_folder_is_shared_with_the_host_and_other_containers",
    "a_read_only_mount_can_not_be_written",
    "mounts_are_reported_as_they_were_asked_for",
];

#[tokio::test(start_paused = true)]
async fn the_fake_runtime_passes_the_contract_suite() {
    let runtime = FakeRuntime::new(ManualClock::new());
    runtime.add_image("sleeper:1", FakeImage::present(Behaviour::Sleeps));
    runtime.add_image("pullable:1", FakeImage::absent(Behaviour::Sleeps));
    runtime.add_image("removable:1", FakeImage::absent(Behaviour::Sleeps));
    let auth =
        ImageAuth { username: "ann".to_owned(), password: "secret".to_owned(), ..ImageAuth::default() };
    let private = FakeImage {
        wants_user: Some(auth.username.clone()),
        wants_password: Some(auth.password.clone()),
        ..FakeImage::absent(Behaviour::Sleeps)
    };
    runtime.add_image("private:1", private);
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
                commands_in: sleeper,
                writes: vec!["write".to_owned()],
                fails: (vec!["fail".to_owned()], 3),
                never_ends: vec!["hang".to_owned()],
            }),
            changes_limits: true,
            registry: Some(Registry {
                private_image: "private:1".to_owned(),
                auth,
                absent_image: "not-in-the-registry:1".to_owned(),
            }),
            removable_image: Some("removable:1".to_owned()),
            ..Offers::default()
        },
        addresses: true,
        timeout: Duration::from_secs(60),
    };
    let report = run_all(&runtime.ports(), &environment).await;
    println!("{report}");
    assert!(report.is_success(), "{report}");
    let is_skipped = |outcome: &Outcome| matches!(outcome, Outcome::Skipped(_));
    let skipped = report.outcomes().iter().filter(|(_, outcome)| is_skipped(outcome));
    assert!(skipped.map(|(case, _)| *case).eq(NEEDS_PROCESSES), "{report}");
}
