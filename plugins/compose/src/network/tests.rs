//! Ports in all their forms, hosts and namespaces.

use super::*;

/// `host address:host port:port/protocol` of each port.
fn show(ports: Result<Vec<Value>, String>) -> Result<String, String> {
    let one = |port: Value| {
        let mut text = String::new();
        if let Some(address) = port["hostIP"].as_str() {
            text.push_str(&format!("{address}@"));
        }
        if let Some(published) = port["hostPort"].as_u64() {
            text.push_str(&format!("{published}:"));
        }
        format!("{text}{}/{}", port["containerPort"], port["protocol"].as_str().unwrap_or_default())
    };
    ports.map(|ports| ports.into_iter().map(one).collect::<Vec<_>>().join(" "))
}

#[test]
fn ports_in_short_and_long_form() {
    for (written, expected) in [
        (json!(["80"]), Ok("80/TCP")),
        (json!([80]), Ok("80/TCP")),
        (json!(["8080:80"]), Ok("8080:80/TCP")),
        (json!(["8080:80/udp"]), Ok("8080:80/UDP")),
        (json!(["127.0.0.1:8080:80"]), Ok("127.0.0.1@8080:80/TCP")),
        (json!(["127.0.0.1::80"]), Ok("80/TCP")),
        (json!(["[::1]:8080:80"]), Ok("::1@8080:80/TCP")),
        (json!(["3000-3002:4000-4002"]), Ok("3000:4000/TCP 3001:4001/TCP 3002:4002/TCP")),
        (
            json!([{"target": 80, "published": "8080", "protocol": "udp", "mode": "host", "name": "x"}]),
            Ok("8080:80/UDP"),
        ),
        (json!([{"target": 80, "host_ip": "10.0.0.1", "published": 80}]), Ok("10.0.0.1@80:80/TCP")),
        (json!(["0"]), Err("\"0\" isn't a port")),
        (json!(["a:80"]), Err("\"a:80\" isn't a port")),
        (json!(["70000:80"]), Err("\"70000:80\" isn't a port")),
        (json!(["1-3:1-2"]), Err("\"1-3:1-2\" has ranges of different lengths")),
        (json!(["1-60000:1-60000"]), Err("\"1-60000:1-60000\" isn't a range of ports")),
        (json!(["80/icmp"]), Err("\"80/icmp\" has the protocol \"icmp\"")),
        (json!([{"published": 80}]), Err("target is missing")),
        (json!([{"target": 80, "mode": "other"}]), Err("mode isn't supported")),
        (json!("80"), Err("must be a list")),
    ] {
        let found = show(ports(&written));
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{written}");
    }
    assert_eq!(show(exposed(&json!(["80", 90]))).as_deref(), Ok("80/TCP 90/TCP"));
    assert!(exposed(&json!(["80:80"])).is_err());
}

#[test]
fn fields_of_the_pod() {
    for (field, value, expected) in [
        ("network_mode", json!("host"), Ok(json!({"hostNetwork": true}))),
        ("network_mode", json!("bridge"), Ok(json!({}))),
        ("network_mode", json!("service:db"), Err("\"service:db\" isn't supported")),
        ("pid", json!("host"), Ok(json!({"hostPID": true}))),
        ("ipc", json!("host"), Ok(json!({"hostIPC": true}))),
        ("ipc", json!("shareable"), Err("\"shareable\" isn't supported")),
        ("userns_mode", json!("host"), Ok(json!({"hostUsers": true}))),
        ("hostname", json!("db"), Ok(json!({"hostname": "db"}))),
        ("hostname", json!("a.b"), Err("\"a.b\" must be lower-case letters, digits and `-`")),
        (
            "dns",
            json!("1.1.1.1"),
            Ok(json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}})),
        ),
        ("dns_search", json!(["a"]), Ok(json!({"dnsConfig": {"searches": ["a"]}}))),
        (
            "extra_hosts",
            json!(["a:10.0.0.1", "b=[::1]"]),
            Ok(json!({"hostAliases": [
                {"ip": "10.0.0.1", "hostnames": ["a"]}, {"ip": "::1", "hostnames": ["b"]},
            ]})),
        ),
        (
            "extra_hosts",
            json!({"a": "10.0.0.1"}),
            Ok(json!({"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}]})),
        ),
        ("extra_hosts", json!(["a:host-gateway"]), Err("\"host-gateway\" must be an address")),
        ("extra_hosts", json!(["a"]), Err("\"a\" must be name=address")),
    ] {
        let mut pod = Map::new();
        let found = of_pod(field, &value, &mut pod).map(|()| Value::Object(pod));
        assert_eq!(
            found.as_ref().map_err(String::as_str),
            expected.as_ref().map_err(|error| *error),
            "{field} {value}"
        );
    }
}
