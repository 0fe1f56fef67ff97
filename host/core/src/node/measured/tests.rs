//! Tables of what is in use.

use super::*;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn left(capacity: u64, available: u64) -> Option<Left> {
    Some(Left { capacity, available })
}

fn readings(cpu: Option<f64>) -> NodeReadings {
    NodeReadings {
        memory: left(1000, 400),
        nodefs_bytes: left(500, 500),
        pids: left(10, 30),
        imagefs_bytes: left(7, 1),
        cpu: cpu.map(seconds),
        ..NodeReadings::default()
    }
}

fn amounts(all: &[(&str, i64)]) -> Arc<Amounts> {
    Arc::new(all.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect())
}

#[test]
fn what_is_used_is_what_is_there_less_what_is_free() {
    let first = NodeUsage::of(&readings(Some(100.0)), None);
    let all = amounts(&[("ephemeral-storage", 0), ("memory", 600), ("pid", 0)]);
    assert_eq!(first.after(Duration::ZERO), all, "one check says nothing of processors");
    let none = NodeUsage::of(&NodeReadings::default(), Some((&first, seconds(10.0))));
    assert_eq!(none.after(Duration::ZERO), Arc::default(), "what can't be read isn't zero");
}

#[test]
fn processors_are_the_mean_between_two_checks() {
    let cpu = |before: Option<f64>, after: Option<f64>, elapsed: f64| {
        let before = NodeUsage::of(&readings(before), None);
        let usage = NodeUsage::of(&readings(after), Some((&before, seconds(elapsed))));
        usage.after(Duration::ZERO).get("cpu").copied()
    };
    assert_eq!(cpu(Some(100.0), Some(115.0), 10.0), Some(1500));
    assert_eq!(cpu(Some(100.0), Some(100.0), 10.0), Some(0));
    assert_eq!(cpu(Some(100.0), Some(0.5), 10.0), None, "the counter began again");
    assert_eq!(cpu(Some(100.0), Some(101.0), 0.0), None);
    assert_eq!(cpu(None, Some(101.0), 10.0), None);
    assert_eq!(cpu(Some(100.0), None, 10.0), None);
}

#[test]
fn old_figures_are_unknown() {
    let usage = NodeUsage::of(&readings(None), None);
    assert_eq!(usage.after(USAGE_AGE_MAX).get("memory"), Some(&600));
    assert_eq!(usage.after(USAGE_AGE_MAX + Duration::from_millis(1)), Arc::default());
}
