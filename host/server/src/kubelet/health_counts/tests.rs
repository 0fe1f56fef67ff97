//! Counted checks.

use witlet_core::stats::exposition::written;

use super::*;

fn text(counts: &HealthCounts) -> String {
    written(|to| counts.write(to)).expect("it is small")
}

#[test]
fn checks_are_counted_by_how_they_went_until_they_are_reset() {
    let counts = HealthCounts::default();
    assert_eq!(text(&counts), "");
    counts.observe("ping", true);
    counts.observe("ping", true);
    counts.observe("syncloop", true);
    counts.observe("syncloop", false);
    let expected = "\
# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.
# TYPE kubernetes_healthcheck gauge
kubernetes_healthcheck{name=\"ping\",type=\"healthz\"} 1
kubernetes_healthcheck{name=\"syncloop\",type=\"healthz\"} 0
# HELP kubernetes_healthchecks_total [STABLE] This metric records the results of all healthcheck.
# TYPE kubernetes_healthchecks_total counter
kubernetes_healthchecks_total{name=\"ping\",status=\"success\",type=\"healthz\"} 2
kubernetes_healthchecks_total{name=\"syncloop\",status=\"error\",type=\"healthz\"} 1
kubernetes_healthchecks_total{name=\"syncloop\",status=\"success\",type=\"healthz\"} 1
";
    assert_eq!(text(&counts), expected);
    counts.reset();
    assert_eq!(text(&counts), "");
}
