//! Loading a component: read, compiled in a child or mapped from the cache, linked, and asked about its configuration.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;
use wasmtime::component::Component;
use witlet_wasm::direct::{DirectHost, DirectOptions};
use witlet_wasm::engine::{self, EngineKind};
use witlet_wasm::plugin::config::Grants;
use witlet_wasm::role::Role;

use crate::measure::{self, FixedClock, describe};

/// Loads of each kind; the fastest counts.
const LOADS_COLD: usize = 3;
/// See [`LOADS_COLD`].
const LOADS_CACHED: usize = 20;

/// Milliseconds of the fastest load with and without the cache, compared with the compiler alone and the mapping alone.
pub(crate) async fn report(
    role: Role,
    wasm: &'static [u8],
    grants: &Grants,
    config: &Value,
) -> Result<(), String> {
    let kind = match role {
        Role::Admission => EngineKind::Synchronous,
        Role::Probe | Role::PodSource => EngineKind::Asynchronous,
    };
    let (compile, map) = floors(kind, wasm)?;
    let mut cold = f64::INFINITY;
    let mut cached = f64::INFINITY;
    for _ in 0..LOADS_COLD {
        let (_folder, compiler) = measure::compiler()?;
        let host = DirectHost::start(compiler, Arc::new(FixedClock)).map_err(describe)?;
        // The engine of those that wait is made for the first plugin: that is no part of a load.
        load(&host, Role::Probe, crate::probe::shipped("tcpSocket")?, &Grants::default(), &Value::Null)
            .await?;
        cold = cold.min(load(&host, role, wasm, grants, config).await?);
        for _ in 0..LOADS_CACHED {
            cached = cached.min(load(&host, role, wasm, grants, config).await?);
        }
    }
    measure::report(&format!("{role}/load/compiled"), "ms", cold, Some(compile));
    measure::report(&format!("{role}/load/cached"), "ms", cached, Some(map));
    Ok(())
}

async fn load(
    host: &DirectHost,
    role: Role,
    wasm: &'static [u8],
    grants: &Grants,
    config: &Value,
) -> Result<f64, String> {
    let options =
        DirectOptions { config: config.clone(), grants: grants.clone(), ..DirectOptions::default() };
    let start = Instant::now();
    match role {
        Role::Admission => drop(host.admission(wasm.into(), options).await.map_err(describe)?),
        Role::Probe | Role::PodSource => {
            drop(host.waiting(role, wasm.into(), options).await.map_err(describe)?);
        }
    }
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// Milliseconds of the compiler alone, in this process, and of mapping what it made.
fn floors(kind: EngineKind, wasm: &[u8]) -> Result<(f64, f64), String> {
    let engine = engine::compiling(kind).map_err(describe)?;
    let folder = tempfile::TempDir::new().map_err(describe)?;
    let file = folder.path().join("code");
    let (mut compile, mut map) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..LOADS_COLD {
        let start = Instant::now();
        let code = engine.precompile_component(wasm).map_err(describe)?;
        compile = compile.min(start.elapsed().as_secs_f64() * 1e3);
        std::fs::write(&file, code).map_err(describe)?;
        for _ in 0..LOADS_CACHED {
            let start = Instant::now();
            #[allow(unsafe_code, reason = "compiled code is mapped by an unsafe function")]
            // SAFETY: this process has just written the file into a folder of its own, from code that this engine made.
            let component = unsafe { Component::deserialize_file(&engine, &file) }.map_err(describe)?;
            map = map.min(start.elapsed().as_secs_f64() * 1e3);
            drop(component);
        }
    }
    Ok((compile, map))
}
