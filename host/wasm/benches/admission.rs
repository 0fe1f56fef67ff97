//! What a call into an admission handler costs, beside the least that the engine can do.
//!
//! Prints one JSON object a line: `name, unit, value, floor, ratio, budget`. The floor is one core module with a
//! one-page memory and a no-op export, instantiated and called once with the same engine, store and limiter. Has its
//! own `main`, because it starts itself as the compiling child.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, EnvVar, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;
use tokio::time::Instant;
use wasmtime::{Engine, Linker, Module, Store};
use witlet_core::admission::{AdmissionRequest, Operation, Verdict};
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;
use witlet_ports::Clock;
use witlet_wasm::compile::{self, CompilerConfig};
use witlet_wasm::direct::{DirectOptions, DirectPlugin, Question};
use witlet_wasm::engine;
use witlet_wasm::limits::{EpochTicker, Limits, StoreLimits};
use witlet_wasm::plugin::config::{MEMORY_BYTES_DEFAULT, WARM_IDLE_DEFAULT, Warm};

/// Rounds per measurement; the fastest counts, for everything else is the machine's doing.
const ROUNDS: u32 = 30;
/// Calls per round.
const CALLS: u32 = 300;
/// Fresh instances may cost this many floors through getters.
const FRESH_FLOORS_BUDGET: f64 = 12.0;
/// Name, bytes of JSON, and containers of the pods that are asked about.
const SIZES: [(&str, usize, usize); 2] = [("4KB", 4 << 10, 2), ("40KB", 40 << 10, 4)];
/// A warm call may take this many microseconds through getters.
const WARM_BUDGET_MICROSECONDS: f64 = 2.0;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if compile::is_compile_command(&words) {
        return compile::child_main(words.into_iter().skip(1));
    }
    if words.iter().any(|word| word == "--test") {
        // `cargo test --benches` only wants to know that it builds.
        return ExitCode::SUCCESS;
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.to_string()),
    };
    match runtime.block_on(measure()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => fail("a budget was exceeded"),
        Err(message) => fail(&message),
    }
}

#[allow(clippy::print_stderr, reason = "a benchmark talks to its user")]
fn fail(message: &str) -> ExitCode {
    eprintln!("admission benchmark: {message}");
    ExitCode::FAILURE
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// A pod of about this many bytes of JSON. Large pods are large by what their containers are given, not by their
/// number.
fn pod(bytes: usize, containers: usize) -> Result<Pod, String> {
    let mut variables = 0;
    loop {
        let env = |number: usize| {
            let variable = |index: usize| EnvVar {
                name: format!("SETTING_{index}"),
                value: Some(format!("value number {index} of container {number}")),
                ..EnvVar::default()
            };
            (0..variables).map(variable).collect()
        };
        let container = |number: usize| Container {
            name: format!("container-{number}"),
            image: Some(format!("registry.example.com/team/app-{number}:1.2.3")),
            env: Some(env(number)),
            ..Container::default()
        };
        let pod = Pod {
            metadata: ObjectMeta {
                name: Some("web".to_owned()),
                namespace: Some("default".to_owned()),
                uid: Some("6d1f6f5e-0000-4000-8000-000000000000".to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(PodSpec {
                containers: (0..containers).map(container).collect(),
                ..PodSpec::default()
            }),
            ..Pod::default()
        };
        if serde_json::to_string(&pod).map_err(|error| error.to_string())?.len() >= bytes {
            return Ok(pod);
        }
        variables += 1;
    }
}

fn question(bytes: usize, containers: usize) -> Result<Question, String> {
    Ok(Question::new(AdmissionRequest {
        operation: Operation::Add,
        now: Timestamp::UNIX_EPOCH,
        pod: Arc::new(pod(bytes, containers)?),
        source: SourceName::file(),
        node: Arc::new(NodeFacts::default()),
        other_pods: Arc::new([]),
    }))
}

/// Microseconds of the fastest round's mean call.
fn fastest(mut call: impl FnMut() -> Result<(), String>) -> Result<f64, String> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            call()?;
        }
        best = best.min(start.elapsed());
    }
    Ok(best.as_secs_f64() * 1e6 / f64::from(CALLS))
}

