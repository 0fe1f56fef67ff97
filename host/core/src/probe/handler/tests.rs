//! What probes of the spec ask of their types.

use k8s_openapi::api::core::v1::{ContainerPort, EnvVar, EnvVarSource};
use serde_json::from_value;

use super::*;

fn container() -> Container {
    let port = |name: &str, container_port| ContainerPort {
        name: Some(name.to_owned()),
        container_port,
        host_port: Some(1),
        ..ContainerPort::default()
    };
    let env = |name: &str, value: Option<&str>| EnvVar {
        name: name.to_owned(),
        value: value.map(str::to_owned),
        value_from: value.is_none().then(EnvVarSource::default),
    };
    Container {
        name: "a".to_owned(),
        ports: Some(vec![port("web", 8080), port("none", 0), port("80", 8000)]),
        env: Some(vec![env("A", Some("first")), env("A", Some("$(B)")), env("SECRET", None)]),
        ..Container::default()
    }
}

fn of(probe: Value) -> Result<(String, String), String> {
    let probe: Probe = from_value(probe).expect("the test's probe is one");
    let handler = handler_of_spec(&probe, &container()).map_err(|error| error.to_string())?;
    Ok((handler.probe_type.to_string(), handler.parameters.to_string()))
}

#[test]
fn ports_are_numbers_names_or_digits() {
    let unknown = |name: &str| Err(format!("port {name} not found"));
    let invalid = |port: i64| Err(format!("invalid port number: {port}"));
    let cases = [
        (json!(80), Ok(80)),
        (json!(65535), Ok(65535)),
        (json!(0), invalid(0)),
        (json!(-1), invalid(-1)),
        (json!(65536), invalid(65536)),
        (json!("web"), Ok(8080)),
        (json!("none"), invalid(0)),
        (json!("80"), Ok(8000)),
        (json!("81"), Ok(81)),
        (json!("dns"), unknown("dns")),
        (json!(""), unknown("")),
        (json!("118888888888"), invalid(118_888_888_888)),
    ];
    for (port, expected) in cases {
        let socket =
            expected.clone().map(|port: u16| ("tcpSocket".to_owned(), json!({"port": port}).to_string()));
        assert_eq!(of(json!({"tcpSocket": {"port": port}})), socket, "{port}");
        let get = expected.map(|port| ("httpGet".to_owned(), json!({"path": "/", "port": port}).to_string()));
        assert_eq!(of(json!({"httpGet": {"path": "/", "port": port}})), get, "{port}");
    }
}

#[test]
fn the_specs_own_object_is_what_a_type_gets() {
    let get = json!({
        "host": "example.org",
        "httpHeaders": [{"name": "Host", "value": "$(A)"}],
        "path": "a b?c#d",
        "port": 80,
        "scheme": "gopher",
    });
    assert_eq!(
        of(json!({"httpGet": get})),
        Ok(("httpGet".to_owned(), get.to_string())),
        "nothing is judged here"
    );
    let socket = json!({"host": "$(A)", "port": 9});
    assert_eq!(of(json!({"tcpSocket": socket})), Ok(("tcpSocket".to_owned(), socket.to_string())));
    let grpc = json!({"port": 9, "service": "db"});
    assert_eq!(of(json!({"grpc": grpc})), Ok(("grpc".to_owned(), grpc.to_string())));
    assert_eq!(of(json!({"grpc": {"port": 9}})), Ok(("grpc".to_owned(), json!({"port": 9}).to_string())));
}

#[test]
fn commands_see_the_plain_variables_of_their_container() {
    let cases = [
        (json!(["cat", "$(A)"]), json!(["cat", "$(B)"])),
        (json!(["$(SECRET)", "$(NONE)", "$$(A)"]), json!(["", "$(NONE)", "$(A)"])),
        (json!([]), json!([])),
    ];
    for (command, expected) in cases {
        let expected = ("exec".to_owned(), json!({"command": expected}).to_string());
        assert_eq!(of(json!({"exec": {"command": command}})), Ok(expected), "{command}");
    }
    assert_eq!(of(json!({"exec": {}})), Ok(("exec".to_owned(), json!({"command": []}).to_string())));
    let long = "$(A)".repeat(40_000);
    assert_eq!(
        of(json!({"exec": {"command": [long]}})),
        Err("an argument of the command is too long after its variables are expanded".to_owned())
    );
}

#[test]
fn a_probe_that_asks_nothing_is_an_error() {
    assert_eq!(of(json!({})), Err("missing handler".to_owned()));
    assert_eq!(of(json!({"grpc": {"port": 0}})), Err("invalid port number: 0".to_owned()));
}
