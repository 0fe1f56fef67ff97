//! Secrets stay what they are: nothing that a plugin says holds one.

use witlet_wasm::direct::HeardLine;
use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use super::{REPEAT, values};
use crate::hostile::stage::stage;
use crate::properties::questions::{groups, outcome_told, poll_told, verdict_told};
use crate::properties::world::World;
use crate::{Checks, Ctx, Finding};

const CHECK: (&str, &str) = ("grants/secrets-untold", "no answer and no line of the log holds a secret");
const CONTRACT: &str = "witlet:host/secret: values that stand neither in the configuration nor in pods; what a plugin answers is shown in \
                        events and statuses, and what it logs stands in the node's log";
/// How many cases are listened to.
const CASES_MAX: usize = 40;

/// What a plugin said somewhere.
struct Said {
    input: String,
    place: String,
    text: String,
}

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>, role: Role) {
    if !ctx.inspection.needs_grants.contains(&"secrets") {
        return;
    }
    let result = async {
        let secrets = values(&ctx.setup(role).map_err(|error| error.to_string())?);
        if secrets.is_empty() {
            return Err(
                "it is given no secret of four bytes or more: add one (`secrets` of a case file)".to_owned()
            );
        }
        let said = match role {
            Role::Admission => of_handler(ctx).await?,
            Role::Probe => of_prober(ctx).await?,
            Role::PodSource => of_source(ctx).await?,
        };
        Ok(told(&secrets, &said))
    };
    match result.await {
        Ok(found) => checks.judge(role, CHECK.0, CHECK.1, found.map(|found| found.repeated_by(REPEAT))),
        Err(why) => checks.skip(role, CHECK.0, CHECK.1, why),
    }
}

/// The first text that holds a secret. The finding doesn't repeat it.
fn told(secrets: &[(String, String)], said: &[Said]) -> Option<Finding> {
    said.iter().find_map(|Said { input, place, text }| {
        let (name, value) = secrets.iter().find(|(_, value)| text.contains(value.as_str()))?;
        let shown = text.replace(value.as_str(), &format!("<{name}>"));
        Some(Finding::new(input.clone(), format!("the secret {name:?} in {place}: {shown}"), CONTRACT))
    })
}

fn lines(input: &str, lines: Vec<HeardLine>) -> impl Iterator<Item = Said> {
    let said = move |line: HeardLine| {
        let fields: Vec<String> = line.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Said {
            input: input.to_owned(),
            place: "a line of its log".to_owned(),
            text: format!("{} {}", line.message, fields.join(" ")),
        }
    };
    lines.into_iter().map(said)
}

fn answer(input: &str, text: String) -> Said {
    Said { input: input.to_owned(), place: "its answer".to_owned(), text }
}

async fn of_handler(ctx: &Ctx<'_>) -> Result<Vec<Said>, String> {
    let mut said = Vec::new();
    for group in groups(ctx)? {
        let handler = ctx.handler(&group.setup).await.map_err(|error| error.sentence())?;
        for named in &group.questions {
            let asked = handler.ask(&named.request).await;
            said.push(answer(&named.name, verdict_told(&asked.result).unwrap_or_default()));
            said.extend(lines(&named.name, handler.lines()));
        }
    }
    Ok(said)
}

async fn of_prober(ctx: &Ctx<'_>) -> Result<Vec<Said>, String> {
    let mut said = Vec::new();
    for (file, case) in ctx.probe_cases().take(CASES_MAX) {
        // A case whose configuration is to be refused has nothing to say.
        let Ok(staged) = stage(ctx, file, case, &case.servers, |_| {}).await else { continue };
        let asked = staged.prober.check_and_probe(&staged.request).await;
        let name = format!("case {:?}", case.name);
        said.push(answer(&name, outcome_told(&asked.result)));
        said.extend(lines(&name, staged.prober.lines()));
    }
    Ok(said)
}

async fn of_source(ctx: &Ctx<'_>) -> Result<Vec<Said>, String> {
    let world = World::find(ctx).await?;
    let source = world.source(ctx).await?;
    let polled = source.poll(None).await.result;
    let mut said: Vec<Said> = lines(&world.name, source.lines()).collect();
    // Pods are what it is for; what else it says is for people.
    if let Ok(Err(_)) | Err(CallError::Refused { .. }) = &polled {
        said.push(answer(&world.name, poll_told(&polled)));
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_and_not_repeated() {
        let secrets = [("password".to_owned(), "s3cret".to_owned())];
        let said = |text: &str| vec![answer("case \"a\"", text.to_owned())];
        assert_eq!(told(&secrets, &said("failure: no route to host")), None);
        let finding = told(&secrets, &said("failure: AUTH s3cret was refused")).expect("it stands there");
        assert_eq!(
            finding.seen,
            "the secret \"password\" in its answer: failure: AUTH <password> was refused"
        );
    }

    #[test]
    fn fields_of_lines_are_listened_to() {
        let line = HeardLine {
            level: "debug",
            message: "log in".to_owned(),
            fields: vec![("with".to_owned(), "s3cret".to_owned())],
        };
        let secrets = [("password".to_owned(), "s3cret".to_owned())];
        let said: Vec<Said> = lines("a call", vec![line]).collect();
        assert!(told(&secrets, &said).is_some_and(|found| found.seen.contains("a line of its log")));
    }
}
