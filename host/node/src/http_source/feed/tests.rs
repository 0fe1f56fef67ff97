//! Answers one after the other, and what they lead to.

use super::*;

fn pod(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: a, image: b}}]}}\n"
    )
}

fn list(names: &[&str]) -> String {
    let item = |name: &&str| {
        format!("{{metadata: {{name: {name}}}, spec: {{containers: [{{name: a, image: b}}]}}}}")
    };
    let items: Vec<_> = names.iter().map(item).collect();
    format!("{{apiVersion: v1, kind: PodList, items: [{}]}}", items.join(", "))
}

/// What each check leads to: the names of a set that is sent, the reason of a report, `recovered`.
fn check(responses: &[(Result<&str, &str>, &str)]) {
    let mut feed = Feed::new(SourceName::http(), "N1".to_owned(), "http://h/pods".to_owned());
    for (index, (response, expected)) in responses.iter().enumerate() {
        let response = response.map(|text| text.as_bytes().to_vec()).map_err(str::to_owned);
        let Outcome { pods, report, recovered, failures: _ } = feed.observe(response);
        let names = pods.map(|pods| {
            let names: Vec<_> = pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect();
            format!("[{}]", names.join(" "))
        });
        let words = [
            names,
            report.map(|report| report.reason.as_str().to_owned()),
            recovered.then(|| "recovered".to_owned()),
        ];
        let words: Vec<_> = words.into_iter().flatten().collect();
        assert_eq!(words.join(" "), *expected, "check {index}");
    }
}

#[test]
fn a_pod_or_a_list_of_pods_is_the_full_set() {
    check(&[
        (Ok(&pod("a")), "[a-n1]"),
        (Ok(&pod("a")), ""),
        (Ok(&list(&["a", "b"])), "[a-n1 b-n1]"),
        (Ok(&list(&["b"])), "[b-n1]"),
        (Ok(&list(&[])), "[]"),
        (Ok(&list(&[])), ""),
        (Ok(&format!("# a comment\n{}", list(&[]))), ""),
        (
            Ok(
                r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"j"},"spec":{"containers":[{"name":"a","image":"b"}]}}"#,
            ),
            "[j-n1]",
        ),
    ]);
}

#[test]
fn pods_are_static_ones_of_this_node() {
    let mut feed = Feed::new(SourceName::http(), "N1".to_owned(), "http://h/pods".to_owned());
    let pods = feed.observe(Ok(pod("a").into_bytes())).pods.expect("a set");
    let annotations = pods[0].metadata.annotations.clone().unwrap_or_default();
    assert_eq!(annotations.get("kubernetes.io/config.source").map(String::as_str), Some("http"));
    assert_eq!(annotations.get("kubernetes.io/config.hash"), pods[0].metadata.uid.as_ref());
    let mut elsewhere = Feed::new(SourceName::http(), "N1".to_owned(), "http://h/other".to_owned());
    let others = elsewhere.observe(Ok(pod("a").into_bytes())).pods.expect("a set");
    assert_ne!(pods[0].metadata.uid, others[0].metadata.uid, "another place, another pod");
}

#[test]
fn failures_keep_the_last_set_and_are_reported_ever_more_seldom() {
    let bad = Ok("kind: Pod\napiVersion: v1\nspec: {contaners: []}\n");
    check(&[
        (Err("refused"), "FailedRead"),
        (Ok(&pod("a")), "[a-n1] recovered"),
        (Err("refused"), "FailedRead"),
        (Err("refused again"), "FailedRead"),
        (Err("refused"), ""),
        (Err("refused"), "FailedRead"),
        (Err("refused"), ""),
        (bad, "InvalidManifest"),
        (bad, "InvalidManifest"),
        (bad, ""),
        (Ok(&pod("a")), "recovered"),
        (Ok(" \n"), "InvalidManifest"),
        (Ok("kind: Service\napiVersion: v1\n"), "InvalidManifest"),
    ]);
}

#[test]
fn an_answer_of_no_bytes_means_no_pods_and_is_reported() {
    check(&[
        (Ok(""), "[] EmptyAnswer"),
        (Ok(""), "EmptyAnswer"),
        (Ok(&pod("a")), "[a-n1] recovered"),
        (Ok(""), "[] EmptyAnswer"),
        (Ok(&pod("a")), "[a-n1] recovered"),
    ]);
}
