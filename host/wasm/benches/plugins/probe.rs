//! Probe types: a call that waits for nothing, in a fresh and in a kept instance, and what `httpGet` takes.
//!
//! Floor of a call: a core module, instantiated and called once on the same kind of engine, where the caller stands; a
//! plugin's call goes to the plugins' threads and back. Of loads and memory: as admission's.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use tokio::time::Instant;
use witlet_core::probe::{ProbeKind, ProbeOutcome, ProbeRequest};
use witlet_core::runtime::ContainerId;
use witlet_egress::{NetworkGrant, TlsPolicy};
use witlet_wasm::direct::{CallReport, DirectHost, DirectOptions, DirectWaiting};
use witlet_wasm::plugin::config::Grants;
use witlet_wasm::role::Role;

use crate::measure::{
    self, FixedClock, Rounds, Times, WARM, describe, report, report_times, resident_exactly,
};
use crate::server::Server;
use crate::{floor, loading};

/// Rounds per measurement.
const ROUNDS: u32 = 20;
/// Calls per round.
const CALLS: u32 = 200;
/// Instances that are alive while their memory is read.
const ALIVE: usize = 64;
/// What a probe may take: more than any machine needs.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn measure() -> Result<bool, String> {
    measure::runtime()?.block_on(async {
        calls().await?;
        loading::report(Role::Probe, shipped("httpGet")?, &http_grants(), &Value::Null).await?;
        memory().await?;
        Ok(true)
    })
}

/// A probe type that is part of the program.
pub(crate) fn shipped(name: &str) -> Result<&'static [u8], String> {
    let shipped = witlet_plugins::PROBES.iter().find(|shipped| shipped.name == name);
    shipped.map(|shipped| shipped.component).ok_or_else(|| format!("there is no probe type {name}"))
}

/// What `httpGet` is granted on a node.
pub(crate) fn http_grants() -> Grants {
    let network = [NetworkGrant::Pod, NetworkGrant::ProbeHost];
    Grants { network: network.into(), tls: TlsPolicy::Insecure, ..Grants::default() }
}

/// A probe of a pod on this machine.
pub(crate) fn request(probe_type: &str, parameters: &Value) -> ProbeRequest {
    ProbeRequest {
        probe_type: probe_type.into(),
        parameters: parameters.to_string().into(),
        pod: Arc::new(Pod::default()),
        container: "main".to_owned(),
        container_id: ContainerId::from("c0ffee"),
        restarts: 0,
        pod_ips: vec![IpAddr::from([127, 0, 0, 1])],
        host_ips: Vec::new(),
        kind: ProbeKind::Readiness,
        timeout: TIMEOUT,
    }
}

/// Asks, and gives the instance's linear memory.
async fn ask(plugin: &DirectWaiting, request: &ProbeRequest) -> Result<usize, String> {
    match plugin.probe(request).await {
        CallReport { result: Ok(ProbeOutcome::Success(_)), memory_bytes_peak, .. } => Ok(memory_bytes_peak),
        CallReport { result: Ok(other), .. } => Err(format!("an unexpected outcome: {other:?}")),
        CallReport { result: Err(error), .. } => Err(error.sentence()),
    }
}

async fn time(plugin: &DirectWaiting, request: &ProbeRequest) -> Result<Times, String> {
    let mut all = Rounds::new();
    for _ in 0..ROUNDS {
        let mut round = Vec::with_capacity(CALLS as usize);
        for _ in 0..CALLS {
            let start = Instant::now();
            ask(plugin, request).await?;
            round.push(start.elapsed());
        }
        all.add(round);
    }
    Ok(all.times())
}

async fn calls() -> Result<(), String> {
    let (_folder, compiler) = measure::compiler()?;
    let host = DirectHost::start(compiler, Arc::new(FixedClock)).map_err(describe)?;
    let server = Server::start()?;
    let succeed = request("direct", &json!({"do": "succeed", "text": "fine"}));
    let get = request("direct", &json!({"path": "/healthz", "port": server.port}));
    // The guest imports them.
    let granted = Grants { secrets: ["password".to_owned()].into(), exec: true, ..Grants::default() };
    let engine = floor::waiting_engine()?;
    for (guest, wasm, grants, request) in [
        ("succeed", witlet_test_guests::PROBER, granted, succeed),
        ("httpGet", shipped("httpGet")?, http_grants(), get),
    ] {
        for (instance, warm) in [("fresh", None), ("warm", Some(WARM))] {
            let options = DirectOptions { warm, grants: grants.clone(), ..DirectOptions::default() };
            let plugin = host.waiting(Role::Probe, wasm.into(), options).await.map_err(describe)?;
            let floor = floor::waiting(&engine, ROUNDS, CALLS).await?;
            let times = time(&plugin, &request).await?;
            report_times(&format!("probe/{guest}/{instance}"), times, floor, None);
        }
    }
    Ok(())
}

async fn memory() -> Result<(), String> {
    let (_folder, compiler) = measure::compiler()?;
    let host = DirectHost::start(compiler, Arc::new(FixedClock)).map_err(describe)?;
    let floor = floor::memory_waiting(&floor::waiting_engine()?, ALIVE).await?;
    let server = Server::start()?;
    let request = request("direct", &json!({"path": "/healthz", "port": server.port}));
    let wasm = shipped("httpGet")?;
    // Without instances and with one for each: the rest of a loaded plugin is in both. The first round maps what they share.
    let (mut taken, mut linear) = ([0.0; 3], 0);
    for (taken, warm) in taken.iter_mut().zip([None, None, Some(WARM)]) {
        let before = resident_exactly();
        let mut plugins = Vec::with_capacity(ALIVE);
        for _ in 0..ALIVE {
            let options = DirectOptions { warm, grants: http_grants(), ..DirectOptions::default() };
            let plugin = host.waiting(Role::Probe, wasm.into(), options).await.map_err(describe)?;
            linear = linear.max(ask(&plugin, &request).await?);
            plugins.push(plugin);
        }
        *taken = (resident_exactly() - before) / ALIVE as f64;
    }
    let taken = taken[2] - taken[1];
    report("probe/memory/resident", "KB", taken / 1e3, Some(floor / 1e3));
    report("probe/memory/linear", "KB", linear as f64 / 1e3, None);
    Ok(())
}
