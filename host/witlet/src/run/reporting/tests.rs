//! What is shown of a source that can't be read.

use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};
use witlet_core::node::conditions::UnreadSource;
use witlet_core::node::plugin_set::{Choice, PluginSets, SetPolicy, SetReport};
use witlet_testkit::{ManualClock, MemoryStateStore};

use super::*;

struct Agent;

impl AgentView for Agent {
    fn pods(&self) -> Vec<Arc<Pod>> {
        Vec::new()
    }

    fn events(&self) -> Vec<RecordedEvent> {
        Vec::new()
    }

    fn node(&self) -> Arc<Node> {
        Arc::new(Node::default())
    }

    fn unhealthy(&self) -> Vec<String> {
        Vec::new()
    }

    fn stats(&self) -> AgentStats {
        AgentStats { events_handled: 7, ..AgentStats::default() }
    }
}

/// Plugins with these problems; none are configured where there are none.
#[derive(Default)]
struct Plugins(Mutex<Option<Vec<String>>>);

impl PluginProblems for Plugins {
    fn problems(&self) -> Option<Vec<String>> {
        self.0.lock().expect("no test panics while it holds this").clone()
    }
}

#[tokio::test(start_paused = true)]
async fn plugins_that_are_not_loaded_are_shown_with_the_node() {
    let plugins = Arc::new(Plugins::default());
    let state = Arc::new(ReportedState::new(Arc::new(MemoryStateStore::default())));
    let clock = Arc::new(ManualClock::new());
    let view = Reporting::new(Arc::new(Agent), Arc::default(), state, plugins.clone(), clock);
    assert_eq!(*view.node(), Node::default(), "nothing is shown where none are configured");
    for (problems, status, reason, message) in [
        (vec![], "True", "PluginsLoaded", "all configured plugins are loaded"),
        (vec!["a".to_owned(), "b".to_owned()], "False", "PluginsNotLoaded", "a; b"),
    ] {
        *plugins.0.lock().expect("no test panics while it holds this") = Some(problems);
        let node = view.node();
        let shown = conditions::of_type(&node, conditions::PLUGINS_READY).expect("it is shown");
        assert_eq!(
            (shown.status.as_str(), shown.reason.as_deref(), shown.message.as_deref()),
            (status, Some(reason), Some(message))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_cannot_be_read_is_shown_with_the_node_and_in_numbers_until_it_can() {
    let clock = ManualClock::new();
    let health = Arc::new(SourceHealth::default());
    let state = Arc::new(ReportedState::new(Arc::new(MemoryStateStore::default())));
    let view = Reporting::new(
        Arc::new(Agent),
        health.clone(),
        state,
        Arc::new(Plugins::default()),
        Arc::new(clock.clone()),
    );
    assert_eq!(*view.node(), Node::default());
    let since: Timestamp = clock.now() - SignedDuration::from_secs(90);
    health.unread(UnreadSource { source: "api".to_owned(), since, error: "no".to_owned() });
    let node = view.node();
    let shown = conditions::of_type(&node, conditions::SOURCE_UNREADABLE).expect("it is reported");
    assert_eq!((shown.status.as_str(), shown.reason.as_deref()), ("True", Some("SourceUnreadable")));
    assert_eq!(
        shown.message.as_deref(),
        Some(format!("pods of source \"api\" have been unreadable since {since}: no").as_str())
    );
    let stats = view.stats();
    assert_eq!(stats.events_handled, 7);
    assert_eq!(stats.unread_sources.get("api"), Some(&Duration::from_secs(90)));
    assert!(health.read("api") && !health.read("api"));
    assert_eq!(*view.node(), Node::default());
    assert!(view.stats().unread_sources.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_set_of_plugins_is_shown_where_the_operator_allows_sets() {
    let state = Arc::new(ReportedState::new(Arc::new(MemoryStateStore::default())));
    let clock = Arc::new(ManualClock::new());
    let plugins = Arc::new(Plugins::default());
    let view = Reporting::new(Arc::new(Agent), Arc::default(), state, plugins, clock);
    let set = Arc::new(ShownSet::default());
    let view = view.with_set(Some(set.clone()));
    assert_eq!(SetReport::of(&view.node()), SetReport::default());
    let reference = format!("oci://a.example.com/b@sha256:{}", "0".repeat(64));
    let policy = SetPolicy { repositories: vec!["a.example.com/*".to_owned()], ..SetPolicy::default() };
    let mut sets = PluginSets::new("node", policy, Some(&reference));
    sets.choose(&Choice::Set("nonsense".to_owned()), Duration::ZERO);
    set.set(&sets);
    let report = SetReport::of(&view.node());
    assert_eq!((report.running.as_ref(), &report), (Some(&reference), &sets.report()));
    assert!(report.message.is_some());
}
