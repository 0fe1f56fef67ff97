//! Findings of many inputs become one.

use super::*;

fn trap() -> Option<Fault> {
    Some(Fault::new("it trapped", "contract"))
}

#[test]
fn the_first_finding_is_reported_with_the_names_of_the_others() {
    let nothing = CheckResult::Skipped { why: "there was nothing to try".to_owned() };
    assert_eq!(InputFindings::default().result(), nothing);
    let mut found = InputFindings::default();
    found.add("a", "a", None);
    found.add("b", "b", trap());
    found.add("c", "c", trap());
    let CheckResult::Failed(finding) = found.result() else { panic!("it has findings") };
    assert_eq!(finding.input, "b");
    assert_eq!(finding.seen, "it trapped. Also found with: c");
}

#[test]
fn what_never_answers_is_not_asked_for_ever() {
    let mut found = InputFindings::default();
    for name in ["a", "b", "c"] {
        assert!(!found.gives_up(), "{name}");
        found.add(name, name, Some(Fault { is_late: true, ..Fault::new("it waited", "contract") }));
    }
    assert!(found.gives_up());
    let CheckResult::Failed(finding) = found.result() else { panic!("it has findings") };
    let reported =
        "it waited. Also found with: b, c. After 3 without an answer in time further inputs weren't tried";
    assert_eq!(finding.seen, reported);
}

#[test]
fn a_late_answer_gives_way_to_another_finding() {
    let mut found = InputFindings::default();
    found.add("a", "a", Some(Fault { is_late: true, ..Fault::new("it waited", "contract") }));
    found.add("b", "b", trap());
    let CheckResult::Failed(finding) = found.result() else { panic!("it has findings") };
    assert_eq!((finding.input.as_str(), finding.seen.as_str()), ("b", "it trapped. Also found with: a"));
}

#[test]
fn what_could_not_be_tried_is_no_pass() {
    let mut found = InputFindings::default();
    found.add("a", "a", None);
    found.untried("no folder".to_owned());
    assert_eq!(found.result(), CheckResult::Skipped { why: "no folder".to_owned() });
}
