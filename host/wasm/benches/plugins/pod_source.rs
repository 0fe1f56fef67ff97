//! Pod sources: a poll that waits for nothing and brings one pod of 4 KB, in a fresh and in a kept instance.
//!
//! Floors as those of probe types.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;
use witlet_core::sources::plugin::Snapshot;
use witlet_wasm::direct::{CallReport, DirectHost, DirectOptions, DirectWaiting};
use witlet_wasm::plugin::config::Grants;
use witlet_wasm::role::Role;

use crate::measure::{
    self, FixedClock, Rounds, Times, WARM, describe, report, report_times, resident_exactly,
};
use crate::{floor, loading};

/// Rounds per measurement.
const ROUNDS: u32 = 20;
/// Calls per round.
const CALLS: u32 = 200;
/// Instances that are alive while their memory is read.
const ALIVE: usize = 64;
/// Bytes of the pod that it brings.
const POD_BYTES: usize = 4 << 10;

fn config() -> Value {
    json!({"do": "pods", "text": "x".repeat(POD_BYTES)})
}

pub(crate) fn measure() -> Result<bool, String> {
    measure::runtime()?.block_on(async {
        calls().await?;
        loading::report(Role::PodSource, witlet_test_guests::SOURCER, &Grants::default(), &config()).await?;
        memory().await?;
        Ok(true)
    })
}

/// Asks, and gives the instance's linear memory.
async fn ask(plugin: &DirectWaiting) -> Result<usize, String> {
    let CallReport { result, memory_bytes_peak, .. } = plugin.poll(None).await;
    match result.map_err(|error| error.sentence())? {
        Ok(answer) if matches!(&answer.snapshot, Snapshot::Pods(pods) if pods.len() == 1) => {
            Ok(memory_bytes_peak)
        }
        other => Err(format!("an unexpected answer: {other:?}")),
    }
}

async fn time(plugin: &DirectWaiting) -> Result<Times, String> {
    let mut all = Rounds::new();
    for _ in 0..ROUNDS {
        let mut round = Vec::with_capacity(CALLS as usize);
        for _ in 0..CALLS {
            let start = Instant::now();
            ask(plugin).await?;
            round.push(start.elapsed());
        }
        all.add(round);
    }
    Ok(all.times())
}

async fn load(host: &DirectHost, warm: bool) -> Result<DirectWaiting, String> {
    let options = DirectOptions { config: config(), warm: warm.then_some(WARM), ..DirectOptions::default() };
    host.waiting(Role::PodSource, witlet_test_guests::SOURCER.into(), options).await.map_err(describe)
}

async fn calls() -> Result<(), String> {
    let (_folder, compiler) = measure::compiler()?;
    let host = DirectHost::start(compiler, Arc::new(FixedClock)).map_err(describe)?;
    let engine = floor::waiting_engine()?;
    for (instance, warm) in [("fresh", false), ("warm", true)] {
        let plugin = load(&host, warm).await?;
        let floor = floor::waiting(&engine, ROUNDS, CALLS).await?;
        report_times(&format!("podSource/one-pod/{instance}"), time(&plugin).await?, floor, None);
    }
    Ok(())
}

async fn memory() -> Result<(), String> {
    let (_folder, compiler) = measure::compiler()?;
    let host = DirectHost::start(compiler, Arc::new(FixedClock)).map_err(describe)?;
    let floor = floor::memory_waiting(&floor::waiting_engine()?, ALIVE).await?;
    // Without instances and with one for each: the rest of a loaded plugin is in both. The first round maps what they share.
    let (mut taken, mut linear) = ([0.0; 3], 0);
    for (taken, warm) in taken.iter_mut().zip([false, false, true]) {
        let before = resident_exactly();
        let mut plugins = Vec::with_capacity(ALIVE);
        for _ in 0..ALIVE {
            let plugin = load(&host, warm).await?;
            linear = linear.max(ask(&plugin).await?);
            plugins.push(plugin);
        }
        *taken = (resident_exactly() - before) / ALIVE as f64;
    }
    let taken = taken[2] - taken[1];
    report("podSource/memory/resident", "KB", taken / 1e3, Some(floor / 1e3));
    report("podSource/memory/linear", "KB", linear as f64 / 1e3, None);
    Ok(())
}