/// The least: a module with a one-page memory, one instance, one call.
fn floor(engine: &Engine) -> Result<f64, String> {
    let text = "(module (memory (export \"memory\") 1 1) (func (export \"run\")))";
    let wasm = wat::parse_str(text).map_err(|error| error.to_string())?;
    let module = Module::new(engine, wasm).map_err(|error| error.to_string())?;
    let pre = Linker::new(engine).instantiate_pre(&module).map_err(|error| error.to_string())?;
    let ticker = EpochTicker::start(engine, Duration::from_millis(2)).map_err(|error| error.to_string())?;
    fastest(|| {
        let _ticking = ticker.ticking();
        let mut store = Store::new(engine, StoreLimits::new(Limits::with_memory(MEMORY_BYTES_DEFAULT)));
        store.limiter(|limits| limits);
        store.set_epoch_deadline(ticker.deadline(Duration::from_millis(100)));
        let instance = pre.instantiate(&mut store).map_err(|error| error.to_string())?;
        let run = instance.get_typed_func::<(), ()>(&mut store, "run").map_err(|error| error.to_string())?;
        run.call(&mut store, ()).map_err(|error| error.to_string())
    })
}

struct Line {
    name: String,
    value: f64,
    floor: f64,
    budget: Option<f64>,
}

impl Line {
    /// Prints itself; returns whether it keeps its budget.
    #[allow(clippy::print_stdout, reason = "a benchmark talks to its user")]
    fn print(&self) -> bool {
        let Self { name, value, floor, budget } = self;
        let ratio = value / floor;
        println!(
            "{}",
            json!({"name": name, "unit": "us", "value": round(*value), "floor": round(*floor),
                   "ratio": round(ratio), "budget": budget.map(round)})
        );
        budget.is_none_or(|budget| *value <= budget)
    }
}

fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

#[allow(clippy::print_stdout, reason = "a benchmark talks to its user")]
fn print_settings() {
    println!(
        "{}",
        json!({"name": "admission/settings", "unit": "settings", "value": {
            "poolSlots": engine::POOL_SLOTS,
            "poolMemoryBytesMax": engine::POOL_MEMORY_BYTES_MAX,
            "memoryKeepResidentBytes": engine::MEMORY_KEEP_RESIDENT_BYTES,
            "tableKeepResidentBytes": engine::TABLE_KEEP_RESIDENT_BYTES,
            "warmSlotsMax": engine::POOL_WARM_SLOTS_MAX,
            "pagemapScan": false,
            "copyOnWrite": true,
            "memoryBytesLimit": MEMORY_BYTES_DEFAULT,
            "containers": {"4KB": SIZES[0].2, "40KB": SIZES[1].2},
            "optimised": !cfg!(debug_assertions),
        }, "floor": null, "ratio": null, "budget": null})
    );
}

async fn measure() -> Result<bool, String> {
    print_settings();
    let cache = tempfile::TempDir::new().map_err(|error| error.to_string())?;
    let compiler = CompilerConfig::new(cache.path().join("compiled"));
    let warm = Warm { max: 1, uses: u64::MAX, idle: WARM_IDLE_DEFAULT };
    let mut kept = true;
    for (guest, wasm, budgeted) in
        [("getters", witlet_test_guests::NO_LATEST_TAG, true), ("json", witlet_test_guests::HOSTILE, false)]
    {
        for (instance, keep) in [("fresh", None), ("warm", Some(warm))] {
            let config = if budgeted { json!({}) } else { json!("decode-json") };
            let options = DirectOptions { config, warm: keep, ..DirectOptions::default() };
            let plugin = DirectPlugin::load(compiler.clone(), Arc::new(FixedClock), wasm.into(), options)
                .await
                .map_err(|error| error.to_string())?;
            let floor = floor(plugin.engine())?;
            for (size, bytes, containers) in SIZES {
                let question = question(bytes, containers)?;
                let value = fastest(|| match plugin.ask(&question) {
                    Ok(Verdict::Admit) => Ok(()),
                    Ok(other) => Err(format!("an unexpected verdict: {other:?}")),
                    Err(error) => Err(error.sentence()),
                })?;
                let budget = budgeted.then_some(match keep {
                    None => FRESH_FLOORS_BUDGET * floor,
                    Some(_) => WARM_BUDGET_MICROSECONDS,
                });
                let name = format!("admission/{guest}/{instance}/{size}");
                kept &= Line { name, value, floor, budget }.print();
            }
        }
    }
    Ok(kept)
}
