//! Cases that are carried out for a person who checks them.

use thiserror::Error;
use witlet_wasm::inspect::{InspectError, inspect};
use witlet_wasm::role::Role;

pub use crate::case_run::{CaseAnswer, CaseCall, CaseRun, ReceivedBytes};
use crate::cases::model::{Case, CaseFile};
use crate::ctx::Ctx;
use crate::kit::Kit;
use crate::plan::{Plan, Subject};

/// Why no case was carried out.
#[derive(Debug, Error)]
pub enum RunError {
    /// It is no component.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// The component can't be used here at all.
    #[error("it has no role that this release supports: {}", obstacles.join("; "))]
    NoRole { obstacles: Vec<String> },
    /// There is nothing to ask.
    #[error("there are no cases of the role {}: write them into cases.yaml next to the component, or name case files", roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(" or "))]
    NoCases { roles: Vec<Role> },
    /// No case has this name.
    #[error("no case of the component's roles is called {name:?}")]
    NoCase {
        /// The name that was asked for.
        name: String,
    },
}

impl Kit {
    /// Carries out the plan's cases of the component's roles, one after the other: those of these names, or all.
    ///
    /// # Errors
    ///
    /// When there is nothing to carry out. What the component does wrong is in the cases' answers.
    pub async fn run_cases(
        &self,
        subject: &Subject,
        plan: &Plan,
        names: &[String],
    ) -> Result<Vec<CaseRun>, RunError> {
        let ctx = Ctx { engines: &self.0, subject, plan, inspection: inspect(&subject.wasm)? };
        let roles = ctx.roles();
        if roles.is_empty() {
            return Err(RunError::NoRole { obstacles: ctx.inspection.obstacles });
        }
        let all: Vec<(&CaseFile, &Case)> = roles.iter().flat_map(|role| ctx.cases(*role)).collect();
        let chosen = chosen(&all, names, |(_, case)| &case.name).map_err(|name| match name {
            Some(name) => RunError::NoCase { name },
            None => RunError::NoCases { roles },
        })?;
        let mut runs = Vec::with_capacity(chosen.len());
        for (file, case) in chosen {
            runs.push(carry_out(&ctx, file, case).await);
        }
        Ok(runs)
    }
}

/// Returns those of these names, or all. The error is the first name that none has, or nothing where there is none at all.
fn chosen<T: Copy>(all: &[T], names: &[String], name: impl Fn(&T) -> &str) -> Result<Vec<T>, Option<String>> {
    if all.is_empty() {
        return Err(None);
    }
    if let Some(missing) =
        names.iter().find(|requested| !all.iter().any(|one| name(one) == requested.as_str()))
    {
        return Err(Some(missing.clone()));
    }
    let is_chosen = |one: &T| names.is_empty() || names.iter().any(|requested| name(one) == requested);
    Ok(all.iter().copied().filter(is_chosen).collect())
}

async fn carry_out(ctx: &Ctx<'_>, file: &CaseFile, case: &Case) -> CaseRun {
    let mut run = CaseRun::new(file, case);
    run.problem = match ctx.setup_of(file, case.config.as_ref()) {
        Ok(setup) => run.carry_out(ctx, &setup, case, true).await.err().map(String::from),
        Err(error) => Some(error),
    };
    run
}

#[cfg(test)]
mod tests;
