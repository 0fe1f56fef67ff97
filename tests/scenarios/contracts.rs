//! The fake runtime keeps the promises that every runtime keeps.

use std::time::Duration;

use witlet_contracts::{Environment, Offers, Workload, run_all};
use witlet_testkit::{Behaviour, FakeImage, FakeRuntime, ManualClock};

#[tokio::test(start_paused = true)]
async fn the_fake_runtime_passes_the_contract_suite() {
    let runtime = FakeRuntime::new(ManualClock::new());
    runtime.add_image("sleeper:1", FakeImage::present(Behaviour::Sleeps));
    runtime.add_image("pullable:1", FakeImage::absent(Behaviour::Sleeps));
    let logs = tempfile::tempdir().expect("a folder for logs");
    let environment = Environment {
        log_root: logs.path().to_owned(),
        sleeper: Workload { image: "sleeper:1".to_owned(), command: Vec::new(), args: Vec::new() },
        processes: None,
        pullable_image: Some("pullable:1".to_owned()),
        absent_image: "absent:1".to_owned(),
        offers: Offers { changes_limits: true, ..Offers::default() },
        addresses: true,
        patience: Duration::from_secs(60),
    };
    let report = run_all(&runtime.ports(), &environment).await;
    println!("{report}");
    assert!(report.is_success(), "{report}");
}
