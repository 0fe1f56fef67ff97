//! What annotations say, and how they go wrong.

use expect_test::expect;
use k8s_openapi::api::core::v1::{ContainerPort, EnvVar};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn container() -> Container {
    let port = |name: &str, container_port| ContainerPort {
        name: Some(name.to_owned()),
        container_port,
        ..ContainerPort::default()
    };
    let env = |name: &str, value: &str| EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        value_from: None,
    };
    Container {
        name: "app".to_owned(),
        ports: Some(vec![port("redis", 6379), port("admin", 9000)]),
        env: Some(vec![env("DB", "7"), env("PORT_NAME", "admin"), env("LONG", &"x".repeat(60_000))]),
        ..Container::default()
    }
}

/// Type and parameters of the readiness probe, or what is wrong.
fn readiness(annotation: &str) -> String {
    match read(annotation, &container()) {
        Err(invalid) => format!("unreadable: {invalid}"),
        Ok(mut probes) => match probes.remove(&ProbeKind::Readiness) {
            None => "not named".to_owned(),
            Some(Err(invalid)) => format!("wrong: {invalid}"),
            Some(Ok(CustomProbe { handler, .. })) => format!("{} {}", handler.probe_type, handler.parameters),
        },
    }
}

fn entry(more: &str) -> String {
    format!(r#"{{"readiness": {{"type": "redis"{more}}}}}"#)
}

#[test]
fn what_cant_be_read_is_never_taken_for_something_else() {
    let long = entry(&format!(r#", "parameters": {{"a": "{}"}}"#, "x".repeat(ANNOTATION_BYTES_MAX)));
    let deep = format!("{}{}", "[".repeat(400), "]".repeat(400));
    let cases = [
        "",
        "redis",
        "null",
        "[]",
        "{}",
        r#"{"readyness": {"type": "redis"}}"#,
        r#"{"readiness": null}"#,
        r#"{"readiness": ["redis"]}"#,
        r#"{"readiness": {}}"#,
        r#"{"readiness": {"type": ""}}"#,
        r#"{"readiness": {"type": 1}}"#,
        r#"{"readiness": {"type": "a"}, "readiness": {"type": "b"}}"#,
        &entry("}} {"),
        &long,
        &entry(r#", "period": 1"#),
        &entry(r#", "parameters": "PING""#),
        &entry(r#", "parameters": null"#),
        &entry(&format!(r#", "parameters": {{"a": {deep}}}"#)),
        &entry(&format!(r#", "parameters": {{"a": {}{}}}"#, "[".repeat(15), "]".repeat(15))),
        &entry(&format!(r#", "parameters": {{"a": {}{}}}"#, "[".repeat(16), "]".repeat(16))),
    ];
    let found: Vec<String> = cases
        .iter()
        .map(|case| format!("{} → {}", case.get(..60).unwrap_or(case), readiness(case)))
        .collect();
    expect![[r#"
         → unreadable: EOF while parsing a value at line 1 column 0
        redis → unreadable: expected value at line 1 column 1
        null → unreadable: invalid type: null, expected a map at line 1 column 4
        [] → unreadable: invalid type: sequence, expected a map at line 1 column 0
        {} → not named
        {"readyness": {"type": "redis"}} → unreadable: unknown field `readyness`, expected one of `startup`, `readiness`, `liveness` at line 1 column 12
        {"readiness": null} → wrong: invalid type: null, expected a map
        {"readiness": ["redis"]} → wrong: invalid type: sequence, expected a map
        {"readiness": {}} → wrong: missing field `type`
        {"readiness": {"type": ""}} → wrong: type must have 1 to 253 bytes
        {"readiness": {"type": 1}} → wrong: invalid type: integer `1`, expected a string
        {"readiness": {"type": "a"}, "readiness": {"type": "b"}} → unreadable: duplicate field `readiness` at line 1 column 40
        {"readiness": {"type": "redis"}} {}} → unreadable: trailing characters at line 1 column 34
        {"readiness": {"type": "redis", "parameters": {"a": "xxxxxxx → unreadable: must have at most 16384 bytes, found 16441
        {"readiness": {"type": "redis", "period": 1}} → wrong: unknown field `period`, expected one of `type`, `parameters`, `periodMilliseconds`, `timeoutMilliseconds`, `initialDelayMilliseconds`, `successThreshold`, `failureThreshold`
        {"readiness": {"type": "redis", "parameters": "PING"}} → wrong: invalid type: string "PING", expected a map
        {"readiness": {"type": "redis", "parameters": null}} → redis null
        {"readiness": {"type": "redis", "parameters": {"a": [[[[[[[[ → unreadable: recursion limit exceeded at line 1 column 177
        {"readiness": {"type": "redis", "parameters": {"a": [[[[[[[[ → redis {"a":[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]}
        {"readiness": {"type": "redis", "parameters": {"a": [[[[[[[[ → wrong: parameters must not be nested deeper than 16 levels"#]].assert_eq(&found.join("\n"));
}

#[test]
fn times_and_counts_have_bounds() {
    let cases = [
        r#""periodMilliseconds": 49"#,
        r#""periodMilliseconds": 86400001"#,
        r#""periodMilliseconds": -1"#,
        r#""periodMilliseconds": 1.5"#,
        r#""timeoutMilliseconds": 9"#,
        r#""timeoutMilliseconds": 300001"#,
        r#""initialDelayMilliseconds": 86400001"#,
        r#""successThreshold": 0"#,
        r#""successThreshold": 1001"#,
        r#""failureThreshold": 0"#,
        r#""failureThreshold": 18446744073709551615"#,
    ];
    let found: Vec<String> =
        cases.iter().map(|case| format!("{case} → {}", readiness(&entry(&format!(", {case}"))))).collect();
    expect![[r#"
        "periodMilliseconds": 49 → wrong: periodMilliseconds must be between 50 and 86400000, found 49
        "periodMilliseconds": 86400001 → wrong: periodMilliseconds must be between 50 and 86400000, found 86400001
        "periodMilliseconds": -1 → wrong: invalid value: integer `-1`, expected u64
        "periodMilliseconds": 1.5 → wrong: invalid type: floating point `1.5`, expected u64
        "timeoutMilliseconds": 9 → wrong: timeoutMilliseconds must be between 10 and 300000, found 9
        "timeoutMilliseconds": 300001 → wrong: timeoutMilliseconds must be between 10 and 300000, found 300001
        "initialDelayMilliseconds": 86400001 → wrong: initialDelayMilliseconds must be between 0 and 86400000, found 86400001
        "successThreshold": 0 → wrong: successThreshold must be between 1 and 1000, found 0
        "successThreshold": 1001 → wrong: successThreshold must be between 1 and 1000, found 1001
        "failureThreshold": 0 → wrong: failureThreshold must be between 1 and 100000, found 0
        "failureThreshold": 18446744073709551615 → wrong: failureThreshold must be between 1 and 100000, found 18446744073709551615"#]].assert_eq(&found.join("\n"));
}

#[test]
fn times_that_arent_given_are_the_specs() {
    let of_spec = ProbeSettings {
        period: Duration::from_secs(10),
        timeout: Duration::from_secs(1),
        initial_delay: Duration::from_secs(5),
        success_threshold: 1,
        failure_threshold: 3,
    };
    let settings = |more: &str| {
        let mut probes = read(&entry(more), &container()).expect("it can be read");
        let custom = probes.remove(&ProbeKind::Readiness).expect("it is named").expect("it is right");
        custom.settings(of_spec)
    };
    assert_eq!(settings(""), of_spec);
    let all = r#", "periodMilliseconds": 50, "timeoutMilliseconds": 10, "initialDelayMilliseconds": 0,
        "successThreshold": 2, "failureThreshold": 1"#;
    let finest = ProbeSettings {
        period: Duration::from_millis(50),
        timeout: Duration::from_millis(10),
        initial_delay: Duration::ZERO,
        success_threshold: 2,
        failure_threshold: 1,
    };
    assert_eq!(settings(all), finest);
    let period = ProbeSettings { period: Duration::from_millis(250), ..of_spec };
    assert_eq!(settings(r#", "periodMilliseconds": 250"#), period);
}

#[test]
fn liveness_and_startup_want_one_success() {
    let annotation = json!({
        "startup": {"type": "redis", "successThreshold": 2},
        "readiness": {"type": "redis", "successThreshold": 2},
        "liveness": {"type": "redis", "successThreshold": 1},
    });
    let probes = read(&annotation.to_string(), &container()).expect("it can be read");
    let wrong: Vec<(ProbeKind, Option<InvalidProbe>)> =
        probes.into_iter().map(|(kind, probe)| (kind, probe.err())).collect();
    assert_eq!(
        wrong,
        [
            (ProbeKind::Startup, Some(InvalidProbe::OneSuccess)),
            (ProbeKind::Readiness, None),
            (ProbeKind::Liveness, None),
        ]
    );
}

#[test]
fn variables_and_names_of_ports_are_replaced_wherever_they_stand() {
    let cases = [
        (json!({"port": "redis"}), json!({"port": 6379})),
        (json!({"adminPort": "admin", "ports": "admin"}), json!({"adminPort": 9000, "ports": "admin"})),
        (json!({"port": "$(PORT_NAME)"}), json!({"port": 9000})),
        (json!({"port": "other"}), json!({"port": "other"})),
        (json!({"port": "6379"}), json!({"port": "6379"})),
        (json!({"port": 6379, "Port": "redis"}), json!({"port": 6379, "Port": 6379})),
        (json!({"port": ["redis"]}), json!({"port": ["redis"]})),
        (json!({"to": [{"port": "redis"}]}), json!({"to": [{"port": 6379}]})),
        (json!({"db": "$(DB)", "$(DB)": "$(NONE) $$(DB)"}), json!({"db": "7", "$(DB)": "$(NONE) $(DB)"})),
        (json!({"port": ""}), json!({"port": ""})),
        (json!({}), json!({})),
    ];
    for (given, expected) in cases {
        let found = readiness(&entry(&format!(r#", "parameters": {given}"#)));
        assert_eq!(found, format!("redis {expected}"), "{given}");
    }
}

#[test]
fn replaced_variables_fill_no_memory() {
    let texts: Vec<&str> = std::iter::repeat_n("$(LONG)", 1_000).collect();
    let given = json!({"texts": texts});
    let found = readiness(&entry(&format!(r#", "parameters": {given}"#)));
    assert_eq!(found, "wrong: parameters must have at most 65536 bytes after variables are expanded");
}

fn json_value() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        "[a-z$()]{0,8}",
        Just("$(LONG)".to_owned()),
        Just("redis".to_owned()),
        Just("port".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(word.clone(), inner, 0..6)
                .prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Whatever an annotation says: what is taken from it lies within the bounds.
    #[test]
    fn what_is_taken_is_within_bounds(
        parameters in json_value(),
        numbers in proptest::collection::btree_map(
            prop_oneof![
                Just("periodMilliseconds"), Just("timeoutMilliseconds"), Just("initialDelayMilliseconds"),
                Just("successThreshold"), Just("failureThreshold"),
            ],
            prop_oneof![0u64..500, any::<u64>()],
            0..5,
        ),
        text in ".{0,64}",
    ) {
        let mut entry = json!({"type": "x", "parameters": parameters});
        for (name, number) in numbers {
            entry[name] = Value::from(number);
        }
        let of_spec = ProbeSettings::of(&k8s_openapi::api::core::v1::Probe::default());
        for annotation in [json!({"liveness": entry}).to_string(), text] {
            for probe in read(&annotation, &container()).into_iter().flatten().filter_map(|(_, probe)| probe.ok()) {
                let settings = probe.settings(of_spec);
                prop_assert!(settings.period >= Duration::from_millis(50));
                prop_assert!(settings.period <= Duration::from_secs(24 * 60 * 60));
                prop_assert!((Duration::from_millis(10)..=Duration::from_secs(300)).contains(&settings.timeout));
                prop_assert_eq!(settings.success_threshold, 1);
                prop_assert!(settings.failure_threshold >= 1);
                prop_assert!(probe.handler.parameters.len() <= PARAMETERS_BYTES_MAX);
                let parameters: Value = serde_json::from_str(&probe.handler.parameters).expect("JSON");
                prop_assert!(parameters.is_object() || parameters.is_null());
            }
        }
    }
}
