//! Paths that lead somewhere, and paths that do not.

use super::*;

fn app<'a>(uid: Option<&'a str>, container: &'a str) -> Target<'a> {
    Target { namespace: "ns", pod: "web", uid, container }
}

#[test]
fn paths_lead_where_upstreams_do() {
    let cases = [
        ("/healthz", Some(Route::Healthz(None))),
        ("/healthz/ping", Some(Route::Healthz(Some("ping")))),
        ("/pods", Some(Route::Pods)),
        ("/pods/", Some(Route::Pods)),
        ("/runningpods/", Some(Route::RunningPods)),
        ("/configz", Some(Route::Configz)),
        ("/metrics", Some(Route::Metrics)),
        ("/metrics/probes", Some(Route::ProbeMetrics)),
        ("/metrics/slis", Some(Route::Slis)),
        ("/metrics/resource", Some(Route::ResourceMetrics)),
        ("/metrics/cadvisor", Some(Route::CadvisorMetrics)),
        ("/stats/summary", Some(Route::StatsSummary)),
        ("/stats/summary/", Some(Route::StatsSummary)),
        ("/flagz", Some(Route::Flagz)),
        ("/statusz", Some(Route::Statusz)),
        ("/debug/flags/v", Some(Route::DebugFlags)),
        ("/logs", Some(Route::Logs(""))),
        ("/logs/", Some(Route::Logs("/"))),
        ("/logs/pods/%2e%2e/x", Some(Route::Logs("/pods/%2e%2e/x"))),
        ("/debug/pprof", Some(Route::Profiles(""))),
        ("/debug/pprof/heap", Some(Route::Profiles("/heap"))),
        ("/checkpoint/ns/web/app", Some(Route::Checkpoint(app(None, "app")))),
        ("/containerLogs/ns/web/app", Some(Route::ContainerLogs(app(None, "app")))),
        ("/exec/ns/web/app", Some(Route::Exec(app(None, "app")))),
        ("/exec/ns/web/u-1/app", Some(Route::Exec(app(Some("u-1"), "app")))),
        ("/attach/ns/web/u-1/app", Some(Route::Attach(app(Some("u-1"), "app")))),
        ("/run/ns/web/app", Some(Route::Run(app(None, "app")))),
        ("/portForward/ns/web", Some(Route::PortForward(app(None, "")))),
        ("/exec/ns/web/app/", Some(Route::Exec(app(None, "app")))),
        ("/portForward/ns/web/", Some(Route::PortForward(app(None, "")))),
        ("/portForward/ns/web/u-1", Some(Route::PortForward(app(Some("u-1"), "")))),
    ];
    for (path, expected) in cases {
        assert_eq!(Route::of(path), expected, "{path}");
    }
}

#[test]
fn other_paths_lead_nowhere() {
    for path in [
        "",
        "/",
        "//pods",
        "/pods/x",
        "/Pods",
        "/%70ods",
        "/./pods",
        "/metrics/cadvisor/",
        "/metrics/resource/x",
        "/stats",
        "/stats/summary/x",
        "/healthz/",
        "/metrics/",
        "/configz/",
        "/flagz/",
        "/logsx",
        "/checkpoint/ns/web",
        "/checkpoint/ns/web/",
        "/checkpoint/ns/web/u-1/app",
        "/statusz/x",
        "/debug",
        "/debug/flags",
        "/debug/flags/v/",
        "/debug/flags/vmodule",
        "/exec",
        "/exec/ns/web",
        "/exec/ns/web/",
        "/exec//web/app",
        "/exec/ns/web//app",
        "/exec/ns/web/u-1/app/more",
        "/containerLogs/ns/web/u-1/app",
        "/portForward/ns",
        "/portForward/ns/",
    ] {
        assert_eq!(Route::of(path), None, "{path}");
    }
}

#[test]
fn only_what_upstream_declares_a_media_type_for_depends_on_accept() {
    let json = Some("application/json");
    let cases = [
        ("", None),
        ("*/*", None),
        ("*/*;q=0.1", None),
        ("application/json", None),
        ("text/html, application/json;q=0.5", None),
        ("text/plain,*/*", None),
        ("text/plain", json),
        ("application/yaml", json),
        ("application/*", json),
        ("Application/JSON", json),
        ("text/plain,", json),
    ];
    for (accept, expected) in cases {
        for path in ["/pods", "/runningpods/", "/stats/summary", "/checkpoint/ns/web/app"] {
            assert_eq!(Route::of(path).unwrap().not_acceptable(accept), expected, "{path}: {accept}");
        }
        for path in ["/metrics", "/configz", "/flagz", "/exec/ns/web/app", "/run/ns/web/app", "/logs/"] {
            assert_eq!(Route::of(path).unwrap().not_acceptable(accept), None, "{path}: {accept}");
        }
    }
}
