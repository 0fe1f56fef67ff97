//! Tests of what is kept of services and classes.

use serde_json::{Value, json};

use super::*;
use crate::watch::WatchError;

fn service(namespace: &str, name: &str, ip: Value) -> Arc<Service> {
    let service = json!({
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"clusterIP": ip, "ports": [{"port": 80}]},
    });
    Arc::new(serde_json::from_value(service).unwrap())
}

fn shown(services: &Services, namespace: &str) -> Option<String> {
    let found = services.of_namespace(namespace)?;
    let mut lines: Vec<String> = found
        .iter()
        .map(|service| format!("{}/{} {}", service.namespace, service.name, service.ip))
        .collect();
    lines.sort();
    Some(lines.join(", "))
}

fn malformed(namespace: &str, name: &str) -> Malformed {
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    Malformed { key: Some(ObjectKey { namespace, name, uid: String::new() }), message: "odd".to_owned() }
}

#[test]
fn a_namespace_sees_its_own_services_and_the_masters() {
    let services = Services::default();
    assert_eq!(shown(&services, "shop"), None);
    services.observe_service(Change::Disconnected(WatchError::Broken("no".to_owned())));
    assert_eq!(shown(&services, "shop"), None);
    services.observe_service(Change::Replaced {
        objects: vec![
            service("default", "kubernetes", json!("10.0.0.1")),
            service("default", "other", json!("10.0.0.2")),
            service("shop", "db", json!("10.0.0.3")),
            service("shop", "headless", json!("None")),
        ],
        malformed: vec![],
    });
    assert_eq!(shown(&services, "shop").unwrap(), "default/kubernetes 10.0.0.1, shop/db 10.0.0.3");
    assert_eq!(shown(&services, "default").unwrap(), "default/kubernetes 10.0.0.1, default/other 10.0.0.2");
    assert_eq!(shown(&services, "empty").unwrap(), "default/kubernetes 10.0.0.1");
    services.observe_service(Change::Put(service("shop", "db", json!("10.0.0.9"))));
    services.observe_service(Change::Deleted(malformed("default", "kubernetes").key.unwrap()));
    assert_eq!(shown(&services, "shop").unwrap(), "shop/db 10.0.0.9");
    services.observe_service(Change::Malformed(malformed("shop", "db")));
    assert_eq!(shown(&services, "shop").unwrap(), "shop/db 10.0.0.9");
    services.observe_service(Change::Put(service("shop", "db", json!("None"))));
    assert_eq!(shown(&services, "shop").unwrap(), "");
}

#[test]
fn a_service_that_can_not_be_read_is_what_it_was() {
    let services = Services::default();
    services.observe_service(Change::Replaced {
        objects: vec![service("shop", "db", json!("10.0.0.3")), service("shop", "gone", json!("10.0.0.4"))],
        malformed: vec![],
    });
    services.observe_service(Change::Replaced {
        objects: vec![],
        malformed: vec![
            malformed("shop", "db"),
            malformed("shop", "new"),
            Malformed { key: None, message: String::new() },
        ],
    });
    assert_eq!(shown(&services, "shop").unwrap(), "shop/db 10.0.0.3");
}

#[test]
fn handlers_are_known_by_the_names_of_classes() {
    let services = Services::default();
    let class = |name: &str, handler: &str| -> Arc<RuntimeClass> {
        Arc::new(serde_json::from_value(json!({"metadata": {"name": name}, "handler": handler})).unwrap())
    };
    let shown = || services.runtime_classes().map(|classes| format!("{classes:?}"));
    assert_eq!(shown(), None);
    services.observe_class(Change::Put(class("early", "x")));
    assert_eq!(shown(), None);
    services.observe_class(Change::Replaced {
        objects: vec![class("a", "runc"), class("b", "kata")],
        malformed: vec![],
    });
    services.observe_class(Change::Put(class("a", "gvisor")));
    services.observe_class(Change::Deleted(malformed("", "b").key.unwrap()));
    assert_eq!(shown().unwrap(), r#"{"a": "gvisor"}"#);
    services.observe_class(Change::Replaced {
        objects: vec![class("c", "runc")],
        malformed: vec![malformed("", "a")],
    });
    assert_eq!(shown().unwrap(), r#"{"a": "gvisor", "c": "runc"}"#);
}
