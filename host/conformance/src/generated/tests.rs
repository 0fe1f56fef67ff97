//! The search finds, shrinks and repeats itself.

use super::*;

/// The last pod that failed, and all that were judged.
async fn run(seed: u64, count: u32, fails: impl Fn(&Draft) -> bool) -> (Option<Draft>, Vec<Draft>) {
    let (mut smallest, mut tried) = (None, Vec::new());
    let found = search(seed, count, async |draft| {
        tried.push(draft.clone());
        fails(draft).then(|| {
            smallest = Some(draft.clone());
            Finding::new("", "", "")
        })
    });
    assert_eq!(found.await.is_some(), smallest.is_some());
    (smallest, tried)
}

fn has(draft: &Draft, pointer: &str) -> bool {
    draft.0.iter().any(|(other, _)| other == pointer)
}

#[tokio::test]
async fn the_smallest_pod_that_fails_is_found() {
    let (found, _) = run(1, 64, |draft| has(draft, "/spec/priority")).await;
    let found = found.expect("one has a priority");
    assert!(found.0.len() == 1 && has(&found, "/spec/priority"), "{found:?}");
    let (_, tried) = run(1, 64, |_| true).await;
    assert!(tried.len() <= SHRINK_STEPS_MAX + 1, "{}", tried.len());
}

#[tokio::test]
async fn a_seed_gives_the_same_pods_again_and_another_one_others() {
    let pods = async |seed| run(seed, 10, |_| false).await.1;
    assert_eq!(pods(3).await, pods(3).await);
    assert_ne!(pods(3).await, pods(4).await);
    assert_eq!(pods(3).await.len(), 10);
}

#[test]
fn every_field_of_the_table_is_one_of_a_pod() {
    let Fields { pod, container } = Fields::read();
    assert!(pod.len() > 10 && container.len() > 5);
    let of_container =
        container.into_iter().map(|(pointer, values)| (format!("{}{pointer}", CONTAINERS[0]), values));
    for (pointer, values) in pod.into_iter().chain(of_container) {
        for value in values {
            let draft = Draft(vec![(pointer.clone(), value.clone())]);
            let pod = serde_json::to_value(draft.pod()).expect("JSON");
            let is_empty = value.as_object().is_some_and(|fields| fields.is_empty());
            assert!(pod.pointer(&pointer) == Some(&value) || is_empty, "{pointer} {pod}");
        }
    }
}

#[test]
fn null_takes_away_and_nothing_is_put_behind_an_array_s_end() {
    let mut json = json!({"a": {"b": 1}, "list": [{}]});
    put(&mut json, "/a/b", Value::Null);
    put(&mut json, "/a/c/d", json!(2));
    put(&mut json, "/list/0/e", json!(3));
    put(&mut json, "/list/1/e", json!(4));
    assert_eq!(json, json!({"a": {"c": {"d": 2}}, "list": [{"e": 3}]}));
}
