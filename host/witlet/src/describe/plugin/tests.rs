//! A plugin as people see it.

use expect_test::expect;
use serde_json::json;

use super::*;

#[test]
fn all_that_is_known_is_laid_out() {
    let role = json!({
        "role": "admission", "version": "0.1.0", "quarantineSeconds": null, "calls": 12, "errors": 1, "timeouts": 1,
        "p50Seconds": 0.000_25, "p99Seconds": 0.1, "secondsTotal": 0.2, "cpuSeconds": 0.01, "memoryBytesPeak": 1_179_648,
        "warmInstances": 3, "inFlight": 0,
    });
    let plugin = json!({
        "name": "images", "builtin": false, "component": "/etc/witlet/images.wasm", "digest": "c0dd30ab637d",
        "sizeBytes": 524_288, "conformance": null, "order": 5, "failurePolicy": "Defer", "systemPods": false,
        "probeType": null, "shadow": true, "state": "Ready", "detail": null, "pending": null,
        "warnings": ["the mode is old", "it wants the grant network"], "lastError": "it trapped",
        "roles": [role], "shadowReport": {"agreed": 40, "differed": 2, "failed": 0, "skipped": 1, "differences": []},
        "rollout": {
            "of": "old", "phase": "Reverted", "percent": 0, "stepPercent": 100, "soakSeconds": 600.0, "soakedSeconds": 1.0,
            "calls": 20, "minCalls": 20, "errors": 2, "differences": 1, "reason": "ErrorBudgetExceeded",
            "message": "2 of 20 calls failed, which is more than 1%",
        },
    });
    let described = DescribedPlugin { plugin, events: Vec::new() };
    expect![[r#"
        Name:            images
        Component:       /etc/witlet/images.wasm
        Digest:          c0dd30ab637d
        Size:            512Ki
        Enabled By:      plugin file
        State:           Ready
        Warnings:        the mode is old
                         it wants the grant network
        Last Error:      it trapped
        Order:           5
        Failure Policy:  Defer
        System Pods:     false
        Shadow:          true
        Roles:
          ROLE        CONTRACT   STATE            CALLS   ERRORS   TIMEOUTS   P50     P99     CPU      MEMORY   WARM/BUSY
          admission   0.1.0      Ready,Reverted   12      1        1          250µs   100ms   10.0ms   1.1Mi    3/0
        Shadow:
          Agreed:    40
          Differed:  2
          Failed:    0
          Skipped:   1
        Rollout:
          Of:           old
          Phase:        Reverted
          Percent:      0
          Calls:        20
          Errors:       2
          Differences:  1
          Reason:       ErrorBudgetExceeded
          Message:      2 of 20 calls failed, which is more than 1%
        Events:         <none>
    "#]].assert_eq(&text(&described, Timestamp::UNIX_EPOCH));
}

#[test]
fn what_ships_is_enabled_by_default_or_by_an_entry() {
    for (builtin, component, expected) in
        [(true, "builtin", "default"), (false, "builtin:cel", "plugin file")]
    {
        let plugin = json!({"name": "rules", "builtin": builtin, "component": component, "state": "Ready"});
        let text = text(&DescribedPlugin { plugin, events: Vec::new() }, Timestamp::UNIX_EPOCH);
        let line = format!("Enabled By:  {expected}\n");
        assert!(text.contains(&line), "{line:?} isn't in: {text}");
    }
}
