//! Tests of who uses what, and of what is reported to whom.

use serde_json::json;

use super::*;

fn pod(uid: &str, config_maps: &[&str], secrets: &[&str]) -> Arc<Pod> {
    let env = |kind: &str, names: &[&str]| -> Vec<serde_json::Value> {
        names.iter().map(|name| json!({kind: {"name": name}})).collect()
    };
    let mut from = env("configMapRef", config_maps);
    from.extend(env("secretRef", secrets));
    let pod = json!({
        "metadata": {"name": uid, "namespace": "shop", "uid": uid},
        "spec": {"containers": [{"name": "a", "envFrom": from}]},
    });
    Arc::new(serde_json::from_value(pod).unwrap())
}

fn map(name: &str) -> ObjectName {
    ObjectName::new(Kind::ConfigMap, "shop", name)
}

fn secret(name: &str) -> ObjectName {
    ObjectName::new(Kind::Secret, "shop", name)
}

fn content(value: &str, immutable: bool) -> Object {
    let map = json!({
        "metadata": {"name": "m", "namespace": "shop", "annotations": {"last": value}, "resourceVersion": value},
        "data": {"k": value},
        "immutable": immutable,
    });
    serde_json::from_value::<ConfigMap>(map).unwrap().into()
}

fn watched(store: &Store) -> String {
    store.watched().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn uids(texts: &[&str]) -> Vec<PodUid> {
    texts.iter().map(|uid| PodUid::from(*uid)).collect()
}

#[tokio::test(start_paused = true)]
async fn objects_are_watched_from_the_first_user_until_a_while_after_the_last() {
    let (mut store, now) = (Store::default(), Instant::now());
    let one = pod("one", &["m"], &["s"]);
    assert!(store.register(&one, now));
    assert!(!store.register(&one, now), "the same once more");
    assert!(!store.register(&pod("one", &["m"], &["s"]), now), "read again");
    assert!(!store.register(&pod("two", &["m"], &[]), now), "watched already");
    assert_eq!(watched(&store), r#"configmap "shop/m" secret "shop/s""#);
    assert!(store.unregister(&PodUid::from("one"), now));
    assert!(!store.unregister(&PodUid::from("one"), now));
    assert!(store.drop_idle(now + IDLE_MAX - Duration::from_secs(1)));
    assert_eq!(watched(&store), r#"configmap "shop/m" secret "shop/s""#);
    assert!(!store.drop_idle(now + IDLE_MAX));
    assert_eq!(watched(&store), r#"configmap "shop/m""#);
    assert!(store.state_of(&secret("s")).is_none());
    // Someone comes before the while is over.
    store.unregister(&PodUid::from("two"), now);
    assert!(!store.register(&pod("three", &["m"], &[]), now));
    assert!(!store.drop_idle(now + IDLE_MAX * 2));
    assert_eq!(watched(&store), r#"configmap "shop/m""#);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_changes_uses_what_it_names_now() {
    let (mut store, now) = (Store::default(), Instant::now());
    store.register(&pod("one", &["a", "b"], &[]), now);
    assert!(store.register(&pod("one", &["b", "c"], &[]), now));
    store.drop_idle(now + IDLE_MAX);
    assert_eq!(watched(&store), r#"configmap "shop/b" configmap "shop/c""#);
}

#[tokio::test(start_paused = true)]
async fn only_changes_after_the_first_answer_are_reported_and_only_to_users() {
    let (mut store, now) = (Store::default(), Instant::now());
    store.register(&pod("one", &["m"], &[]), now);
    store.register(&pod("two", &["m", "n"], &[]), now);
    let outcome = |has_changed| ReadOutcome { is_settled: false, has_changed };
    assert_eq!(store.read(&map("m"), Some(content("1", false))), outcome(false));
    assert_eq!(store.read(&map("m"), Some(content("1", false))), outcome(false));
    assert_eq!(store.take_changed(), vec![]);
    assert_eq!(store.read(&map("m"), Some(content("2", false))), outcome(true));
    assert_eq!(store.read(&map("m"), None), outcome(true));
    assert_eq!(store.take_changed(), uids(&["one", "two"]));
    assert_eq!(store.take_changed(), vec![]);
    // Someone may have been refused before the first answer.
    store.failed(&map("n"), ObjectError::Unavailable { object: "n".to_owned(), message: "no".to_owned() });
    assert_eq!(store.read(&map("n"), None), outcome(true));
    assert_eq!(store.take_changed(), uids(&["two"]));
    assert_eq!(store.read(&map("unknown"), None), outcome(false));
    store.mark_changed(uids(&["two", "gone"]));
    store.unregister(&PodUid::from("one"), now);
    assert_eq!(store.take_changed(), uids(&["two"]));
}

#[tokio::test(start_paused = true)]
async fn what_is_known_outlives_failures() {
    let (mut store, now) = (Store::default(), Instant::now());
    store.register(&pod("one", &["m"], &[]), now);
    let error = || ObjectError::Refused { object: "m".to_owned(), message: "no".to_owned() };
    store.failed(&map("m"), error());
    assert!(store.state_of(&map("m")) == Some(ObjectState::Failed(error())));
    store.read(&map("m"), Some(content("1", false)));
    store.failed(&map("m"), error());
    assert!(store.state_of(&map("m")) == Some(ObjectState::Read(Some(content("1", false)))));
}

#[tokio::test(start_paused = true)]
async fn immutable_objects_are_watched_until_they_were_read() {
    let (mut store, now) = (Store::default(), Instant::now());
    store.register(&pod("one", &["m"], &[]), now);
    assert!(store.read(&map("m"), Some(content("1", true))).is_settled);
    assert_eq!(watched(&store), "");
    assert!(store.state_of(&map("m")) == Some(ObjectState::Read(Some(content("1", true)))));
}

#[test]
fn of_the_metadata_only_the_name_is_kept() {
    let Object::ConfigMap(map) = content("1", false) else { panic!("a config map") };
    let kept = serde_json::to_value(&map.metadata).unwrap();
    assert_eq!(kept, json!({"name": "m", "namespace": "shop"}));
}

#[test]
fn a_secret_that_was_made_again_under_its_name_is_another() {
    let made = |uid: &str| {
        let metadata = json!({"name": "s", "namespace": "shop", "uid": uid, "annotations": {"a": "b"}});
        Object::from(serde_json::from_value::<Secret>(json!({"metadata": metadata})).unwrap())
    };
    let (first, second) = (made("1"), made("2"));
    assert!(first != second, "records of pulls tell them apart");
    let Object::Secret(secret) = first else { panic!("a secret") };
    assert_eq!(secret.metadata.uid.as_deref(), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn there_is_a_bound() {
    let (mut store, now) = (Store::default(), Instant::now());
    let names: Vec<String> = (0..=OBJECTS_MAX).map(|n| format!("m{n:06}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    store.register(&pod("greedy", &names, &[]), now);
    assert_eq!(store.watched().count(), OBJECTS_MAX);
    assert!(store.state_of(&map(names[OBJECTS_MAX])).is_none());
    store.unregister(&PodUid::from("greedy"), now);
    assert!(!store.drop_idle(now + IDLE_MAX));
    assert_eq!(store.watched().count(), 0);
}
