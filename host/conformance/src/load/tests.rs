//! What is no component is reported.

use super::*;
use crate::check::Silent;
use crate::plan::Layer;

#[test]
fn what_is_too_large_is_distinguished_from_what_is_no_component() {
    let found = |error: InspectError| {
        let mut checks = Checks::new(Layer::Load, &Silent);
        not_a_component(&mut checks, &error);
        checks.checks.into_iter().map(|check| (check.id, check.result)).collect::<Vec<_>>()
    };
    let bytes = COMPONENT_BYTES_MAX + 1;
    let large = found(InspectError::NotAComponent(CompileError::TooLarge { bytes }));
    assert!(matches!(&large[..], [("load/size", CheckResult::Failed(_))]), "{large:?}");
    let text = found(InspectError::NotAComponent(CompileError::NotAComponent { found: "it is empty" }));
    assert!(matches!(&text[..], [("load/component", CheckResult::Failed(_))]), "{text:?}");
}
