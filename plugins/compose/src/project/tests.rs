//! Files as projects, taken whole or not at all.

use expect_test::{Expect, expect};

use super::*;

pub(crate) fn config() -> Config {
    Config {
        folder: Some("/compose".into()),
        host_folder: Some("/etc/compose".into()),
        namespace: Some("edge".to_owned()),
        variables: [("TAG".to_owned(), "1.2".to_owned())].into(),
        volumes: [("data".to_owned(), PathBuf::from("/srv/data"))].into(),
        ..Config::default()
    }
}

fn check(text: &str, expected: Expect) {
    let shown = match pods(text, Path::new("/compose/shop/compose.yaml"), &config()) {
        Ok(pods) => pods.iter().map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect::<Vec<_>>(),
        Err(problems) => problems,
    };
    expected.assert_eq(&shown.join("\n"));
}

#[test]
fn each_service_is_a_pod_of_the_project() {
    check(
        "services: {web: {image: a}, db: {image: b}}",
        expect![[r#"
        edge/shop-db
        edge/shop-web"#]],
    );
    check("name: other\nservices: {web: {image: a}}", expect!["edge/other-web"]);
    check("services: {web: {image: a, container_name: front}}", expect!["edge/front"]);
    let config = Config { namespace: None, ..config() };
    let found = pods("services: {web: {image: a}}", Path::new("/compose/blog.yml"), &config).ok();
    let found = found.map(|pods| format!("{}/{}", pods[0].namespace, pods[0].name));
    assert_eq!(found.as_deref(), Some("blog/blog-web"), "a project has a namespace of its own");
}

#[test]
fn what_cannot_be_mapped_is_refused_by_name_and_the_whole_file_with_it() {
    check(
        "networks: {back: {}}\nsecrets: {}\nvolumes: {data: {driver: nfs}, x: }\nx-own: {a: b}\nservices:\n  web: {image: a}\n  db: {image: b, depends_on: [web], build: ., links: []}\n  Bad_name: {image: c}\n  none: {}",
        expect![[r#"
            networks isn't supported
            volumes.data: its options aren't supported
            service Bad_name: "shop-Bad_name" can't be a pod's name: lower-case letters, digits and `-`
            service db: build isn't supported
            service db: depends_on isn't supported
            service none: image is missing"#]],
    );
    check("services: {web: {image: 'a:${MISSING}'}}", expect!["the variable MISSING isn't set"]);
    check("services: []", expect!["has no services"]);
    check("a", expect!["is no compose file"]);
    check("name: A B\nservices: {}", expect![[r#"name: "A B" must be lower-case letters, digits and `-`"#]]);
    check("services: {}", expect![""]);
    let many: String = (0..=SERVICES_MAX).map(|n| format!("  s{n}: {{image: a}}\n")).collect();
    check(&format!("services:\n{many}"), expect!["has more than 200 services"]);
    assert!(pods("a: [", Path::new("/compose/a.yaml"), &config()).is_err());
    assert!(pods("a: 1\na: 2", Path::new("/compose/a.yaml"), &config()).is_err());
}

#[test]
fn anchors_and_merges_are_read() {
    check(
        "x-base: &base {image: a, restart: always}\nservices:\n  web:\n    <<: *base\n  db: *base\n",
        expect![[r#"
            edge/shop-db
            edge/shop-web"#]],
    );
}
