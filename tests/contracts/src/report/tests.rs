//! A report counts what is added to it.

use super::*;

#[test]
fn a_report_succeeds_only_if_something_passed_and_nothing_failed() {
    let report = |outcomes: &[Outcome]| {
        let mut report = Report::default();
        outcomes.iter().for_each(|outcome| report.add("case", outcome.clone()));
        report
    };
    let skipped = Outcome::Skipped("no network".to_owned());
    let failed = Outcome::Failed("it broke".to_owned());
    assert!(!report(&[]).is_success());
    assert!(!report(std::slice::from_ref(&skipped)).is_success());
    assert!(!report(&[Outcome::Passed, failed.clone()]).is_success());
    let mixed = report(&[Outcome::Passed, skipped]);
    assert!(mixed.is_success());
    assert_eq!(mixed.to_string(), "passed  case\nSKIPPED case: no network\n1 passed, 0 failed, 1 skipped");
    assert_eq!(report(&[failed]).to_string(), "FAILED  case: it broke\n0 passed, 1 failed, 0 skipped");
}
