//! The source: every `*.json` file of a folder is a pod.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use witlet_plugin_sdk::source::{Poll, Snapshot, SourceError};

use crate::Config;

/// Faults of this role.
pub(crate) const FAULTS: &[&str] = &[
    "empty-on-error",
    "skips-what-it-cannot-read",
    "trap-on-a-broken-file",
    "trap-without-folder",
    "reads-files-of-any-size",
    "follows-any-name",
    "unchanged-at-first",
    "unchanged-for-any-cursor",
    "pods-twice",
    "no-pod-at-all",
    "no-pods-for-empty",
    "first-two-as-listed",
    "cursor-grows",
    "time-in-manifests",
    "counts-polls",
    "error-without-reason",
    "source-leaks-per-call",
    "source-recurses",
];

/// How large a manifest may be.
const FILE_BYTES_MAX: u64 = 1 << 20;

thread_local! {
    static POLLS: Cell<u64> = const { Cell::new(0) };
    static HOARD: std::cell::RefCell<Vec<Vec<u8>>> = const { std::cell::RefCell::new(Vec::new()) };
}

pub(crate) fn poll(cursor: Option<&str>, config: &Config) -> Result<Poll, SourceError> {
    let polls = POLLS.replace(POLLS.get() + 1);
    let fault = config.fault();
    match (fault, cursor) {
        ("unchanged-at-first", None) => return Ok(Poll::unchanged()),
        ("unchanged-for-any-cursor", Some(cursor)) => return Ok(Poll::unchanged().with_cursor(cursor)),
        ("source-leaks-per-call", _) => HOARD.with_borrow_mut(|hoard| hoard.push(vec![1; 32 << 10])),
        _ => {}
    }
    let read = read_all(Path::new(&config.folder), fault);
    let mut pods = match read {
        Ok(pods) => pods,
        Err(_) if fault == "empty-on-error" => return Ok(Poll::all(Vec::new())),
        Err(error) if fault == "error-without-reason" => {
            return Err(SourceError { reason: String::new(), ..error });
        }
        Err(error) => return Err(error),
    };
    spoil(&mut pods, fault, polls);
    let now = hash(&pods);
    if fault == "no-pods-for-empty" && pods.is_empty() {
        return Ok(Poll { snapshot: Snapshot::Pods(Vec::new()), cursor: None, next_poll_milliseconds: None });
    }
    if fault == "cursor-grows" {
        let grown = format!("{}{now},", cursor.unwrap_or_default());
        return Ok(Poll::all(pods).with_cursor(grown));
    }
    if cursor == Some(&now) {
        return Ok(Poll::unchanged().with_cursor(now));
    }
    Ok(Poll::all(pods).with_cursor(now))
}

/// What makes another set of what was found.
#[allow(clippy::disallowed_methods, reason = "it is a fault")]
fn spoil(pods: &mut Vec<String>, fault: &str, polls: u64) {
    let annotate = |pods: &mut Vec<String>, value: u128| {
        for pod in pods.iter_mut() {
            if let Ok(mut decoded) = serde_json::from_str::<Value>(pod) {
                decoded["metadata"]["annotations"] = serde_json::json!({ "seen": value.to_string() });
                *pod = decoded.to_string();
            }
        }
    };
    match fault {
        "pods-twice" => pods.extend(pods.clone()),
        "no-pod-at-all" => {
            pods.push(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}"#.to_owned())
        }
        "first-two-as-listed" => pods.truncate(2),
        "time-in-manifests" => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            annotate(pods, now.as_nanos());
        }
        "counts-polls" => annotate(pods, u128::from(polls)),
        _ => {}
    }
}

/// The manifests of the folder.
fn read_all(folder: &Path, fault: &str) -> Result<Vec<String>, SourceError> {
    let listed = std::fs::read_dir(folder);
    let listed = match fault {
        "trap-without-folder" => listed.expect("the folder is there"),
        _ => listed.map_err(|error| unavailable(folder, &error))?,
    };
    let mut files = Vec::new();
    for entry in listed {
        let path = entry.map_err(|error| unavailable(folder, &error))?.path();
        if is_manifest(&path, fault) {
            files.push(path);
        }
    }
    if fault != "first-two-as-listed" {
        files.sort();
    }
    let mut pods = Vec::new();
    for file in files {
        match read(&file, fault) {
            Ok(pod) => pods.push(pod),
            Err(_) if fault == "skips-what-it-cannot-read" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pods)
}

fn is_manifest(path: &Path, fault: &str) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if fault == "follows-any-name" {
        // The letter before the extension, which every name has.
        let (stem, _) = name.split_once('.').expect("every file has an extension");
        std::hint::black_box(stem.as_bytes()[stem.len() - 1]);
    }
    name.ends_with(".json") && !name.starts_with('.')
}

fn read(path: &Path, fault: &str) -> Result<String, SourceError> {
    let size = std::fs::metadata(path).map_err(|error| unavailable(path, &error))?.len();
    if size > FILE_BYTES_MAX && fault != "reads-files-of-any-size" {
        return Err(invalid(path, "is too large"));
    }
    let bytes = std::fs::read(path).map_err(|error| unavailable(path, &error))?;
    if fault == "reads-files-of-any-size" {
        // As a decoder does that makes an object of every letter.
        std::hint::black_box(bytes.iter().map(|byte| vec![*byte]).collect::<Vec<_>>());
    }
    let text = String::from_utf8(bytes).map_err(|_| invalid(path, "isn't UTF-8"))?;
    if fault == "source-recurses" {
        std::hint::black_box(depth(text.as_bytes()));
    }
    let decoded: Value = match serde_json::from_str(&text) {
        Ok(decoded) => decoded,
        Err(error) if fault == "trap-on-a-broken-file" => panic!("{error}"),
        Err(error) => return Err(invalid(path, &error.to_string())),
    };
    if decoded.get("kind").and_then(Value::as_str) != Some("Pod") {
        return Err(invalid(path, "isn't a Pod"));
    }
    Ok(text)
}

fn depth(text: &[u8]) -> usize {
    match text {
        [b'[', rest @ ..] => std::hint::black_box(depth(std::hint::black_box(rest))) + 1,
        _ => 0,
    }
}

fn hash(pods: &[String]) -> String {
    let mut hasher = DefaultHasher::new();
    pods.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn unavailable(path: &Path, error: &std::io::Error) -> SourceError {
    SourceError::new("Unavailable", format!("read {}: {error}", path.display()))
}

fn invalid(path: &Path, problem: &str) -> SourceError {
    SourceError::new("Invalid", format!("{}: {problem}", path.display()))
}
