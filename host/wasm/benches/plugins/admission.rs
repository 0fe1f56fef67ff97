//! Admission handlers: a call through getters and one that decodes the whole pod, each in a fresh and in a kept instance.
//!
//! Floor of a call: a core module, instantiated and called once on the same engine. Of a load without the cache: the
//! compiler alone; with it: mapping the compiled code. Of memory: an instance of the core module.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, EnvVar, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;
use witlet_core::admission::{AdmissionRequest, Operation, Verdict};
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;
use witlet_wasm::direct::{CallReport, DirectHost, DirectOptions, DirectPlugin, PreparedRequest};
use witlet_wasm::engine;
use witlet_wasm::plugin::config::{Grants, MEMORY_BYTES_DEFAULT};
use witlet_wasm::role::Role;

use crate::floor;
use crate::loading;
use crate::measure::{self, FixedClock, WARM, describe, report, report_times, resident_exactly};

/// Rounds per measurement.
const ROUNDS: u32 = 30;
/// Calls per round.
const CALLS: u32 = 300;
/// Fresh instances may cost this many floors through getters.
const FRESH_FLOORS_BUDGET: f64 = 12.0;
/// A warm call may take this many microseconds through getters.
const WARM_BUDGET_MICROSECONDS: f64 = 2.0;
/// Ten rules in CEL may take this many in a kept instance.
const RULES_BUDGET_MICROSECONDS: f64 = 250.0;
/// Name, bytes of JSON, and containers of the pods that are asked about.
const SIZES: [(&str, usize, usize); 2] = [("4KB", 4 << 10, 2), ("40KB", 40 << 10, 4)];
/// What a call may take, so that no busy machine ends the run.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Instances that are alive while their memory is read: as many as admission keeps.
const ALIVE: usize = 32;

pub(crate) fn measure() -> Result<bool, String> {
    print_settings();
    measure::runtime()?.block_on(async {
        let mut kept = calls().await?;
        kept &= rules().await?;
        let (wasm, grants) = (witlet_test_guests::NO_LATEST_TAG, Grants::default());
        loading::report(Role::Admission, wasm, &grants, &json!({})).await?;
        memory().await?;
        Ok(kept)
    })
}

