//! What is kept of sources over a restart.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_cursor_survives_a_restart_with_the_set_that_it_belongs_to() {
    let keeps = || SourceSpec { keeps_state: true, ..spec("edge") };
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![keeps()]);
    plugins.script("edge", vec![pods(&["a", "b"]), answer(Snapshot::Unchanged, Some("c1"))]);
    let mut node = start(plugins.clone(), Arc::default());
    assert_eq!(node.sets(5).await, ["edge: a-n1 b-n1"]);
    let state = node.state.clone();
    drop(node);
    plugins.polls();
    let mut node = start(plugins.clone(), state.clone());
    assert_eq!(
        node.sets(5).await,
        ["edge: a-n1 b-n1 from before", "edge: a-n1 b-n1"],
        "the source said that nothing changed"
    );
    assert_eq!(plugins.polls(), ["0.0 c1"]);
    drop(node);
    // Another configuration's cursor is no one's, and so is one of a source that may keep nothing.
    let elsewhere = (SourceSpec { config: "{}".into(), ..keeps() }, vec![]);
    let keeps_nothing = (spec("edge"), vec!["edge: a-n1 b-n1 from before"]);
    for (other, expected) in [elsewhere, keeps_nothing] {
        plugins.install(vec![other]);
        plugins.polls();
        let mut node = start(plugins.clone(), state.clone());
        assert_eq!(node.sets(1).await, expected);
        assert_eq!(plugins.polls(), ["0.0 -", "0.5 -"], "`unchanged` since never is no answer");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_good_set_of_any_source_runs_again_after_a_restart_until_the_source_answers() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge")]);
    plugins.script("edge", vec![pods(&["a", "b"]), fault("Unavailable")]);
    let mut node = start(plugins.clone(), Arc::default());
    assert_eq!(node.sets(60).await, ["edge: a-n1 b-n1"]);
    let state = node.state.clone();
    drop(node);
    plugins.polls();
    plugins.script("edge", vec![fault("Unavailable"), fault("Unavailable"), pods(&["b", "c"])]);
    let mut node = start(plugins.clone(), state.clone());
    assert_eq!(node.sets(60).await, ["edge: a-n1 b-n1 from before", "edge: b-n1 c-n1"]);
    assert_eq!(plugins.polls()[0], "0.0 -", "the cursor is the plugin's, which may keep nothing");
    drop(node);
    // Less is allowed than before.
    let mut smaller = spec("edge");
    smaller.settings.allowance.namespaces = vec!["other".to_owned()];
    plugins.install(vec![smaller]);
    plugins.script("edge", vec![fault("Unavailable")]);
    assert_eq!(start(plugins, state).sets(60).await, ["edge:  from before"], "nothing of it may run now");
}

#[tokio::test(start_paused = true)]
async fn what_a_source_had_is_forgotten_with_the_source() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge")]);
    plugins.script("edge", vec![pods(&["a"])]);
    let mut node = start(plugins.clone(), Arc::default());
    assert_eq!(node.sets(5).await, ["edge: a-n1"]);
    plugins.install(vec![]);
    assert_eq!(node.sets(5).await, [""; 0]);
    let state = node.state.clone();
    drop(node);
    plugins.script("edge", vec![fault("Unavailable")]);
    plugins.install(vec![spec("edge")]);
    assert_eq!(start(plugins.clone(), state).sets(60).await, [""; 0], "its pods have ended");
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_too_large_to_be_kept_leaves_no_older_one_behind() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge")]);
    // Each control character becomes six.
    let large = |n: usize| {
        manifest(&format!("p{n}"))
            .replace("{apiVersion", &format!("# {}\n{{apiVersion", "\t".repeat(1 << 20)))
    };
    let sets = vec![pods(&["a"]), answer(Snapshot::Pods((0..9).map(large).collect()), None)];
    plugins.script("edge", sets);
    let mut node = start(plugins.clone(), Arc::default());
    assert_eq!(node.sets(60).await.len(), 2);
    let sizes: Vec<usize> = lock(&node.state.0).values().map(Vec::len).collect();
    assert_eq!(sizes, [0]);
    let state = node.state.clone();
    drop(node);
    plugins.script("edge", vec![fault("Unavailable")]);
    assert_eq!(start(plugins, state).sets(60).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_source_whose_set_always_changes_is_kept_once_a_second() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge")]);
    let often = |name: String| {
        let snapshot = Snapshot::Pods(vec![manifest(&name)]);
        Polled::Answer(PollResponse { snapshot, cursor: None, next_poll: Some(Duration::ZERO) })
    };
    plugins.script("edge", (0..200).map(|n| often(format!("p{n}"))).collect());
    let mut node = start(plugins.clone(), Arc::default());
    assert!(node.sets(10).await.len() > 90);
    let saves = *lock(&node.state.1);
    assert!((9..=12).contains(&saves), "{saves} in ten seconds");
    let state = node.state.clone();
    node.sets(20).await;
    drop(node);
    plugins.script("edge", vec![fault("Unavailable")]);
    let restored = start(plugins, state).sets(5).await;
    assert_eq!(restored, ["edge: p199-n1 from before"], "the newest is kept");
}
