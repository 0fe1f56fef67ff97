//! What is withheld from pod sources, in a world in which they bring pods.

use witlet_core::config::source::Snapshot;
use witlet_wasm::role::Role;

use super::{Withheld, not_granted, tell, unloaded};
use crate::properties::answers;
use crate::properties::questions::poll_told;
use crate::properties::world::World;
use crate::{Checks, Ctx, Finding};

const ROLE: Role = Role::PodSource;

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for withheld in Withheld::wanted(ctx, ROLE) {
        let result = without(ctx, withheld).await;
        tell(checks, ROLE, withheld, result);
    }
}

async fn without(ctx: &Ctx<'_>, withheld: Withheld) -> Result<Option<Finding>, String> {
    let world = World::find(ctx).await?;
    let mut setup = world.setup.clone();
    if !withheld.is_granted(&setup) {
        return Err(not_granted(withheld));
    }
    withheld.withhold(&mut setup);
    let source = match ctx.source(&setup).await {
        Ok(source) => source,
        Err(error) => return Ok(unloaded(&error, withheld)),
    };
    world.fill(&source.folders)?;
    let polled = source.poll(None).await.result;
    let input = format!("{}, with {}", world.name, withheld.told());
    if let Some(fault) = answers::poll(&polled) {
        return Ok(Some(Finding::new(input, fault.seen, withheld.contract())));
    }
    let is_empty = matches!(&polled, Ok(Ok(answer)) if answer.snapshot == Snapshot::Empty);
    Ok(is_empty.then(|| Finding::new(input, poll_told(&polled), withheld.contract())))
}
