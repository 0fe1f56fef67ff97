//! What is withheld from handlers: secrets are all that they can be granted.

use witlet_wasm::role::Role;

use super::{Withheld, not_granted, tell, unloaded};
use crate::properties::answers;
use crate::properties::questions::{groups, shown};
use crate::{Checks, Ctx, Finding};

const ROLE: Role = Role::Admission;

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for withheld in Withheld::wanted(ctx, ROLE) {
        let result = without(ctx, withheld).await;
        tell(checks, ROLE, withheld, result);
    }
}

async fn without(ctx: &Ctx<'_>, withheld: Withheld) -> Result<Option<Finding>, String> {
    let mut tried = false;
    for mut group in groups(ctx)? {
        if !withheld.is_granted(&group.setup) {
            continue;
        }
        tried = true;
        withheld.withhold(&mut group.setup);
        let handler = match ctx.handler(&group.setup).await {
            Ok(handler) => handler,
            Err(error) => match unloaded(&error, withheld) {
                None => continue,
                found => return Ok(found),
            },
        };
        for named in &group.questions {
            let asked = handler.ask(&named.request).await;
            if let Some(fault) = answers::no_verdict(&asked.result) {
                let input = format!("{}, with {}", shown(&named.name, &named.request), withheld.told());
                return Ok(Some(Finding::new(input, fault.seen, withheld.contract())));
            }
        }
    }
    if tried { Ok(None) } else { Err(not_granted(withheld)) }
}
