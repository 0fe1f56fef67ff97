//! Checks that fail: the old record stays, and the pod is checked again until that works (`tests/upstream.md`).

use super::*;

/// What is done.
#[derive(Clone, Copy)]
enum Act {
    /// All pods are listed.
    List,
    /// The pod is checked without a list.
    Inspect,
}

/// What the runtime has, whether inspections of it work, what is done, and the events that follow.
type Step = (Option<(SandboxState, ContainerRunState)>, bool, Act, &'static [PlegEventKind]);

use Act::{Inspect, List};

const STARTED: &[PlegEventKind] = &[ContainerStarted, ContainerStarted];
const DIED: &[PlegEventKind] = &[ContainerDied, ContainerDied];
const VANISHED: &[PlegEventKind] = &[ContainerDied, ContainerRemoved, ContainerDied, ContainerRemoved];
const SYNC: &[PlegEventKind] = &[PodSync];

#[tokio::test]
async fn a_pod_is_checked_until_that_works_and_nothing_is_reported_twice() {
    let cases: Vec<(&str, Vec<Step>)> = vec![
        ("all works", vec![(RUNS, true, List, STARTED), (RUNS, true, List, &[])]),
        (
            "the first check fails, twice",
            vec![
                (RUNS, false, List, &[]),
                (RUNS, false, List, &[]),
                (RUNS, true, List, STARTED),
                (RUNS, true, List, &[]),
            ],
        ),
        (
            "a known pod changes, and the check fails",
            vec![
                (RUNS, true, List, STARTED),
                (ENDED, false, List, &[]),
                (ENDED, true, List, DIED),
                (ENDED, true, List, &[]),
            ],
        ),
        (
            "the change is taken back before the pod can be checked",
            vec![
                (RUNS, true, List, STARTED),
                (ENDED, false, List, &[]),
                (RUNS, true, List, SYNC),
                (RUNS, true, List, &[]),
            ],
        ),
        (
            "the pod goes before it can be checked",
            vec![
                (RUNS, true, List, STARTED),
                (ENDED, false, List, &[]),
                (None, true, List, VANISHED),
                (None, true, List, &[]),
            ],
        ),
        (
            "a pod that was never checked goes",
            vec![(RUNS, false, List, &[]), (None, true, List, &[]), (RUNS, true, List, STARTED)],
        ),
        (
            "a check on demand fails",
            vec![
                (RUNS, true, List, STARTED),
                (RUNS, false, Inspect, &[]),
                (RUNS, true, List, SYNC),
                (RUNS, true, List, &[]),
            ],
        ),
        (
            "a check on demand makes up for one that failed",
            vec![(RUNS, false, List, &[]), (RUNS, true, Inspect, STARTED), (RUNS, true, List, &[])],
        ),
    ];
    for (name, steps) in cases {
        let mut bench = bench(100);
        for (index, (state, inspections_work, act, expected)) in steps.into_iter().enumerate() {
            bench.script.set(state);
            *bench.script.inspections_fail.lock().expect("no panic") = !inspections_work;
            match act {
                List => bench.pleg.relist().await,
                Inspect => bench.pleg.inspect_pods([PodUid::from("u")].into()).await,
            }
            assert_eq!(bench.kinds(), expected, "{name}: step {index}");
        }
    }
}
