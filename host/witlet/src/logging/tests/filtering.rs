//! klog's numbers, for all and for single files.

use tracing::level_filters::LevelFilter;
use tracing::{Level, debug, error, info, trace, warn};
use tracing_subscriber::layer::Layer;

use super::*;
use crate::logging::filter::{shown_verbosity, threshold};
use crate::logging::vmodule::verbosity_of;

#[test]
fn every_number_asks_for_what_the_ones_before_it_do_and_for_its_own() {
    let targets = [
        "witlet_agent::pleg",
        "plugin",
        "kube_client::client",
        "kube_client::client::builder",
        "kube_runtime::watcher",
        "h2::client",
        "wasmtime",
        "mio",
    ];
    let levels = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
    let table: Vec<[Option<u32>; 5]> =
        targets.iter().map(|target| levels.map(|level| threshold(target, level))).collect();
    let always = Some(0);
    assert_eq!(
        table,
        [
            [always, always, Some(0), Some(4), Some(6)],
            [always, always, Some(0), Some(4), Some(6)],
            [None; 5],
            [always, always, Some(0), Some(6), Some(10)],
            [always, always, Some(0), Some(6), Some(10)],
            [always, always, Some(8), Some(10), None],
            [always, always, Some(8), Some(10), None],
            [always, always, Some(0), Some(8), Some(10)],
        ]
    );
    assert_eq!(shown_verbosity("h2", Level::TRACE), 10);
    assert_eq!(shown_verbosity("kube_client::client", Level::WARN), 0);
}

#[test]
fn a_span_keeps_its_keys_where_only_errors_are_asked_for() {
    let written = Written::default();
    let filter = Filter::of_directives(EnvFilter::new("error"), Arc::default());
    let subscriber = Registry::default().with(lines_to(&written, LogFormat::Text)).with(filter);
    tracing::subscriber::with_default(subscriber, || {
        let _span = tracing::error_span!("pod", pod = %"default/web").entered();
        error!("Failed");
    });
    assert!(written.text().ends_with("\"Failed\" pod=\"default/web\"\n"), "{}", written.text());
}

/// How many of five lines with this target, one at each level, a filter lets through.
macro_rules! lines_of {
    ($target:literal, $filter:expr) => {{
        let written = Written::default();
        let subscriber = Registry::default().with(lines_to(&written, LogFormat::Text)).with($filter);
        tracing::subscriber::with_default(subscriber, || {
            error!(target: $target, "line");
            warn!(target: $target, "line");
            info!(target: $target, "line");
            debug!(target: $target, "line");
            trace!(target: $target, "line");
        });
        written.text().lines().count()
    }};
}

fn files(text: &str) -> Arc<[FileVerbosity]> {
    vmodule::parse(text).expect("a list").into()
}

#[test]
fn a_number_lets_through_what_its_table_says() {
    for (verbosity, own, of_api, of_connections) in [
        (0, 3, 3, 2),
        (3, 3, 3, 2),
        (4, 4, 3, 2),
        (5, 4, 3, 2),
        (6, 5, 4, 2),
        (8, 5, 4, 3),
        (10, 5, 5, 4),
        (99, 5, 5, 4),
    ] {
        let filter = || Filter::of_verbosity(verbosity, Arc::default());
        assert_eq!(lines_of!("witlet_agent", filter()), own, "-v={verbosity}");
        assert_eq!(lines_of!("kube_client", filter()), of_api, "-v={verbosity}");
        assert_eq!(lines_of!("kube_client::client", filter()), 0, "-v={verbosity}: answers may be Secrets");
        assert_eq!(lines_of!("h2", filter()), of_connections, "-v={verbosity}");
    }
}

#[test]
fn a_file_has_the_verbosity_of_its_pattern_if_that_is_more() {
    // This file is host/witlet/src/logging/tests/filtering.rs.
    for (vmodule, expected) in [
        ("", 3),
        ("filtering=4", 4),
        ("filtering=6", 5),
        ("other=6", 3),
        ("f*g=6", 5),
        ("tests/filtering=4,filtering=6", 4),
        ("filtering.rs=6", 3),
    ] {
        assert_eq!(lines_of!("witlet_agent", Filter::of_verbosity(0, files(vmodule))), expected, "{vmodule}");
        assert_eq!(lines_of!("witlet_agent", Filter::of_verbosity(6, files(vmodule))), 5, "{vmodule}");
    }
}

#[test]
fn directives_take_the_place_of_the_number_and_file_patterns_add_to_them() {
    let filter =
        |directives: &str, vmodule| Filter::of_directives(EnvFilter::new(directives), files(vmodule));
    assert_eq!(lines_of!("witlet_agent", filter("error", "")), 1);
    assert_eq!(lines_of!("witlet_agent", filter("error,witlet_agent=debug", "")), 4);
    assert_eq!(lines_of!("witlet_agent", filter("error", "filtering=4")), 4);
    assert_eq!(lines_of!("witlet_agent", filter("off", "")), 0);
    assert_eq!(lines_of!("kube_client::client", filter("off", "filtering=10")), 0);
    assert_eq!(lines_of!("kube_client::client", filter("kube_client=warn", "")), 2);
}

#[test]
fn what_no_line_can_reach_is_not_even_asked_about() {
    let hint = |verbosity, vmodule| {
        Layer::<Registry>::max_level_hint(&Filter::of_verbosity(verbosity, files(vmodule)))
    };
    assert_eq!(hint(0, ""), Some(LevelFilter::INFO));
    assert_eq!(hint(4, ""), Some(LevelFilter::DEBUG));
    assert_eq!(hint(6, ""), Some(LevelFilter::TRACE));
    assert_eq!(hint(0, "a=1"), Some(LevelFilter::TRACE));
    let directives = Filter::of_directives(EnvFilter::new("warn"), Arc::default());
    assert_eq!(Layer::<Registry>::max_level_hint(&directives), Some(LevelFilter::WARN));
}

#[test]
fn file_patterns_are_held_against_the_name_or_the_end_of_the_path() {
    let file = "host/agent/src/event_loop/work.rs";
    for (vmodule, expected) in [
        ("work=1", Some(1)),
        ("w*=2", Some(2)),
        ("wor?=2", Some(2)),
        ("[a-z]ork=2", Some(2)),
        ("wor=2", None),
        ("[=2", None),
        ("event_loop/*=3", Some(3)),
        ("host/agent/src/event_loop/work=3", Some(3)),
        ("agent/*/event_loop/*=3", Some(3)),
        ("agent/*=3", None),
        ("/host/agent/src/event_loop/work=3", None),
        ("x=1,work=2,w*=3", Some(2)),
        // A verbosity of 0 is skipped.
        ("work=0,w*=3", Some(3)),
        ("work=0", None),
    ] {
        assert_eq!(verbosity_of(&files(vmodule), file), expected, "{vmodule}");
    }
}
