//! Rows of pods and their order.

use expect_test::expect;

use super::*;
use crate::get::table::render;

fn item(namespace: &str, name: &str, containers: &[(&str, Option<u64>, &str)]) -> Value {
    let container = |(name, milli, memory): &(&str, Option<u64>, &str)| {
        let mut usage = json!({"memory": memory});
        if let Some(milli) = milli {
            usage["cpu"] = format!("{milli}m").into();
        }
        json!({"name": name, "usage": usage})
    };
    let containers: Vec<Value> = containers.iter().map(container).collect();
    json!({"metadata": {"namespace": namespace, "name": name}, "containers": containers})
}

fn items() -> Vec<Value> {
    vec![
        item("default", "web", &[("app", Some(200), "10Mi"), ("sidecar", Some(50), "90Mi")]),
        item("default", "new", &[("app", None, "1Mi")]),
        item("kube-system", "etcd", &[("etcd", Some(240), "300Mi")]),
    ]
}

fn names_by(order: PodOrder) -> Vec<String> {
    let mut items = items();
    sort(&mut items, order);
    items.iter().map(|item| name(item).1).collect()
}

#[test]
fn the_largest_come_first_and_the_unknown_last() {
    assert_eq!(names_by(PodOrder::Cpu), ["web", "etcd", "new"]);
    assert_eq!(names_by(PodOrder::Memory), ["etcd", "web", "new"]);
    assert_eq!(names_by(PodOrder::Name), ["new", "web", "etcd"]);
}

#[test]
fn a_row_is_a_pods_or_a_containers() {
    let shown = |by_container| {
        let (header, rows) = table(&items(), by_container);
        render(&header, &rows)
    };
    expect![[r#"
        NAMESPACE     NAME   CPU(cores)   MEMORY(bytes)
        default       web    250m         100Mi
        default       new    <unknown>    1Mi
        kube-system   etcd   240m         300Mi
    "#]]
    .assert_eq(&shown(false));
    expect![[r#"
        NAMESPACE     NAME   CONTAINER   CPU(cores)   MEMORY(bytes)
        default       web    app         200m         10Mi
        default       web    sidecar     50m          90Mi
        default       new    app         <unknown>    1Mi
        kube-system   etcd   etcd        240m         300Mi
    "#]]
    .assert_eq(&shown(true));
}
