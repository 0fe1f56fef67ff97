//! What a log can be, and what upstream says of others (`component-base/logs/api/v1/validate_test.go`).

use serde_json::{Value, json};

use super::*;

fn read(document: Value, flush_by_flag: bool, gates: &[(&str, bool)]) -> Result<LogOptions, String> {
    let logging: Logging = serde_json::from_value(document).expect("it has the fields' types");
    let gates = gates.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect();
    options(&logging, flush_by_flag, &gates).map_err(|error| error.to_string())
}

#[test]
fn what_is_left_out_is_upstreams_default() {
    assert_eq!(read(json!({}), false, &[]), Ok(LogOptions::default()));
    let kubeadm = json!({
        "flushFrequency": 0, "verbosity": 0,
        "options": {"json": {"infoBufferSize": "0"}, "text": {"infoBufferSize": "0"}},
    });
    assert_eq!(read(kubeadm, false, &[]), Ok(LogOptions::default()));
}

#[test]
fn the_options_of_the_format_count() {
    let routing =
        json!({"text": {"splitStream": true, "infoBufferSize": 512}, "json": {"infoBufferSize": "1M"}});
    let of = |format: &str| {
        let document =
            json!({"format": format, "options": routing, "flushFrequency": "1m30s", "verbosity": 4});
        read(document, true, &[("AllAlpha", true)]).expect("it is right")
    };
    let text = of("text");
    assert_eq!((text.format, text.split, text.info_buffer_bytes), (LogFormat::Text, true, 512));
    assert_eq!((text.verbosity, text.flush_frequency), (4, Duration::from_secs(90)));
    let json = of("json");
    assert_eq!((json.format, json.split, json.info_buffer_bytes), (LogFormat::Json, false, 1_000_000));
}

#[test]
fn a_buffer_is_bounded_and_may_be_none() {
    for (size, expected) in [("0", 0), ("-1", 0), ("1", 1), ("2Gi", 2 << 30), ("1Ti", 2 << 30)] {
        let document = json!({"options": {"text": {"splitStream": true, "infoBufferSize": size}}});
        let options = read(document, false, &[("LoggingAlphaOptions", true)]).expect("it is right");
        assert_eq!(options.info_buffer_bytes, expected, "{size}");
    }
}

#[test]
fn lines_lose_the_fields_around_them_with_the_gate() {
    let contextual = |gates| read(json!({}), false, gates).map(|options| options.contextual);
    assert_eq!(contextual(&[]), Ok(true));
    assert_eq!(contextual(&[("ContextualLogging", false)]), Ok(false));
    assert_eq!(contextual(&[("AllBeta", false)]), Ok(false));
}

#[test]
fn upstreams_validation_is_repeated_in_its_words() {
    let vmodule = |pattern: &str, verbosity: u32| json!([{"filePattern": pattern, "verbosity": verbosity}]);
    let alpha = json!({"options": {"json": {"splitStream": true, "infoBufferSize": "1024"}}});
    for (document, expected) in [
        (json!({"format": "xml"}), r#"logging.format: Invalid value: "xml": Unsupported log format"#),
        (
            json!({"verbosity": 2_147_483_648_u32}),
            "logging.verbosity: Invalid value: 2147483648: Must be <= 2147483647",
        ),
        (
            json!({"vmodule": vmodule("gopher*", 2_147_483_648)}),
            "logging.vmodule[0]: Invalid value: 2147483648: Must be <= 2147483647",
        ),
        (
            json!({"vmodule": vmodule("", 1)}),
            "logging.vmodule[0]: Required value: File pattern must not be empty",
        ),
        (
            json!({"vmodule": [{"verbosity": 1}, {"filePattern": "a=b"}]}),
            "[logging.vmodule[0]: Required value: File pattern must not be empty, \
             logging.vmodule[1]: Invalid value: \"a=b\": File pattern must not contain equal sign or comma]",
        ),
        (
            json!({"vmodule": vmodule("foo,bar", 1)}),
            r#"logging.vmodule[0]: Invalid value: "foo,bar": File pattern must not contain equal sign or comma"#,
        ),
        (
            json!({"format": "json", "vmodule": vmodule("foo", 1)}),
            "logging.vmodule: Forbidden: Only supported for text log format",
        ),
        (
            alpha.clone(),
            "[logging.options.json.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled, \
             logging.options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled]",
        ),
        (
            json!({"options": {"text": {"splitStream": true}}}),
            "logging.options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled",
        ),
        (
            json!({"flushFrequency": -1_000_000_000}),
            "logging.flushFrequency: Invalid value: -1000000000: Must be greater than zero",
        ),
        (
            json!({"flushFrequency": "-90s"}),
            r#"logging.flushFrequency: Invalid value: "-1m30s": Must be greater than zero"#,
        ),
    ] {
        let found = read(document.clone(), false, &[]);
        assert_eq!(found, Err(format!("initialize logging: {expected}")), "{document}");
    }
    assert!(read(alpha, false, &[("LoggingAlphaOptions", true)]).is_ok());
    assert!(read(json!({"verbosity": 10, "vmodule": vmodule("gopher*", 100)}), false, &[]).is_ok());
    assert_eq!(
        read(json!({"format": "json"}), false, &[("LoggingBetaOptions", false)]),
        Err("initialize logging: logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature"
            .to_owned())
    );
    assert_eq!(
        read(json!({"flushFrequency": "0s"}), true, &[]),
        Err(r#"initialize logging: logging.flushFrequency: Invalid value: "0s": Must be greater than zero"#
            .to_owned()),
        "a flag can't ask for the default"
    );
}
