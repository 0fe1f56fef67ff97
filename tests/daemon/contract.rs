//! The contract of the runtime ports, on the embedded runtime as the daemon starts it.

use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Failed;
use witlet_contracts::{Environment, Processes, Workload, run_all};

use crate::world::DaemonWorld;

fn component(name: &str, args: &[&str]) -> Workload {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    Workload { image: format!("file:{name}.wasm"), command: Vec::new(), args }
}

/// Runs the suite. The daemon beside it has no pods, and cleans nothing up that it doesn't know: it is stopped first.
pub(crate) async fn embedded(mut world: DaemonWorld) -> Result<(), Failed> {
    world.daemon.kill()?;
    let environment = Environment {
        log_root: world.pod_logs(),
        sleeper: component("http-server", &["0"]),
        processes: Some(Processes {
            exits_with: Arc::new(|code| component("worker", &[&code.to_string(), "1", "1"])),
            ignores_stop: component("stubborn", &[]),
            // Its own tests look at logs line by line.
            writes: None,
        }),
        pullable_image: Some("file:worker.wasm".to_owned()),
        absent_image: "file:absent.wasm".to_owned(),
        addresses: true,
        patience: Duration::from_secs(60),
    };
    for name in ["http-server", "worker", "stubborn"] {
        world.runtime.images.pull(&format!("file:{name}.wasm")).await?;
    }
    let report = run_all(&world.runtime, &environment).await;
    let verdict = if report.is_success() { Ok(()) } else { Err(Failed::from(report.to_string())) };
    world.daemon.launch()?;
    world.answers().await?;
    verdict.and(world.end().await)
}
