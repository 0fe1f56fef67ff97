//! Lists of the runtime, one after the other, and the events of each: what upstream's `generic_test.go` knows of them
//! (`tests/upstream.md`).

use super::*;

/// A pod whose containers and sandboxes are in the states that letters say: `r` running, `x` exited, `?` unknown, `c`
/// created. Sandboxes are written in capitals: `R` ready, `X` not. None for a pod that a list doesn't have.
fn parse(text: &str) -> Option<RuntimePod> {
    let (mut containers, mut sandboxes) = (Vec::new(), Vec::new());
    for part in text.split_whitespace() {
        let (id, state) = part.split_once(':').unwrap();
        match state {
            "r" => containers.push((id, ContainerRunState::Running)),
            "x" => containers.push((id, ContainerRunState::Exited)),
            "?" => containers.push((id, ContainerRunState::Unknown)),
            "c" => containers.push((id, ContainerRunState::Created)),
            "R" => sandboxes.push((id, SandboxState::Ready)),
            "X" => sandboxes.push((id, SandboxState::NotReady)),
            other => panic!("{other}"),
        }
    }
    (!text.is_empty()).then(|| listed(&containers, &sandboxes))
}

/// The events between each list and the one before it, in order of their subjects.
fn story(lists: &[&str]) -> String {
    let mut before: Option<RuntimePod> = None;
    let lines = lists.iter().map(|list| {
        let now = parse(list);
        let mut events: Vec<String> = diff(before.as_ref(), now.as_ref())
            .iter()
            .map(|event| {
                let id = match &event.subject {
                    PlegSubject::Container(id) => id.as_str(),
                    PlegSubject::Sandbox(id) => id.as_str(),
                    PlegSubject::Pod => "pod",
                };
                let kind = match event.kind {
                    ContainerStarted => "started",
                    ContainerDied => "died",
                    ContainerRemoved => "removed",
                    ContainerChanged => "changed",
                    PlegEventKind::PodSync => "sync",
                };
                format!("{id} {kind}")
            })
            .collect();
        events.sort();
        before = now;
        events.join(", ")
    });
    lines.collect::<Vec<_>>().join(" | ")
}

#[test]
fn lists_become_events() {
    let cases: [(&str, &[&str], &str); 9] = [
        ("the first list tells of everything", &["c1:x c2:r c3:?"], "c1 died, c2 started, c3 changed"),
        ("the same list again tells nothing", &["c1:x c2:r", "c1:x c2:r"], "c1 died, c2 started | "),
        (
            "containers go, end and start",
            &["c1:x c2:r c3:?", "c2:x c3:r"],
            "c1 died, c2 started, c3 changed | c1 removed, c2 died, c3 started",
        ),
        ("one takes another's place", &["c1:x", "c4:r"], "c1 died | c1 removed, c4 started"),
        (
            "running containers vanish: they died and are gone",
            &["c1:r c2:r c3:x", "c1:r"],
            "c1 started, c2 started, c3 died | c2 died, c2 removed, c3 removed",
        ),
        (
            "a pod vanishes with all that it had",
            &["c1:r s1:R", ""],
            "c1 started, s1 started | c1 died, c1 removed, s1 died, s1 removed",
        ),
        (
            "an ended pod vanishes without dying again",
            &["c1:x s1:X", ""],
            "c1 died, s1 died | c1 removed, s1 removed",
        ),
        (
            "sandboxes are reported like containers",
            &["s1:X s2:R", "s1:X s2:R", "s2:X s3:R"],
            "s1 died, s2 started |  | s1 removed, s2 died, s3 started",
        ),
        (
            // A check that fails leaves the old record: its list is left out here as it is there.
            "what came and went while the pod could not be checked is never reported",
            &["s1:R", "s1:R"],
            "s1 started | ",
        ),
    ];
    for (name, lists, expected) in cases {
        assert_eq!(story(lists), expected, "{name}");
    }
}
