//! Functions that do nothing but refuse, on either engine.

use std::sync::Arc;

use wasmtime::StoreContextMut;
use wasmtime::component::types::ComponentFunc;
use wasmtime::component::{LinkerInstance, ResourceAny, Val};

use crate::engine::EngineKind;

/// Defines a function whose results `refuse` makes, after the handles were given back that the call lent or handed over. An asynchronous
/// engine drops them asynchronously alone.
pub(crate) fn define_refused<T: Send + 'static>(
    kind: EngineKind,
    linker: &mut LinkerInstance<'_, T>,
    name: &str,
    refuse: impl Fn(&mut StoreContextMut<'_, T>, &ComponentFunc, &mut [Val]) -> wasmtime::Result<()>
    + Send
    + Sync
    + 'static,
) -> wasmtime::Result<()> {
    match kind {
        EngineKind::Synchronous => linker.func_new(name, move |mut store, ty, arguments, results| {
            for handle in handles(arguments) {
                handle.resource_drop(&mut store)?;
            }
            refuse(&mut store, &ty, results)
        }),
        EngineKind::Asynchronous => {
            let refuse = Arc::new(refuse);
            linker.func_new_async(name, move |mut store, ty, arguments, results| {
                let refuse = refuse.clone();
                Box::new(async move {
                    for handle in handles(arguments) {
                        handle.resource_drop_async(&mut store).await?;
                    }
                    refuse(&mut store, &ty, results)
                })
            })
        }
    }
}

/// The handles in these values.
fn handles(values: &[Val]) -> Vec<ResourceAny> {
    let (mut found, mut left) = (Vec::new(), values.iter().collect::<Vec<_>>());
    while let Some(value) = left.pop() {
        match value {
            Val::Resource(handle) => found.push(*handle),
            Val::List(values) | Val::Tuple(values) => left.extend(values),
            Val::Record(fields) => left.extend(fields.iter().map(|(_, value)| value)),
            Val::Variant(_, Some(value))
            | Val::Option(Some(value))
            | Val::Result(Ok(Some(value)) | Err(Some(value))) => left.push(value),
            // All others hold no handles: numbers, strings, empty cases, and what WASI and the contracts don't have.
            _ => {}
        }
    }
    found
}
