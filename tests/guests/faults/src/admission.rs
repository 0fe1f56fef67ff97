//! The handler: pods need a label, and may not ask for too much CPU.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::Value;
use witlet_plugin_sdk::{Error, Operation, Pod, Rejection, Request, Shortage, Verdict, amount_of, log};

use crate::Config;

/// Faults of this role.
pub(crate) const FAULTS: &[&str] = &[
    "counts-calls",
    "tires-after-a-hundred-calls",
    "keeps-the-time",
    "keeps-the-first-namespace",
    "caches-by-name",
    "draws-lots",
    "follows-its-hash-map",
    "takes-the-first-fact",
    "trap-without-labels",
    "trap-without-spec",
    "trap-without-containers",
    "misreads-milli-cpu",
    "misreads-memory",
    "cuts-inside-a-letter",
    "port-as-u16",
    "hoards-a-huge-pod",
    "recurses-with-the-pod",
    "compares-all-labels",
    "negative-is-impossible",
    "empty-reason",
    "sentence-for-a-reason",
    "empty-message",
    "megabyte-message",
    "empty-shortage",
    "nameless-shortage",
    "leaks-per-call",
    "slow-to-start",
    "slow-to-answer",
    "sleeps",
    "floods-the-log",
    "error-for-a-resize",
];

const HOUR: Duration = Duration::from_secs(3600);
/// Turns of a loop that no machine makes in the time that a handler has for a call.
const TOO_MANY_TURNS: u64 = u64::MAX;
const GIGABYTE: i128 = 1_000_000_000;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static FIRST_SECOND: Cell<Option<i64>> = const { Cell::new(None) };
    static FIRST_NAMESPACE: RefCell<Option<String>> = const { RefCell::new(None) };
    static CACHE: RefCell<HashMap<String, bool>> = RefCell::new(HashMap::new());
    static HOARD: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn admit(request: &Request<'_>, config: &Config) -> Result<Verdict, Error> {
    let calls = CALLS.replace(CALLS.get() + 1);
    let pod = request.pod();
    falls(&pod, config.fault());
    dawdles(&pod, config.fault(), calls);
    if let Some(verdict) = malformed(config.fault()) {
        return Ok(verdict);
    }
    if let Some(no) = forgetless(request, &pod, config.fault(), calls) {
        return Ok(if no { reject("NotNow", "not this time") } else { Verdict::Admit });
    }
    match config.fault() {
        "misreads-milli-cpu" => return Ok(judge_cpu(misread_milli_cpu(&pod), 2000)),
        "misreads-memory" => return Ok(judge_memory(misread_memory(&pod))),
        "error-for-a-resize" if request.operation() == Operation::Resize => panic!("no one resizes here"),
        _ => {}
    }
    Ok(keep(request, &pod, config))
}

/// What the plugin is for.
fn keep(request: &Request<'_>, pod: &Pod, config: &Config) -> Verdict {
    if request.operation() == Operation::Resize {
        return Verdict::Admit;
    }
    let asked = amount_of(&pod.requests(), "cpu");
    let max = config.milli_cpu_max().unwrap_or(i64::MAX);
    if asked > max {
        return judge_cpu(asked, max);
    }
    if pod.label(&config.label).is_none() {
        log::write(log::Level::Debug, "a pod without the label", &[("label", &config.label)]);
        return reject("NoTeam", format!("the pod has no label {:?}", config.label));
    }
    Verdict::Admit
}

fn judge_cpu(asked: i64, max: i64) -> Verdict {
    if asked > max { reject("TooMuchCpu", format!("{asked}m are more than {max}m")) } else { Verdict::Admit }
}

fn judge_memory(asked: i128) -> Verdict {
    if asked > GIGABYTE { reject("TooMuchMemory", "a gigabyte is enough") } else { Verdict::Admit }
}

fn reject(reason: &str, message: impl Into<String>) -> Verdict {
    Verdict::reject(reason, message)
}

/// What can't cope with some pods.
fn falls(pod: &Pod, fault: &str) {
    match fault {
        "trap-without-labels" => _ = pod.labels().first().expect("every pod has labels"),
        "trap-without-spec" => _ = pod.pointer("/spec/containers").expect("every pod has a spec"),
        "trap-without-containers" => _ = pod.containers().first().expect("every pod has a container"),
        "cuts-inside-a-letter" => {
            for (_, value) in pod.labels().iter().chain(&pod.annotations()) {
                std::hint::black_box(&value[..value.len().min(16)]);
            }
        }
        "port-as-u16" => {
            for port in numbers(pod, "containerPort").chain(numbers(pod, "hostPort")) {
                std::hint::black_box(u16::try_from(port).expect("ports have 16 bits"));
            }
        }
        "negative-is-impossible" => {
            for quantity in pod.requests() {
                std::hint::black_box(
                    u64::try_from(quantity.amount).expect("no one asks for less than nothing"),
                );
            }
        }
        "recurses-with-the-pod" => {
            for (_, value) in pod.annotations() {
                std::hint::black_box(depth(value.as_bytes()));
            }
        }
        "hoards-a-huge-pod" => {
            // As a decoder does that makes an object of every letter.
            std::hint::black_box(vec![1_u8; pod.json().len() * 20]);
        }
        _ => {}
    }
}

