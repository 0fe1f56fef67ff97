//! Planted faults: the conformance kit finds each of them, and nothing in the plugin without one.

use std::sync::LazyLock;

use libtest_mimic::{Failed, Trial};
use tokio::runtime::Runtime;
use witlet_conformance::cases::CaseFile;
use witlet_conformance::{Check, CheckResult, Kit, Layer, Plan, Report, Silent, Subject};
use witlet_test_guests::{FAULTS, FORGERS, LOOP_AT_START, TATTLER, bombs};
use witlet_wasm::role::Role;

use super::planted::{Guest, PLANTED, Planted};

/// How many inputs each property is tried with: faults that are planted are found soon.
const PROPERTY_CASES: u32 = 24;
/// How many faults there are at least.
const FAULTS_MIN: usize = 50;

/// One for all: the code of each component is compiled once.
static KIT: LazyLock<(Runtime, Kit)> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("threads can be had");
    let _inside = runtime.enter();
    let kit = Kit::start(crate::node::compiler(crate::node::cache())).expect("engines can be had");
    drop(_inside);
    (runtime, kit)
});

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = PLANTED
        .iter()
        .map(|planted| Trial::test(format!("{} is found", planted.name()), || find(planted)))
        .collect();
    for role in Role::ALL {
        let name = format!("a plugin without a fault passes as {role}");
        trials.push(Trial::test(name, move || honest(Guest::Faults, role)));
    }
    let keeps = "a plugin that keeps its secret passes as probe";
    trials.push(Trial::test(keeps, || honest(Guest::Tattler, Role::Probe)));
    trials.push(Trial::test("every fault of the guests is planted", all_are_planted));
    trials.extend(super::recorded::CLAIMS.iter().map(|(name, show)| Trial::test(*name, *show)));
    trials
}

/// Examines as the plan says.
pub(super) fn examine(guest: Guest, plan: &Plan) -> Result<Report, Failed> {
    let subject = Subject { name: guest.name(), wasm: component(guest).into() };
    let (runtime, kit) = &*KIT;
    Ok(runtime.block_on(kit.examine(&subject, plan, &Silent))?)
}

fn component(guest: Guest) -> Vec<u8> {
    match guest {
        Guest::Faults => FAULTS.to_vec(),
        Guest::Tattler => TATTLER.to_vec(),
        Guest::LoopAtStart => LOOP_AT_START.to_vec(),
        Guest::OtherTypesHandler => bombs::empty_handler(),
        Guest::Made(name) => {
            let found = FORGERS.iter().find(|(made, _)| *made == name);
            found.unwrap_or_else(|| panic!("no one has made {name}")).1.to_vec()
        }
    }
}

/// With a role's cases, and this for its configuration.
pub(super) fn plan(guest: Guest, role: Role, word: Option<&str>) -> Result<Plan, Failed> {
    let cases = match super::planted::cases(guest, role, word) {
        Some(text) => vec![CaseFile::parse("cases.yaml", &text)?],
        None => Vec::new(),
    };
    let roles = Some([role].into());
    Ok(Plan { cases, roles, property_cases: PROPERTY_CASES, ..Plan::default() })
}

/// The check finds the fault, and says so in these words.
fn find(planted: &Planted) -> Result<(), Failed> {
    let mut plan = plan(planted.guest, planted.role, planted.fault)?;
    let layer = planted.check.split('/').next().unwrap_or_default();
    plan.layers = [Layer::Load, layer.parse()?].into();
    let report = examine(planted.guest, &plan)?;
    let checks: Vec<&Check> = report.checks.iter().filter(|check| check.id == planted.check).collect();
    if checks.is_empty() {
        return Err(format!("there was no check {}:\n{}", planted.check, reported(&report)).into());
    }
    let found = checks.iter().find_map(|check| match &check.result {
        CheckResult::Failed(finding) => Some(finding),
        CheckResult::Passed | CheckResult::Skipped { .. } => None,
    });
    let Some(finding) = found else {
        return Err(format!("{} found nothing:\n{}", planted.check, reported(&report)).into());
    };
    if !finding.seen.contains(planted.words) {
        return Err(format!("{:?} isn't in {:?}", planted.words, finding.seen).into());
    }
    if finding.input.is_empty() || finding.contract.is_empty() {
        return Err(format!("the finding tells no input, or no contract: {finding:?}").into());
    }
    if report.passed() { Err("the report says that it passed".into()) } else { Ok(()) }
}

/// No check of any layer finds something in a plugin without a fault, and each one that has something to try tries it.
fn honest(guest: Guest, role: Role) -> Result<(), Failed> {
    let mut plan = plan(guest, role, None)?;
    // The tattler falls over hostile configurations whatever else it does.
    if guest == Guest::Tattler {
        plan.layers.remove(&Layer::Hostile);
    }
    let report = examine(guest, &plan)?;
    let failed = report.checks.iter().any(|check| matches!(check.result, CheckResult::Failed(_)));
    if failed || !report.passed() {
        return Err(reported(&report).into());
    }
    let tried: Vec<&str> = report
        .checks
        .iter()
        .filter(|check| check.result == CheckResult::Passed)
        .map(|check| check.id)
        .collect();
    // Each check that finds a fault in a guest passes without one.
    let finds = PLANTED.iter().filter(|planted| planted.guest == guest && planted.role == role);
    let untried: Vec<&str> = finds
        .map(|planted| planted.check)
        .filter(|check| {
            !tried.contains(check) && plan.layers.iter().any(|layer| check.starts_with(layer.as_str()))
        })
        .collect();
    if untried.is_empty() {
        Ok(())
    } else {
        Err(format!("{untried:?} didn't pass:\n{}", reported(&report)).into())
    }
}

/// What the report says of each check that didn't pass.
fn reported(report: &Report) -> String {
    let line = |check: &Check| match &check.result {
        CheckResult::Passed => format!("{} passed", check.id),
        CheckResult::Skipped { why } => format!("{} skipped: {why}", check.id),
        CheckResult::Failed(finding) => {
            format!("{} found {} in {}", check.id, finding.seen, finding.input)
        }
    };
    report.checks.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The guests' own lists of faults have none that isn't looked for. They stand in their source.
fn all_are_planted() -> Result<(), Failed> {
    let mut known = Vec::new();
    for text in [
        include_str!("../../../guests/faults/src/config_check.rs"),
        include_str!("../../../guests/faults/src/admission.rs"),
        include_str!("../../../guests/faults/src/probe.rs"),
        include_str!("../../../guests/faults/src/source.rs"),
    ] {
        let (_, list) = text.split_once("FAULTS: &[&str] = &[").ok_or("a part of the guest has no list")?;
        let (list, _) = list.split_once(']').ok_or("the list has no end")?;
        known.extend(list.split('"').skip(1).step_by(2));
    }
    let planted: Vec<&str> = PLANTED.iter().filter_map(|planted| planted.fault).collect();
    let unplanted: Vec<&&str> = known.iter().filter(|fault| !planted.contains(fault)).collect();
    if !unplanted.is_empty() {
        return Err(format!("no one looks for {unplanted:?}").into());
    }
    if PLANTED.len() < FAULTS_MIN {
        return Err(format!("there are only {} faults", PLANTED.len()).into());
    }
    Ok(())
}