#[allow(clippy::print_stdout, reason = "a benchmark talks to its user")]
fn print_settings() {
    println!(
        "{}",
        json!({"name": "plugins/settings", "unit": "settings", "value": {
            "poolSlots": engine::POOL_SLOTS,
            "waitingSlots": engine::WAITING_SLOTS,
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
        if serde_json::to_string(&pod).map_err(describe)?.len() >= bytes {
            return Ok(pod);
        }
        variables += 1;
    }
}

fn request(bytes: usize, containers: usize) -> Result<PreparedRequest, String> {
    Ok(PreparedRequest::new(AdmissionRequest {
        operation: Operation::Add,
        now: Timestamp::UNIX_EPOCH,
        pod: Arc::new(pod(bytes, containers)?),
        old_pod: None,
        image: None,
        source: SourceName::file(),
        node: Arc::new(NodeFacts::default()),
        other_pods: Arc::new([]),
    }))
}

/// Asks, and gives the instance's linear memory.
fn ask(plugin: &DirectPlugin, request: &PreparedRequest) -> Result<usize, String> {
    match plugin.ask(request) {
        CallReport { result: Ok(Verdict::Admit), memory_bytes_peak, .. } => Ok(memory_bytes_peak),
        CallReport { result: Ok(other), .. } => Err(format!("an unexpected verdict: {other:?}")),
        CallReport { result: Err(error), .. } => Err(error.sentence()),
    }
}

async fn calls() -> Result<bool, String> {
    let (_folder, compiler) = measure::compiler()?;
    let host = DirectHost::start(compiler, Arc::new(FixedClock)).map_err(describe)?;
    let mut kept = true;
    for (guest, wasm, budgeted) in
        [("getters", witlet_test_guests::NO_LATEST_TAG, true), ("json", witlet_test_guests::HOSTILE, false)]
    {
        for (instance, warm) in [("fresh", None), ("warm", Some(WARM))] {
            let config = if budgeted { json!({}) } else { json!("decode-json") };
            let options = DirectOptions { config, warm, timeout: TIMEOUT, ..DirectOptions::default() };
            let plugin = host.admission(wasm.into(), options).await.map_err(describe)?;
            let floor = floor::synchronous(host.engine(), ROUNDS, CALLS)?;
            for (size, bytes, containers) in SIZES {
                let request = request(bytes, containers)?;
                let times = measure::time(ROUNDS, CALLS, || ask(&plugin, &request).map(|_| ()))?;
                let budget = budgeted.then_some(match warm {
                    None => FRESH_FLOORS_BUDGET * floor.fastest,
                    Some(_) => WARM_BUDGET_MICROSECONDS,
                });
                kept &= report_times(&format!("admission/{guest}/{instance}/{size}"), times, floor, budget);
            }
        }
    }
    Ok(kept)
}

/// Ten rules on the small pod, which keeps all of them: in CEL, where each call parses them in a fresh instance and finds them parsed in a
/// kept one, and the same as code.
async fn rules() -> Result<bool, String> {
    let shipped = witlet_plugins::SHIPPED.iter().find(|shipped| shipped.name == "cel");
    let cel = shipped.ok_or("the handler cel isn't shipped")?.component;
    let rules = witlet_test_guests::TEN_RULES.map(|expression| json!({"expression": expression}));
    let handlers = [
        ("cel-10-rules", cel, json!({"validations": rules}), Some(RULES_BUDGET_MICROSECONDS)),
        ("native-10-rules", witlet_test_guests::TEN_RULES_GUEST, json!({}), None),
    ];
    let (_folder, compiler) = measure::compiler()?;
    let host = DirectHost::start(compiler, Arc::new(FixedClock)).map_err(describe)?;
    let (size, bytes, containers) = SIZES[0];
    let request = request(bytes, containers)?;
    let mut kept = true;
    for (handler, wasm, config, most) in handlers {
        for (instance, warm) in [("fresh", None), ("warm", Some(WARM))] {
            let config = config.clone();
            let options = DirectOptions { config, warm, timeout: TIMEOUT, ..DirectOptions::default() };
            let plugin = host.admission(wasm.into(), options).await.map_err(describe)?;
            let floor = floor::synchronous(host.engine(), ROUNDS, CALLS)?;
            let times = measure::time(ROUNDS, CALLS, || ask(&plugin, &request).map(|_| ()))?;
            let budget = warm.and(most);
            kept &= report_times(&format!("admission/{handler}/{instance}/{size}"), times, floor, budget);
        }
    }
    Ok(kept)
}

async fn memory() -> Result<(), String> {
    let (_folder, compiler) = measure::compiler()?;
    let host = DirectHost::start(compiler, Arc::new(FixedClock)).map_err(describe)?;
    let floor = floor::memory_synchronous(host.engine(), ALIVE)?;
    let request = request(SIZES[0].1, SIZES[0].2)?;
    let mut plugins = Vec::with_capacity(ALIVE);
    for _ in 0..ALIVE {
        let options = DirectOptions {
            config: json!({}),
            warm: Some(WARM),
            timeout: TIMEOUT,
            ..DirectOptions::default()
        };
        let wasm = witlet_test_guests::NO_LATEST_TAG.into();
        plugins.push(host.admission(wasm, options).await.map_err(describe)?);
    }
    let (before, mut linear) = (resident_exactly(), 0);
    for plugin in &plugins {
        linear = linear.max(ask(plugin, &request)?);
    }
    let taken = (resident_exactly() - before) / ALIVE as f64;
    report("admission/memory/resident", "KB", taken / 1e3, Some(floor / 1e3));
    report("admission/memory/linear", "KB", linear as f64 / 1e3, None);
    Ok(())
}
