//! WASI interfaces beyond the basic ones, such as HTTP: they link, and every use is refused.
//!
//! What an interface looks like is read from the component that imports it, so that any of them links. A function
//! that can fail answers with an error, the one that says "denied" where there is one; one that can't answers with
//! an empty value.

use wasmtime::component::types::{ComponentExtern, ComponentInstance, ComponentItem};
use wasmtime::component::{LinkerInstance, Resource, ResourceType, Type, Val};
use wasmtime::{Engine, StoreContextMut};
use wasmtime_wasi_io::poll::DynPollable;
use wasmtime_wasi_io::streams::{DynInputStream, DynOutputStream, Error};

use super::refused::define_refused;
use crate::engine::EngineKind;

/// How large the answer of a refused function may be: values and the bytes of their names. The host makes it by the
/// guest's own type, so that nothing else bounds it. The largest of `wasi:http` has two thousand.
pub(crate) const ANSWER_SIZE_MAX: usize = 16 << 10;
/// How many functions and resources an interface may have. Those of `wasi:http` have a hundred.
pub(crate) const ITEMS_MAX: usize = 1024;

/// Error codes that say what is the matter, in the order of preference.
const DENIED_CODES: [&str; 4] = ["HTTP-request-denied", "access-denied", "not-permitted", "not-supported"];

/// A resource of a denied interface: it can be made and dropped, and nothing else comes of it.
struct Denied;

/// The resources that refused interfaces borrow from those that are given, as a component sees them and as they are
/// here: `wasi:http` shares the streams of `wasi:io`.
#[derive(Default)]
pub(crate) struct LinkedResources(Vec<(ResourceType, ResourceType)>);

impl LinkedResources {
    /// Collects a component's imports, without those that are refused themselves. `contracts` knows this project's own.
    pub(crate) fn of(
        engine: &Engine,
        imports: &[(&str, ComponentExtern)],
        refused: &[&[String]],
        contracts: fn(&str, &str) -> Option<ResourceType>,
    ) -> Self {
        let mut given = Vec::new();
        for (interface, item) in imports {
            let ComponentItem::ComponentInstance(instance) = &item.ty else { continue };
            if refused.iter().any(|refused| refused.iter().any(|refused| refused == interface)) {
                continue;
            }
            let interface = interface.split_once('@').map_or(*interface, |(name, _version)| name);
            for (name, item) in instance.exports(engine) {
                let ours = match (interface, name) {
                    ("wasi:io/poll", "pollable") => ResourceType::host::<DynPollable>(),
                    ("wasi:io/error", "error") => ResourceType::host::<Error>(),
                    ("wasi:io/streams", "input-stream") => ResourceType::host::<DynInputStream>(),
                    ("wasi:io/streams", "output-stream") => ResourceType::host::<DynOutputStream>(),
                    (interface, name) => match contracts(interface, name) {
                        Some(ours) => ours,
                        None => continue,
                    },
                };
                if let ComponentItem::Resource(theirs) = item.ty {
                    given.push((theirs, ours));
                }
            }
        }
        Self(given)
    }

    pub(crate) fn get(&self, theirs: ResourceType) -> Option<ResourceType> {
        self.0.iter().find(|(known, _)| *known == theirs).map(|(_, ours)| *ours)
    }
}

/// Fills the linker's instance with refusals for everything that `expected` exports.
pub(crate) fn define_denied<T: Send + 'static>(
    kind: EngineKind,
    engine: &Engine,
    linker: &mut LinkerInstance<'_, T>,
    expected: &ComponentInstance,
    given: &LinkedResources,
) -> wasmtime::Result<()> {
    for (number, (name, item)) in expected.exports(engine).enumerate() {
        if number >= ITEMS_MAX {
            wasmtime::bail!("an interface has more than {ITEMS_MAX} items");
        }
        match item.ty {
            ComponentItem::ComponentFunc(function) => {
                let mut left = ANSWER_SIZE_MAX;
                if !function.results().all(|ty| fits(&ty, &mut left)) {
                    wasmtime::bail!("a function's result has more than {ANSWER_SIZE_MAX} values");
                }
                define_refused(kind, linker, name, |store, ty, results| {
                    refuse(store, ty.results(), results)
                })?;
            }
            ComponentItem::Resource(theirs) => {
                // The engine drops a resource as the interface that it comes from says, so nothing is to be done.
                let ours = given.get(theirs).unwrap_or(ResourceType::host::<Denied>());
                linker.resource(name, ours, |_, _| Ok(()))?;
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

/// Whether the refusal that is made for this type stays within what is `left`. Counts all cases of a variant, though
/// one is made.
pub(crate) fn fits(ty: &Type, left: &mut usize) -> bool {
    let mut take = |size: usize| match left.checked_sub(size) {
        Some(less) => {
            *left = less;
            true
        }
        None => false,
    };
    if !take(1) {
        return false;
    }
    match ty {
        Type::Record(record) => {
            record.fields().all(|field| take(field.name.len()))
                && record.fields().all(|field| fits(&field.ty, left))
        }
        Type::Variant(variant) => {
            variant.cases().all(|case| take(case.name.len()))
                && variant.cases().all(|case| case.ty.is_none_or(|ty| fits(&ty, left)))
        }
        Type::Enum(codes) => codes.names().all(|name| take(name.len())),
        Type::Tuple(tuple) => tuple.types().all(|ty| fits(&ty, left)),
        Type::Result(result) => result.err().is_none_or(|ty| fits(&ty, left)),
        // Made empty, or a single value, or not at all.
        Type::Option(_)
        | Type::List(_)
        | Type::Map(_)
        | Type::FixedLengthList(_)
        | Type::Flags(_)
        | Type::Own(_)
        | Type::Borrow(_)
        | Type::Future(_)
        | Type::Stream(_)
        | Type::ErrorContext
        | Type::String
        | Type::Bool
        | Type::Char
        | Type::U8
        | Type::S8
        | Type::U16
        | Type::S16
        | Type::U32
        | Type::S32
        | Type::U64
        | Type::S64
        | Type::Float32
        | Type::Float64 => true,
    }
}

fn refuse<T: 'static>(
    store: &mut StoreContextMut<'_, T>,
    types: impl Iterator<Item = Type>,
    results: &mut [Val],
) -> wasmtime::Result<()> {
    for (result, ty) in results.iter_mut().zip(types) {
        *result = refusal(store, &ty)?;
    }
    Ok(())
}

/// The value of this type that comes closest to a refusal.
pub(crate) fn refusal<T: 'static>(store: &mut StoreContextMut<'_, T>, ty: &Type) -> wasmtime::Result<Val> {
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
