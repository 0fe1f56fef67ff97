//! The least that the engines can do: one core module with a one-page memory and a no-op export.

use std::time::Duration;

use wasmtime::{Engine, InstancePre, Linker, Module, Store, UpdateDeadline};
use witlet_wasm::engine;
use witlet_wasm::limits::{EpochTicker, Limits, StoreLimits};
use witlet_wasm::plugin::config::MEMORY_BYTES_DEFAULT;

use crate::measure::{self, Rounds, Times, describe, resident_exactly};

/// Time between two ticks of the epoch, as plugins have it.
const PERIOD: Duration = Duration::from_millis(2);
/// What a call may take.
const TIMEOUT: Duration = Duration::from_millis(100);

fn store(engine: &Engine) -> Store<StoreLimits> {
    let mut store = Store::new(engine, StoreLimits::new(Limits::with_memory(MEMORY_BYTES_DEFAULT)));
    store.limiter(|limits| limits);
    store
}

fn module(engine: &Engine) -> Result<InstancePre<StoreLimits>, String> {
    // The call touches its memory, as every guest does.
    let text = r#"(module (memory (export "memory") 1 1)
        (func (export "run") (i32.store (i32.const 8) (i32.const 1))))"#;
    let module = Module::new(engine, wat::parse_str(text).map_err(describe)?).map_err(describe)?;
    Linker::new(engine).instantiate_pre(&module).map_err(describe)
}

/// One instance and one call on the synchronous engine, with the store and the limiter of plugins.
pub(crate) fn synchronous(engine: &Engine, rounds: u32, calls: u32) -> Result<Times, String> {
    let pre = module(engine)?;
    let ticker = EpochTicker::start(engine, PERIOD).map_err(describe)?;
    measure::time(rounds, calls, || {
        let _ticking = ticker.ticking();
        let mut store = store(engine);
        store.set_epoch_deadline(ticker.deadline(TIMEOUT));
        let instance = pre.instantiate(&mut store).map_err(describe)?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run").map_err(describe)?;
        run.call(&mut store, ()).map_err(describe)
    })
}

/// The same on the engine of probes and pod sources, on a stack of its own, polled where it is asked.
pub(crate) async fn waiting(engine: &Engine, rounds: u32, calls: u32) -> Result<Times, String> {
    let pre = module(engine)?;
    let ticker = EpochTicker::start(engine, PERIOD).map_err(describe)?;
    let mut all = Rounds::new();
    for _ in 0..rounds {
        let mut round = Vec::with_capacity(calls as usize);
        for _ in 0..calls {
            let start = tokio::time::Instant::now();
            let _ticking = ticker.ticking();
            let mut store = store(engine);
            store.set_epoch_deadline(1);
            store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
            let instance = pre.instantiate_async(&mut store).await.map_err(describe)?;
            let run = instance.get_typed_func::<(), ()>(&mut store, "run").map_err(describe)?;
            run.call_async(&mut store, ()).await.map_err(describe)?;
            round.push(start.elapsed());
        }
        all.add(round);
    }
    Ok(all.times())
}

/// Resident bytes that a live instance takes on the synchronous engine.
pub(crate) fn memory_synchronous(engine: &Engine, instances: usize) -> Result<f64, String> {
    let pre = module(engine)?;
    let ticker = EpochTicker::start(engine, PERIOD).map_err(describe)?;
    let mut alive = Vec::with_capacity(instances);
    let before = resident_exactly();
    for _ in 0..instances {
        let mut store = store(engine);
        store.set_epoch_deadline(ticker.deadline(TIMEOUT));
        let instance = pre.instantiate(&mut store).map_err(describe)?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run").map_err(describe)?;
        run.call(&mut store, ()).map_err(describe)?;
        alive.push(store);
    }
    Ok((resident_exactly() - before) / instances as f64)
}

/// The same on the engine of probes and pod sources.
pub(crate) async fn memory_waiting(engine: &Engine, instances: usize) -> Result<f64, String> {
    let pre = module(engine)?;
    let ticker = EpochTicker::start(engine, PERIOD).map_err(describe)?;
    let mut alive = Vec::with_capacity(instances);
    let before = resident_exactly();
    for _ in 0..instances {
        let mut store = store(engine);
        store.set_epoch_deadline(ticker.deadline(TIMEOUT));
        let instance = pre.instantiate_async(&mut store).await.map_err(describe)?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run").map_err(describe)?;
        run.call_async(&mut store, ()).await.map_err(describe)?;
        alive.push(store);
    }
    Ok((resident_exactly() - before) / instances as f64)
}

/// An engine with a pool of its own, made as that of probes and pod sources.
pub(crate) fn waiting_engine() -> Result<Engine, String> {
    engine::async_pooled().map_err(describe)
}
