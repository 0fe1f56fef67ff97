//! What a line has, and how many files are kept.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;
use witlet_core::admission::Operation;
use witlet_core::image::ResolvedImage;
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;

use super::*;

fn request(name: &str) -> AdmissionRequest {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some("web".to_owned()),
        uid: Some("u1".to_owned()),
        ..ObjectMeta::default()
    };
    AdmissionRequest {
        operation: Operation::Add,
        now: Timestamp::UNIX_EPOCH,
        pod: Arc::new(Pod { metadata, ..Pod::default() }),
        old_pod: None,
        image: None,
        source: SourceName::file(),
        node: Arc::new(NodeFacts::default()),
        other_pods: Arc::new([]),
    }
}

fn line(name: &str) -> DecisionLine {
    DecisionLine::new(&request(name), &Decision::Admit, None, BTreeMap::new(), Duration::from_micros(7))
}

#[test]
fn a_line_has_the_pod_and_what_was_decided() {
    let decided = |decision: &Decision| {
        let line =
            DecisionLine::new(&request("a"), decision, None, BTreeMap::new(), Duration::from_micros(7));
        let line = serde_json::to_value(line).expect("a line becomes JSON");
        [&line["decision"], &line["reason"], &line["message"]].map(Clone::clone)
    };
    let text = |text: &str| text.to_owned();
    let (reason, message) = (|| text("NoTeam"), || text("no label"));
    let retry_after = Duration::from_secs(1);
    let cases = [
        (Decision::Admit, json!(["admit", null, null])),
        (
            Decision::Reject { reason: reason(), message: message(), handler: None },
            json!(["reject", "NoTeam", "no label"]),
        ),
        (
            Decision::Defer { reason: reason(), message: message(), retry_after },
            json!(["defer", "NoTeam", "no label"]),
        ),
        (
            Decision::Preempt { victims: Vec::new(), message: message(), resource: String::new() },
            json!(["preempt", null, "no label"]),
        ),
    ];
    for (decision, expected) in cases {
        assert_eq!(json!(decided(&decision)), expected, "{decision:?}");
    }
    let expected = json!({
        "time": "1970-01-01T00:00:00Z", "namespace": "web", "name": "a", "uid": "u1", "source": "file",
        "operation": "add", "decision": "admit", "tookMicroseconds": 7,
    });
    assert_eq!(serde_json::to_value(line("a")).expect("a line becomes JSON"), expected);
    let image = ResolvedImage {
        container: "app".to_owned(),
        id: "sha256:1".to_owned(),
        digest: None,
        size_bytes: None,
        credentials: None,
    };
    let asked = AdmissionRequest {
        operation: Operation::ImageResolved,
        image: Some(Arc::new(image)),
        ..request("a")
    };
    let line = DecisionLine::new(&asked, &Decision::Admit, None, BTreeMap::new(), Duration::ZERO);
    let line = serde_json::to_value(line).expect("a line becomes JSON");
    assert_eq!(json!([line["operation"], line["container"]]), json!(["image-resolved", "app"]));
}

#[test]
fn the_newest_files_are_kept() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let folder = folder.path().join("decisions");
    for number in 0..12 {
        write(&folder, &line(&format!("pod-{number}")), 200).expect("the test's folder is writable");
    }
    let names = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(folder.join(file)).expect("it is there");
        let lines = text.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("each line is JSON");
            line["name"].as_str().unwrap_or_default().to_owned()
        });
        lines.collect()
    };
    assert_eq!(names(FILE), ["pod-10", "pod-11"], "two lines fill a file");
    assert_eq!(names(&format!("{FILE}.{}", FILES_MAX - 1)), ["pod-2", "pod-3"]);
    let count = fs::read_dir(&folder).expect("it is there").count();
    assert_eq!(count, FILES_MAX, "the oldest is gone");
}

#[test]
fn half_a_line_of_a_full_disk_spoils_no_other() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let folder = folder.path();
    write(folder, &line("first"), u64::MAX).expect("the test's folder is writable");
    let path = folder.join(FILE);
    let mut text = fs::read_to_string(&path).expect("it is there");
    text.push_str("{\"time\":\"19");
    fs::write(&path, text).expect("the test's folder is writable");
    for name in ["second", "third"] {
        write(folder, &line(name), u64::MAX).expect("the test's folder is writable");
    }
    let text = fs::read_to_string(&path).expect("it is there");
    let names: Vec<Option<String>> = text
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).ok()?;
            line["name"].as_str().map(str::to_owned)
        })
        .collect();
    let of = |name: &str| Some(name.to_owned());
    assert_eq!(names, [of("first"), None, of("second"), of("third")]);
}

#[tokio::test]
async fn nothing_is_written_unless_it_is_desired() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let log = DecisionLog::start(folder.path().to_owned());
    log.push(|| line("before"));
    log.set(true);
    log.push(|| line("desired"));
    log.set(false);
    log.push(|| line("after"));
    let path = folder.path().join(FILE);
    let text = async {
        loop {
            match fs::read_to_string(&path) {
                Ok(text) if text.ends_with('\n') => return text,
                Ok(_) | Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let text = tokio::time::timeout(Duration::from_secs(60), text).await.expect("the line is written");
    assert!(text.lines().count() == 1 && text.contains("\"desired\""), "{text}");
}
