//! What each endpoint answers on each port with each switch.

use super::super::access::Certificate;
use super::*;

/// A path, and the codes that it is refused with: on the guarded port, there without debugging handlers, on the read-only port, on
/// that of health, and with all single switches off. 0 is none.
const REFUSALS: &[(&str, [u16; 5])] = &[
    ("/healthz", [0, 0, 0, 0, 0]),
    ("/pods", [0, 0, 0, 404, 0]),
    ("/metrics", [0, 0, 0, 404, 0]),
    ("/stats/summary", [0, 0, 0, 404, 0]),
    ("/configz", [0, 404, 404, 404, 0]),
    ("/flagz", [0, 404, 404, 404, 404]),
    ("/statusz", [0, 404, 404, 404, 404]),
    ("/debug/flags/v", [0, 404, 404, 404, 405]),
    ("/runningpods/", [0, 405, 405, 404, 0]),
    ("/containerLogs/ns/web/app", [0, 405, 405, 404, 0]),
    ("/exec/ns/web/app", [0, 405, 405, 404, 0]),
    ("/run/ns/web/app", [0, 405, 405, 404, 0]),
    ("/logs/", [0, 405, 405, 404, 405]),
    ("/debug/pprof/", [0, 405, 405, 404, 405]),
    ("/checkpoint/ns/web/app", [0, 404, 404, 404, 404]),
];

#[test]
fn each_port_and_switch_has_its_endpoints() {
    let guarded = ServerPort::Guarded(Certificate::None);
    let on = ServerOptions::default();
    let no_debugging = ServerOptions { debugging_handlers: false, ..on.clone() };
    let off = ServerOptions {
        switches: EndpointSwitches {
            flagz: false,
            statusz: false,
            debug_flags: false,
            system_logs: false,
            system_log_query: true,
            profiling: false,
            checkpoint: false,
        },
        ..on.clone()
    };
    for (path, expected) in REFUSALS {
        let route = Route::of(path).unwrap();
        let code =
            |options, port| refusal(options, port, &route).map_or(0, |answer| answer.status().as_u16());
        let found = [
            code(&on, &guarded),
            code(&no_debugging, &guarded),
            code(&on, &ServerPort::ReadOnly),
            code(&on, &ServerPort::Healthz),
            code(&off, &guarded),
        ];
        assert_eq!(found, *expected, "{path}");
    }
}

/// A path that leads nowhere, and the codes that it is answered with: on the guarded port, there without debugging handlers, and on the
/// read-only port; and the guarded port's words.
const UNKNOWN: &[(&str, [u16; 3], &str)] = &[
    ("/", [404, 404, 404], "404 page not found\n"),
    ("/nope", [404, 404, 404], "404 page not found\n"),
    ("/healthz/", [404, 404, 404], "404 page not found\n"),
    ("/metrics/nope", [404, 404, 404], "404 page not found\n"),
    ("/debug/flags", [404, 404, 404], "404 page not found\n"),
    ("/runs", [404, 404, 404], "404 page not found\n"),
    ("/pods/nope", [404, 404, 404], "404: Page Not Found"),
    ("/stats/container", [404, 404, 404], "404: Page Not Found"),
    ("/checkpoint/ns", [404, 404, 404], "404: Page Not Found"),
    ("/run", [404, 405, 405], "404: Page Not Found"),
    ("/exec/ns/web", [404, 405, 405], "404: Page Not Found"),
    ("/containerLogs/ns/web", [404, 405, 405], "404: Page Not Found"),
];

#[tokio::test]
async fn paths_that_lead_nowhere_are_answered_as_upstreams_do() {
    let guarded = ServerPort::Guarded(Certificate::None);
    let on = ServerOptions::default();
    let no_debugging = ServerOptions { debugging_handlers: false, ..on.clone() };
    for (path, expected, words) in UNKNOWN {
        assert_eq!(Route::of(path), None, "{path}");
        let answers = [(&on, &guarded), (&no_debugging, &guarded), (&on, &ServerPort::ReadOnly)];
        let [answer, without, read_only] = answers.map(|(options, port)| unknown(options, port, path));
        let codes = [&answer, &without, &read_only].map(|answer| answer.status().as_u16());
        assert_eq!(codes, *expected, "{path}");
        let body = axum::body::to_bytes(answer.into_body(), 1024).await.expect("it is short");
        assert_eq!(body, words.as_bytes(), "{path}");
        assert_eq!(unknown(&on, &ServerPort::Healthz, path).status().as_u16(), 404, "{path}");
    }
}
