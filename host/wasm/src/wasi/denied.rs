//! WASI interfaces beyond the basic ones, such as HTTP: they link, and every use is refused.
//!
//! What an interface looks like is read from the component that imports it, so that any of them links. A function
//! that can fail answers with an error, the one that says "denied" where there is one; one that can't answers with
//! an empty value.

use wasmtime::component::types::{ComponentInstance, ComponentItem};
use wasmtime::component::{LinkerInstance, Resource, ResourceType, Type, Val};
use wasmtime::{Engine, StoreContextMut};

use crate::guest::GuestState;

/// Error codes that say what is the matter, in the order of preference.
const DENIED_CODES: [&str; 4] = ["HTTP-request-denied", "access-denied", "not-permitted", "not-supported"];

/// A resource of a denied interface: it can be made and dropped, and nothing else comes of it.
struct Denied;

/// Fills the linker's instance with refusals for everything that `wanted` exports.
pub(crate) fn define_denied(
    engine: &Engine,
    linker: &mut LinkerInstance<'_, GuestState>,
    wanted: &ComponentInstance,
) -> wasmtime::Result<()> {
    for (name, item) in wanted.exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(_) => {
                linker.func_new(name, |mut store, ty, arguments, results| {
                    for argument in arguments {
                        drop_handles(&mut store, argument)?;
                    }
                    refuse(store, ty.results(), results)
                })?;
            }
            ComponentItem::Resource(_) => {
                linker.resource(name, ResourceType::host::<Denied>(), |_, _| Ok(()))?;
            }
            // Types need no definition; modules, components and core functions aren't exported by WASI, and if one
            // were, linking fails with its name.
            ComponentItem::Type(_)
            | ComponentItem::ComponentInstance(_)
            | ComponentItem::Component(_)
            | ComponentItem::Module(_)
            | ComponentItem::CoreFunc(_) => {}
        }
    }
    Ok(())
}

/// Gives back the handles that a call lent or handed over.
fn drop_handles(store: &mut StoreContextMut<'_, GuestState>, value: &Val) -> wasmtime::Result<()> {
    match value {
        Val::Resource(handle) => handle.resource_drop(&mut *store),
        Val::List(values) | Val::Tuple(values) => {
            values.iter().try_for_each(|value| drop_handles(store, value))
        }
        Val::Record(fields) => fields.iter().try_for_each(|(_, value)| drop_handles(store, value)),
        Val::Variant(_, Some(value))
        | Val::Option(Some(value))
        | Val::Result(Ok(Some(value)) | Err(Some(value))) => drop_handles(store, value),
        // All others hold no handles: numbers, strings, empty cases, and what synchronous WIT doesn't have.
        _ => Ok(()),
    }
}

fn refuse(
    mut store: StoreContextMut<'_, GuestState>,
    types: impl Iterator<Item = Type>,
    results: &mut [Val],
) -> wasmtime::Result<()> {
    for (result, ty) in results.iter_mut().zip(types) {
        *result = refusal(&mut store, &ty)?;
    }
    Ok(())
}

/// The value of this type that comes closest to a refusal.
fn refusal(store: &mut StoreContextMut<'_, GuestState>, ty: &Type) -> wasmtime::Result<Val> {
    Ok(match ty {
        Type::Result(result) => {
            let error = match result.err() {
                Some(ty) => Some(Box::new(refusal(store, &ty)?)),
                None => None,
            };
            Val::Result(Err(error))
        }
        Type::Variant(variant) => {
            let preferred = DENIED_CODES
                .iter()
                .find_map(|code| variant.cases().find(|case| case.name == *code))
                .or_else(|| variant.cases().find(|case| case.ty.is_none()))
                .or_else(|| variant.cases().next());
            let Some(case) = preferred else { wasmtime::bail!("access denied") };
            let payload = match &case.ty {
                Some(ty) => Some(Box::new(refusal(store, ty)?)),
                None => None,
            };
            Val::Variant(case.name.to_owned(), payload)
        }
        Type::Enum(codes) => {
            let preferred = DENIED_CODES
                .iter()
                .find_map(|code| codes.names().find(|name| name == code))
                .or_else(|| codes.names().next());
            let Some(name) = preferred else { wasmtime::bail!("access denied") };
            Val::Enum(name.to_owned())
        }
        Type::Option(_) => Val::Option(None),
        Type::List(_) => Val::List(Vec::new()),
        Type::String => Val::String(String::new()),
        Type::Bool => Val::Bool(false),
        Type::U8 => Val::U8(0),
        Type::S8 => Val::S8(0),
        Type::U16 => Val::U16(0),
        Type::S16 => Val::S16(0),
        Type::U32 => Val::U32(0),
        Type::S32 => Val::S32(0),
        Type::U64 => Val::U64(0),
        Type::S64 => Val::S64(0),
        Type::Float32 => Val::Float32(0.0),
        Type::Float64 => Val::Float64(0.0),
        Type::Char => Val::Char('\0'),
        Type::Flags(_) => Val::Flags(Vec::new()),
        Type::Tuple(tuple) => {
            let values = tuple.types().map(|ty| refusal(store, &ty)).collect::<Result<_, _>>()?;
            Val::Tuple(values)
        }
        Type::Record(record) => {
            let mut fields = Vec::new();
            for field in record.fields() {
                fields.push((field.name.to_owned(), refusal(store, &field.ty)?));
            }
            Val::Record(fields)
        }
        Type::Own(ty) if *ty == ResourceType::host::<Denied>() => {
            Val::Resource(Resource::<Denied>::new_own(0).try_into_resource_any(store)?)
        }
        // A handle of another interface (a stream, a pollable) can't be had by being refused.
        Type::Own(_)
        | Type::Borrow(_)
        | Type::Map(_)
        | Type::FixedLengthList(_)
        | Type::Future(_)
        | Type::Stream(_)
        | Type::ErrorContext => wasmtime::bail!("access denied"),
    })
}