/// What takes too long, or too much.
#[allow(clippy::disallowed_methods, reason = "it is a fault")]
fn dawdles(pod: &Pod, fault: &str, calls: u64) {
    match fault {
        "compares-all-labels" => {
            let labels = pod.labels();
            let same = labels.iter().flat_map(|one| labels.iter().filter(move |other| one.1 == other.1));
            std::hint::black_box(same.count());
        }
        // The clock stands still, so that turns are counted.
        "slow-to-start" if calls == 0 => work(),
        "slow-to-answer" => work(),
        "sleeps" => std::thread::sleep(Duration::from_millis(5)),
        "leaks-per-call" => HOARD.with_borrow_mut(|hoard| hoard.push(vec![1; 16 << 10])),
        "floods-the-log" => {
            for number in 0..500 {
                log::write(log::Level::Info, &format!("line {number}"), &[]);
            }
        }
        _ => {}
    }
}

fn work() {
    for turn in 0..TOO_MANY_TURNS {
        std::hint::black_box(turn);
    }
}

/// Verdicts that the contract doesn't have.
fn malformed(fault: &str) -> Option<Verdict> {
    let shortage =
        |resource: &str| Shortage { resource: resource.to_owned(), requested: 2, used: 1, capacity: 1 };
    match fault {
        "empty-reason" => Some(reject("", "no reason")),
        "sentence-for-a-reason" => Some(reject("not a word", "a sentence")),
        "empty-message" => Some(reject("NoMessage", "")),
        "megabyte-message" => {
            Some(Verdict::Reject(Rejection { reason: "Long".to_owned(), message: "x".repeat(1 << 20) }))
        }
        "empty-shortage" => Some(Verdict::Shortage(Vec::new())),
        "nameless-shortage" => Some(Verdict::Shortage(vec![shortage("")])),
        _ => None,
    }
}

/// Verdicts that are a function of something else than the request: whether this one is a no.
fn forgetless(request: &Request<'_>, pod: &Pod, fault: &str, calls: u64) -> Option<bool> {
    match fault {
        "counts-calls" => Some(calls % 3 == 2),
        "tires-after-a-hundred-calls" => Some(calls >= 100),
        "keeps-the-time" => {
            let now = request.now().seconds;
            let first = FIRST_SECOND.get().unwrap_or(now);
            FIRST_SECOND.set(Some(first));
            Some(now.saturating_sub(first).unsigned_abs() >= HOUR.as_secs())
        }
        "keeps-the-first-namespace" => {
            let namespace = pod.identity().namespace;
            let first =
                FIRST_NAMESPACE.with_borrow_mut(|first| first.get_or_insert(namespace.clone()).clone());
            Some(first != namespace)
        }
        "caches-by-name" => {
            let labelled = !pod.labels().is_empty();
            Some(CACHE.with_borrow_mut(|cache| *cache.entry(pod.identity().name).or_insert(labelled)))
        }
        "draws-lots" => Some(lot().is_multiple_of(2)),
        "follows-its-hash-map" => {
            let words: HashSet<&str> = ["one", "two", "three", "four", "five", "six"].into_iter().collect();
            Some(words.iter().next().is_some_and(|first| first.contains('o')))
        }
        "takes-the-first-fact" => {
            let facts = request.node().facts();
            Some(facts.first().is_some_and(|(key, _)| key.starts_with("a.")))
        }
        _ => None,
    }
}

fn lot() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(7_u8)
}

/// All numbers under this key.
fn numbers(pod: &Pod, key: &str) -> impl Iterator<Item = i64> {
    let mut found = Vec::new();
    let whole = serde_json::from_str(&pod.json()).unwrap_or(Value::Null);
    collect(&whole, key, &mut found);
    found.into_iter()
}

fn collect(value: &Value, key: &str, found: &mut Vec<i64>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get(key).and_then(Value::as_i64));
            fields.values().for_each(|field| collect(field, key, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// How deep brackets nest, found as a parser without a limit finds it.
fn depth(text: &[u8]) -> usize {
    match text {
        [b'[', rest @ ..] => std::hint::black_box(depth(std::hint::black_box(rest))) + 1,
        _ => 0,
    }
}

/// The requests of all containers, as a reader would who has seen `500m` only.
fn misread_milli_cpu(pod: &Pod) -> i64 {
    let amounts = requested(pod, "cpu").into_iter().map(|text| match text.strip_suffix('m') {
        Some(milli) => milli.parse().unwrap_or(0),
        None => text.parse::<i64>().unwrap_or(0) * 1000,
    });
    amounts.sum()
}

/// The requests of all containers, as a reader would who takes `Gi` for `G` and knows nothing else.
fn misread_memory(pod: &Pod) -> i128 {
    let amounts = requested(pod, "memory").into_iter().map(|text| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        let times = match &text[digits.len()..] {
            "Gi" | "G" => GIGABYTE,
            "Mi" | "M" => 1_000_000,
            "Ki" | "k" => 1000,
            _ => 1,
        };
        digits.parse::<i128>().unwrap_or(0).saturating_mul(times)
    });
    amounts.sum()
}

fn requested(pod: &Pod, resource: &str) -> Vec<String> {
    let containers: Value = pod
        .pointer("/spec/containers")
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or(Value::Null);
    let of = |container: &Value| {
        let amount = container.pointer(&format!("/resources/requests/{resource}"))?;
        amount.as_str().map(str::to_owned)
    };
    containers.as_array().into_iter().flatten().filter_map(of).collect()
}
