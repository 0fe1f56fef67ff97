//! Tests of the parent module.

use super::*;

#[test]
fn a_layer_is_one_line() {
    let check = |result| Check {
        layer: Layer::Load,
        role: None,
        id: "load/size",
        title: String::new(),
        result,
        took: Duration::ZERO,
    };
    let skipped = CheckResult::Skipped { why: "why".to_owned() };
    let checks = [check(CheckResult::Passed), check(skipped), check(CheckResult::Passed)];
    assert_eq!(
        line(Layer::Load, &checks, Duration::from_millis(1250)),
        "load         2 passed, 1 not tried  1.2s"
    );
    assert_eq!(line(Layer::Replay, &[], Duration::ZERO), "replay       0 passed  0.0s");
}
