//! Every persistent write, cut at every moment: the agent is killed before it or after it, the disk is full, the clock jumps.
//! Nothing is lost or done twice.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_testkit::FakeNode;

use crate::support::{ends_after, left, node, pass, pod_with_uid, status};

/// What goes wrong at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// The agent is killed, and the write isn't on disk.
    Before,
    /// The agent is killed, and the write is on disk.
    After,
    /// The disk is full for a while.
    Full,
    /// The clock is set forward by an hour and the agent is killed.
    Forward,
    /// The clock is set back by an hour and the agent is killed.
    Back,
}

fn one(name: &str, fields: serde_json::Value) -> Vec<Pod> {
    let mut spec = json!({"containers": [{"name": "app", "image": "sleeper:1"}]});
    for (key, value) in fields.as_object().expect("fields") {
        spec[key] = value.clone();
    }
    vec![pod_with_uid(name, &format!("uid-{name}"), spec)]
}

/// Lets time pass; where the cut comes, it does what it does.
async fn pass_with(node: &mut FakeNode, seconds: u32, cut: Option<Cut>) {
    for _ in 0..seconds * 10 {
        pass(0.1).await;
        if !node.state.take_cut() {
            continue;
        }
        match cut {
            Some(Cut::Forward) => node.clock.jump(3600),
            Some(Cut::Back) => node.clock.jump(-3600),
            Some(Cut::Full) => node.state.set_full(true),
            Some(Cut::Before | Cut::After) | None => {}
        }
        node.kill();
        pass(1.0).await;
        node.start();
        if cut == Some(Cut::Full) {
            pass(5.0).await;
            node.state.set_full(false);
        }
    }
}

/// A story with all that is written: admissions, ends, ids, allocations, and what is forgotten. Says how it came out, and how
/// many writes there were.
async fn story(at: Option<(usize, Cut)>) -> (String, usize) {
    let mut node = node();
    ends_after(&node, "job:1", 3, 2);
    if let Some((number, cut)) = at {
        node.state.cut_write(number, cut == Cut::After);
    }
    let cut = at.map(|(_, cut)| cut);
    node.start();
    node.source.put("web", one("web", json!({})));
    node.source.put("gone", one("gone", json!({})));
    let job = json!({"restartPolicy": "Never", "containers": [{"name": "app", "image": "job:1"}]});
    node.source.put("job", one("job", job));
    pass_with(&mut node, 10, cut).await;
    node.source.put("own", one("own", json!({"hostUsers": false})));
    pass_with(&mut node, 10, cut).await;
    node.source.remove("gone");
    pass_with(&mut node, 15, cut).await;
    node.source.put("late", one("late", json!({"hostUsers": false})));
    pass_with(&mut node, 20, cut).await;
    let writes = node.state.all_saves();
    // Whatever was written is what the next agent begins with.
    node.kill();
    node.start();
    pass(60.0).await;
    let ids = |name: &str| {
        let config = node.runtime.sandbox_spec(&format!("{name}-node1")).expect("it was made");
        config.user_namespace.expect("it has ids of its own").uids[0].host_id
    };
    let mut reported = vec![format!("ids differ: {}", ids("own") != ids("late"))];
    reported.extend(["web", "gone", "job", "own", "late"].map(|name| {
        let starts = node.runtime.starts().iter().filter(|start| start.uid == format!("uid-{name}")).count();
        format!("{name}: {}, started {starts} times", status(&node, name))
    }));
    reported.push(format!("left of the one that is gone: {}", left(&node).await.contains("uid-gone")));
    (reported.join("\n"), writes)
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_or_done_twice_wherever_a_write_is_cut() {
    let (expected, writes) = story(None).await;
    expect_test::expect![[r#"
        ids differ: true
        web: Running app: running, 0 restarts, started 1 times
        gone: not shown, started 1 times
        job: Failed app: ended 3, 0 restarts, started 1 times
        own: Running app: running, 0 restarts, started 1 times
        late: Running app: running, 0 restarts, started 1 times
        left of the one that is gone: false"#]]
    .assert_eq(&expected);
    assert!(writes > 8, "{writes}");
    for number in 0..writes {
        for cut in [Cut::Before, Cut::After, Cut::Full, Cut::Forward, Cut::Back] {
            let (outcome, _) = story(Some((number, cut))).await;
            assert_eq!(outcome, expected, "write {number} of {writes}, {cut:?}");
        }
    }
}

/// Twenty pods of all kinds start at once, some end, some are removed. Says which of them came out otherwise than they should, and
/// how many writes there were.
async fn twenty_pods(at: Option<(usize, Cut)>) -> (Vec<String>, usize) {
    let mut node = node();
    ends_after(&node, "job:1", 3, 2);
    if let Some((number, cut)) = at {
        node.state.cut_write(number, cut == Cut::After);
    }
    let cut = at.map(|(_, cut)| cut);
    node.start();
    let names: Vec<String> = (0..20).map(|number| format!("pod{number}")).collect();
    let spec = |number: usize| match number % 4 {
        0 => json!({"restartPolicy": "Never", "containers": [{"name": "app", "image": "job:1"}]}),
        1 => json!({"hostUsers": false}),
        _ => json!({}),
    };
    let pods = names.iter().enumerate().flat_map(|(number, name)| one(name, spec(number)));
    node.source.put("all", pods.collect());
    pass_with(&mut node, 6, cut).await;
    let kept = names.iter().enumerate().filter(|(number, _)| number % 5 != 4);
    let pods = kept.flat_map(|(number, name)| one(name, spec(number)));
    node.source.put("all", pods.collect());
    pass_with(&mut node, 12, cut).await;
    let writes = node.state.all_saves();
    node.kill();
    node.start();
    pass(15.0).await;
    let left = left(&node).await;
    let wrong = names.iter().enumerate().filter_map(|(number, name)| {
        let starts = node.runtime.starts().iter().filter(|start| start.uid == format!("uid-{name}")).count();
        let expected = match (number % 5, number % 4) {
            (4, _) => "not shown",
            (_, 0) => "Failed app: ended 3, 0 restarts",
            _ => "Running app: running, 0 restarts",
        };
        let is_of_pod = |line: &str| {
            line.ends_with(&format!("folder uid-{name}")) || line.contains(&format!("runtime {name}-node1 "))
        };
        let is_left = number % 5 == 4 && left.lines().any(is_of_pod);
        let status = status(&node, name);
        let is_right = status == expected && starts == 1 && !is_left;
        (!is_right).then(|| format!("{name}: {status}, started {starts} times, left: {is_left}"))
    });
    (wrong.collect(), writes)
}

#[tokio::test(start_paused = true)]
async fn a_kill_at_any_checkpoint_of_twenty_pods_restarts_doubles_and_loses_nothing() {
    let (wrong, writes) = twenty_pods(None).await;
    assert_eq!(wrong, Vec::<String>::new());
    assert!(writes >= 20, "{writes}");
    for number in 0..writes {
        for cut in [Cut::Before, Cut::After] {
            let (wrong, _) = twenty_pods(Some((number, cut))).await;
            assert_eq!(wrong, Vec::<String>::new(), "write {number} of {writes}, {cut:?}");
        }
    }
}
