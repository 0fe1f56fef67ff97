//! What a component wants of this project's contracts and this host doesn't have, because it was built for a newer one: it links, and a
//! call of it is refused.
//!
//! A function that can fail answers with an error. One that can't ends the call, which then has failed by the function's name: any
//! value in its place would be a lie that a policy builds on.

use wasmtime::component::types::{ComponentExtern, ComponentItem};
use wasmtime::component::{Linker, ResourceType, Type, Val};
use wasmtime::{Engine, StoreContextMut};

use super::detect::served_by;
use super::host::HostView;
use super::host::error::GuestError;
use super::probe::{self, handles::TargetHandle};
use crate::engine::EngineKind;
use crate::wasi::{ANSWER_SIZE_MAX, ITEMS_MAX, LinkedResources, define_refused, fits, refusal};

/// The code of the errors.
const CODE: &str = "NotSupported";

/// A resource that this host doesn't have: none is ever made.
struct Unserved;

/// The resources that other interfaces of the contracts share, which one that is missing here may have functions for.
pub(crate) fn borrowed(interface: &str, resource: &str) -> Option<ResourceType> {
    let is_probes = || probe::TYPES.iter().any(|(types, _)| *types == interface);
    match resource {
        "error" if interface == "witlet:host/errors" => Some(ResourceType::host::<GuestError>()),
        "target" if is_probes() => Some(ResourceType::host::<TargetHandle>()),
        _ => None,
    }
}

/// Adds to the linker what is missing of the imports, but for those that are denied as a whole.
pub(crate) fn define<T: Send + 'static>(
    kind: EngineKind,
    engine: &Engine,
    linker: &mut Linker<T>,
    imports: &[(&str, ComponentExtern)],
    denied: &[String],
    given: &LinkedResources,
    view: fn(&mut T) -> HostView<'_>,
) -> wasmtime::Result<()> {
    for (import, item) in imports {
        let ComponentItem::ComponentInstance(expected) = &item.ty else { continue };
        if !import.starts_with("witlet:") || denied.iter().any(|denied| denied == import) {
            continue;
        }
        let served = served_by(import);
        let mut instance = linker.instance(served.as_deref().unwrap_or(import))?;
        for (number, (name, item)) in expected.exports(engine).enumerate() {
            if number >= ITEMS_MAX {
                wasmtime::bail!("an interface has more than {ITEMS_MAX} items");
            }
            // What is there already stays, because the linker takes no name twice.
            let _is_there = match item.ty {
                ComponentItem::ComponentFunc(function) => {
                    let mut left = ANSWER_SIZE_MAX;
                    if !function.results().all(|ty| fits(&ty, &mut left)) {
                        wasmtime::bail!("a function's result has more than {ANSWER_SIZE_MAX} values");
                    }
                    let what = format!("{import} {name}");
                    define_refused(kind, &mut instance, name, move |store, ty, results| {
                        refuse(store, view, &what, ty.results(), results)
                    })
                }
                ComponentItem::Resource(theirs) => {
                    let ours = given.get(theirs).unwrap_or(ResourceType::host::<Unserved>());
                    instance.resource(name, ours, |_, _| Ok(()))
                }
                ComponentItem::Type(_)
                | ComponentItem::ComponentInstance(_)
                | ComponentItem::Component(_)
                | ComponentItem::Module(_)
                | ComponentItem::CoreFunc(_) => Ok(()),
            };
        }
    }
    Ok(())
}

fn refuse<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    view: fn(&mut T) -> HostView<'_>,
    what: &str,
    types: impl Iterator<Item = Type>,
    results: &mut [Val],
) -> wasmtime::Result<()> {
    let [result] = results else { wasmtime::bail!("this host doesn't have {what}") };
    for ty in types {
        let Type::Result(ty) = ty else { wasmtime::bail!("this host doesn't have {what}") };
        let error = match ty.err() {
            Some(Type::Own(ty)) if ty == ResourceType::host::<GuestError>() => {
                let error = GuestError::new(CODE, &format!("this host doesn't have {what}"));
                let error = view(store.data_mut()).table.push(error)?;
                Some(Val::Resource(error.try_into_resource_any(&mut *store)?))
            }
            Some(ty) => Some(refusal(store, &ty)?),
            None => None,
        };
        *result = Val::Result(Err(error.map(Box::new)));
    }
    Ok(())
}
