//! Rows of plugins, from what the local API answers.

use expect_test::expect;
use serde_json::json;

use super::*;

fn role(name: &str) -> Value {
    json!({
        "role": name, "version": "0.1.0", "quarantineSeconds": null, "calls": 1234, "errors": 2, "timeouts": 1,
        "p50Seconds": 0.000_012_3, "p99Seconds": 0.1, "secondsTotal": 1.0, "cpuSeconds": 0.5,
        "memoryBytesPeak": 1_179_648, "warmInstances": 3, "inFlight": 1,
    })
}

fn plugin(change: impl FnOnce(&mut Value)) -> Value {
    let mut plugin = json!({
        "name": "p", "component": "/plugins/p.wasm", "digest": "0123456789abcdef0123", "state": "Ready",
        "shadow": false, "detail": null, "pending": null, "lastError": null, "roles": [role("admission")],
        "shadowReport": null,
    });
    change(&mut plugin);
    plugin
}

fn shown(plugins: &[Value], wide: bool) -> String {
    table::render(&header(wide), &plugins.iter().flat_map(|plugin| rows(plugin, wide)).collect::<Vec<_>>())
}

#[test]
fn a_plugin_has_a_row_for_each_role() {
    let plugins = [
        plugin(|_| {}),
        plugin(|plugin| {
            plugin["name"] = json!("both");
            plugin["state"] = json!("Quarantined");
            plugin["lastError"] = json!("it trapped: unreachable");
            plugin["roles"] = json!([role("admission"), role("probe")]);
            plugin["roles"][1]["quarantineSeconds"] = json!(7.5);
        }),
        plugin(|plugin| {
            plugin["name"] = json!("broken");
            plugin["state"] = json!("Failed");
            plugin["detail"] = json!("read /plugins/p.wasm");
            plugin["digest"] = Value::Null;
            for key in ["version", "p50Seconds", "p99Seconds"] {
                plugin["roles"][0][key] = Value::Null;
            }
            for key in ["calls", "errors", "memoryBytesPeak"] {
                plugin["roles"][0][key] = json!(0);
            }
        }),
    ];
    expect![[r#"
        NAME     ROLE        VERSION   STATE         DIGEST         CALLS   ERRORS   P50      P99     MEMORY   MESSAGE
        p        admission   0.1.0     Ready         0123456789ab   1234    2        12.3µs   100ms   1.1Mi
        both     admission   0.1.0     Ready         0123456789ab   1234    2        12.3µs   100ms   1.1Mi    it trapped: unreachable
        both     probe       0.1.0     Quarantined   0123456789ab   1234    2        12.3µs   100ms   1.1Mi
        broken   admission   -         Failed        -              0       0        -        -       -        read /plugins/p.wasm
    "#]]
    .assert_eq(&shown(&plugins, false));
}

#[test]
fn a_shadow_tells_how_it_compares() {
    let shadow = plugin(|plugin| {
        plugin["shadow"] = json!(true);
        plugin["operations"] = json!(["add", "recheck"]);
        plugin["shadowReport"] =
            json!({"agreed": 40, "differed": 2, "failed": 0, "skipped": 0, "differences": []});
    });
    expect![[r#"
        NAME   ROLE        VERSION   STATE          DIGEST         CALLS   ERRORS   P50      P99     MEMORY   CPU     BUSY   WARM   SHADOW                  ROLLOUT   OPERATIONS    COMPONENT         MESSAGE
        p      admission   0.1.0     Ready,Shadow   0123456789ab   1234    2        12.3µs   100ms   1.1Mi    500ms   1      3      40 agreed, 2 differed   -         add,recheck   /plugins/p.wasm
    "#]]
    .assert_eq(&shown(&[shadow], true));
}

#[test]
fn only_a_loaded_handler_has_operations() {
    let of = |operations: Value, name: &str| {
        operations_of(&plugin(|plugin| plugin["operations"] = operations), &role(name))
    };
    assert_eq!(of(json!(["add", "resize"]), "admission"), "add,resize");
    assert_eq!(of(json!([]), "admission"), "-", "it isn't loaded");
    assert_eq!(of(json!(["add"]), "probe"), "-");
}

#[test]
fn a_rollout_tells_where_it_stands() {
    let stands = |more: Value| {
        let plugin = plugin(|plugin| {
            plugin["rollout"] = json!({
                "of": "old", "phase": "Progressing", "percent": 20, "stepPercent": 100, "soakSeconds": 5400.0,
                "soakedSeconds": 252.9, "calls": 7, "minCalls": 20, "errors": 1, "differences": 0, "reason": null,
                "message": null,
            });
            for (key, value) in more.as_object().into_iter().flatten() {
                plugin["rollout"][key] = value.clone();
            }
        });
        let message = rows(&plugin, false)[0].last().cloned().unwrap_or_default();
        (state(&plugin, &plugin["roles"][0]), rollout(&plugin), message)
    };
    let shown = |state: &str, rollout: &str, message: &str| {
        (state.to_owned(), rollout.to_owned(), message.to_owned())
    };
    let soaking = "20% of old, 4m12s of 1h30m, 7 of 20 calls, 1 errors";
    assert_eq!(stands(json!({})), shown("Ready,20%", soaking, ""));
    let waiting = "20% of old, 1h30m of 1h30m, 7 of 20 calls, 1 errors";
    assert_eq!(stands(json!({"soakedSeconds": 9000.0})), shown("Ready,20%", waiting, ""));
    let by_hand = "20% of old, 7 calls, 1 errors";
    assert_eq!(stands(json!({"soakSeconds": null})), shown("Ready,20%", by_hand, ""));
    let complete = json!({"phase": "Complete", "percent": 100});
    assert_eq!(stands(complete), shown("Ready", "100% of old, Complete", ""));
    let reverted =
        json!({"phase": "Reverted", "percent": 0, "reason": "Quarantined", "message": "9 of 9 calls failed"});
    let message = "reverted to old: 9 of 9 calls failed";
    assert_eq!(stands(reverted), shown("Ready,Reverted", "0% of old, Reverted", message));
    assert_eq!([0.4, 59.0, 60.0, 3600.0, 90_061.0].map(rounded), ["0s", "59s", "1m", "1h", "25h1m1s"]);
    assert_eq!(rollout(&plugin(|_| {})), "-");
}

#[test]
fn a_plugin_that_is_not_ready_says_why() {
    let message = |more: Value| {
        let plugin = plugin(|plugin| {
            for (key, value) in more.as_object().into_iter().flatten() {
                plugin[key] = value.clone();
            }
        });
        rows(&plugin, false)[0].last().cloned().unwrap_or_default()
    };
    assert_eq!(message(json!({})), "");
    assert_eq!(message(json!({"detail": "no component", "lastError": "trap"})), "no component");
    assert_eq!(message(json!({"pending": "won't load", "lastError": "trap"})), "won't load");
    assert_eq!(message(json!({"lastError": "trap"})), "trap");
}

#[test]
fn times_and_sizes_are_short() {
    let times = [0.0, 9.9e-6, 2.5e-4, 0.001, 0.0999, 0.25, 1.0, 30.0].map(seconds);
    assert_eq!(times, ["0s", "9.9µs", "250µs", "1.0ms", "99.9ms", "250ms", "1.0s", "30.0s"]);
    assert_eq!([1, 65_536, 1 << 20, 17_000_000].map(bytes), ["1Ki", "64Ki", "1.0Mi", "16.2Mi"]);
}

#[test]
fn the_set_stands_below_the_table_with_what_became_of_the_chosen_one() {
    assert_eq!(set(&Value::Null), "", "sets aren't checked");
    let local =
        json!({"running": null, "digest": null, "state": "Local", "message": null, "lastAttempt": null});
    assert_eq!(set(&local), "\nSet: none, the local plugin file\nState: Local\n");
    let refused = json!({
        "running": "oci://a/b@sha256:1", "digest": "sha256:1", "state": "NotSigned", "message": "why",
        "lastAttempt": "2026-01-02T03:04:05Z",
    });
    let expected =
        "\nSet: oci://a/b@sha256:1\nState: NotSigned\nLast attempt: 2026-01-02T03:04:05Z\nMessage: why\n";
    assert_eq!(set(&refused), expected);
    let mut brought = json!({
        "running": "oci://a/b@sha256:1", "digest": "sha256:1", "state": "Running", "message": null, "lastAttempt": null,
        "compiledCode": {"used": 2, "unused": 0, "message": null, "architectures": ["aarch64", "x86_64"]},
    });
    let all = "\nSet: oci://a/b@sha256:1\nState: Running\nCompiled code: for aarch64, x86_64; 2 of 2 used\n";
    assert_eq!(set(&brought), all);
    brought["compiledCode"] = json!({"used": 1, "unused": 2, "message": "why", "architectures": ["x86_64"]});
    assert!(set(&brought).ends_with("Compiled code: for x86_64; 1 of 3 used: why\n"), "{}", set(&brought));
}
