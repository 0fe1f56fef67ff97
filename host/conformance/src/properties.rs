//! The layer `properties`: generated inputs get answers that the contract has, and what makes no difference makes none.

pub(crate) mod answers;
mod handler;
pub(crate) mod patient;
pub(crate) mod pods;
pub(crate) mod prober;
mod quantities;
pub(crate) mod questions;
mod search;
mod source;
pub(crate) mod world;

use witlet_wasm::role::Role;

use crate::{Checks, Ctx};

/// Examines this layer.
pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for role in ctx.roles().collect::<Vec<_>>() {
        match role {
            Role::Admission => handler::examine(ctx, checks).await,
            Role::Probe => prober::examine(ctx, checks).await,
            Role::PodSource => source::examine(ctx, checks).await,
        }
    }
}

/// What repeats a finding of generated inputs.
fn repeat(ctx: &Ctx<'_>) -> String {
    format!("--only properties --seed {} --property-cases {}", ctx.plan.seed, ctx.plan.property_cases)
}
