//! What loaded built-ins cost while nothing happens: a process with all of them compared with one with none.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::plugin::config::Grants;
use witlet_wasm::plugin::{Builtin, PluginState};

use crate::measure::{self, Line, cache, cpu_seconds, describe, report, resident};
use crate::probe::http_grants;
use crate::probe_rate::host;

/// The argument that makes this program a process with so many built-ins, and where compiled code is.
pub(crate) const CHILD: &str = "idle-host";
/// How many built-ins are loaded: all that are on, and one more.
const BUILTINS: usize = 16;
/// How long it is left alone before a reading.
const SETTLE: Duration = Duration::from_secs(5);
/// How long it is watched.
const WINDOW: Duration = Duration::from_secs(30);
/// How often a thread that ticks epochs may wake up in that time: it is parked.
const EPOCH_WAKES_MAX: f64 = 2.0;
/// Processor time in percent of a core that waiting may take.
const CPU_BUDGET_PERCENT: f64 = 0.1;

pub(crate) fn measure() -> Result<bool, String> {
    let folder = tempfile::TempDir::new().map_err(describe)?;
    // The first start fills the cache.
    run(folder.path(), BUILTINS, Duration::ZERO)?;
    let none = run(folder.path(), 0, WINDOW)?;
    let all = run(folder.path(), BUILTINS, WINDOW)?;
    let figure = |from: &Value, name: &str| {
        from[name].as_f64().ok_or_else(|| format!("the process says nothing of {name}"))
    };
    for (name, unit) in [("resident", "MB"), ("anonymous", "MB"), ("file", "MB"), ("threads", "threads")] {
        report(
            &format!("idle/{BUILTINS}-builtins/{name}"),
            unit,
            figure(&all, name)?,
            Some(figure(&none, name)?),
        );
    }
    let mut kept = true;
    for (name, unit, budget) in
        [("cpu", "%", CPU_BUDGET_PERCENT), ("epoch-wakes", "times in 30 s", EPOCH_WAKES_MAX)]
    {
        let (value, floor) = (figure(&all, name)?, figure(&none, name)?);
        let name = format!("idle/{BUILTINS}-builtins/{name}");
        // What isn't there has no ratio.
        let floor = (floor > 0.0).then_some(floor);
        kept &= Line { name, unit, value, floor, budget: Some(budget) }.print();
    }
    Ok(kept)
}

fn run(folder: &std::path::Path, builtins: usize, window: Duration) -> Result<Value, String> {
    let output = Command::new(std::env::current_exe().map_err(describe)?)
        .args([CHILD, &builtins.to_string(), &window.as_secs().to_string()])
        .arg(cache(folder))
        .output()
        .map_err(describe)?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(describe)
}

/// What the daemon has, and one that is off there.
fn builtins(count: usize) -> Vec<Builtin> {
    let handlers =
        witlet_plugins::ADMISSION.iter().map(|shipped| Builtin::admission(shipped.name, shipped.component));
    let types =
        witlet_plugins::PROBES.iter().chain(witlet_plugins::SHIPPED.iter().filter(|it| it.name == "redis"));
    let types = types.map(|shipped| {
        let grants = Grants { exec: true, secrets: ["password".to_owned()].into(), ..http_grants() };
        Builtin::probe(shipped.name, shipped.name, shipped.component, grants)
    });
    handlers.chain(types).take(count).collect()
}

/// Loads, waits, and prints what that took.
#[allow(clippy::print_stdout, reason = "its parent reads it")]
pub(crate) fn child(words: &[String]) -> Result<(), String> {
    let [count, seconds, cache] = words else { return Err("three arguments, please".to_owned()) };
    let (count, seconds): (usize, u64) =
        (count.parse().map_err(describe)?, seconds.parse().map_err(describe)?);
    let found = measure::runtime()?.block_on(async {
        let host = host(CompilerConfig::new(std::path::PathBuf::from(cache)), builtins(count)).await?;
        let loaded = host.list().iter().filter(|status| status.state == PluginState::Ready).count();
        if loaded != count {
            return Err(format!("{loaded} of {count} are loaded: {:#?}", host.list()));
        }
        if seconds > 0 {
            tokio::time::sleep(SETTLE).await;
        }
        let (cpu, wakes) = (cpu_seconds(), wakes());
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let more: u64 = wakes_since(&wakes);
        let mb = |key| resident(key) / 1e6;
        Ok(json!({
            "resident": mb("VmRSS"), "anonymous": mb("RssAnon"), "file": mb("RssFile"),
            "threads": tasks().len(),
            "cpu": (cpu_seconds() - cpu) / (seconds.max(1)) as f64 * 100.0,
            "epoch-wakes": more,
        }))
    })?;
    println!("{found}");
    Ok(())
}

/// The folders of this process's threads.
fn tasks() -> Vec<std::path::PathBuf> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    tasks.filter_map(|task| Some(task.ok()?.path())).collect()
}

/// How often each thread that ticks epochs has gone to sleep by itself, which it does after each time that it woke up.
fn wakes() -> BTreeMap<std::path::PathBuf, u64> {
    let read =
        |task: &std::path::Path, file: &str| std::fs::read_to_string(task.join(file)).unwrap_or_default();
    let count = |task: std::path::PathBuf| {
        if read(&task, "comm").trim() != "epochs" {
            return None;
        }
        let status = read(&task, "status");
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        Some((task, line.trim().parse().ok()?))
    };
    tasks().into_iter().filter_map(count).collect()
}

fn wakes_since(before: &BTreeMap<std::path::PathBuf, u64>) -> u64 {
    wakes().into_iter().map(|(task, count)| count - before.get(&task).copied().unwrap_or(0)).sum()
}
