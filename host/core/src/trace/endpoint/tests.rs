//! Addresses of collectors, and upstream's words on them.

use super::*;

#[test]
fn endpoints_are_those_of_grpc() {
    let tcp = |host: &str, port| Some(CollectorEndpoint::Tcp { host: host.to_owned(), port });
    let unix = |path: &str| Some(CollectorEndpoint::Unix(PathBuf::from(path)));
    let named = |name: &str| Some(CollectorEndpoint::UnixAbstract(name.to_owned()));
    let long = format!("unix:///{}", "x".repeat(SOCKET_BYTES_MAX));
    let cases = [
        (DEFAULT, tcp("localhost", 4317)),
        ("collector.tracing.svc:4317", tcp("collector.tracing.svc", 4317)),
        ("collector", tcp("collector", 443)),
        (":4317", tcp("localhost", 4317)),
        ("192.0.2.1:4317", tcp("192.0.2.1", 4317)),
        ("[::1]:4317", tcp("::1", 4317)),
        ("[::1]", tcp("::1", 443)),
        ("dns:collector:4317", tcp("collector", 4317)),
        ("dns:/collector:4317", tcp("collector", 4317)),
        ("dns:///collector:4317", tcp("collector", 4317)),
        ("dns:///collector", tcp("collector", 443)),
        ("dns:///[2001:db8::1]:4317", tcp("2001:db8::1", 4317)),
        ("dns://192.0.2.53/collector:4317", tcp("collector", 4317)),
        ("dns://google.com:4317", tcp("google.com", 4317)),
        ("unix:///run/otel.sock", unix("/run/otel.sock")),
        ("unix:/run/otel.sock", unix("/run/otel.sock")),
        ("unix-abstract:/otel", named("/otel")),
        ("unix-abstract:///otel", named("/otel")),
        ("", None),
        // Upstream reads a port.
        ("unix:otel.sock", None),
        ("unix-abstract:otel", None),
        ("dns:///", None),
        ("collector:", None),
        ("collector:0", None),
        ("collector:65536", None),
        ("collector:http", None),
        ("[::1", None),
        ("[::1]4317", None),
        ("collector/path:4317", None),
        ("unix:", None),
        ("unix://", None),
        ("unix://path/to/socket", None),
        ("unix-abstract:", None),
        (&*long, None),
        ("http://localhost:4317", None),
        ("https://localhost:4317", None),
        ("//localhost:4317", None),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse().ok(), expected, "{text:?}");
        if let Some(endpoint) = expected {
            assert_eq!(endpoint.to_string().parse(), Ok(endpoint), "{text:?}");
        }
    }
    assert_eq!(DEFAULT.parse(), Ok(CollectorEndpoint::default()));
}

#[test]
fn refusals_name_the_endpoint_and_the_way_out() {
    let words = |text: &str| text.parse::<CollectorEndpoint>().expect_err("refused").to_string();
    assert_eq!(words(""), "tracing endpoint \"\" must be HOST:PORT such as localhost:4317");
    assert_eq!(
        words("unix://path/to/socket"),
        "tracing endpoint \"unix://path/to/socket\" must be unix:///PATH or unix-abstract:///NAME, with at most 107 \
         bytes and without NUL"
    );
}

#[test]
fn fields_are_validated_in_upstreams_words() {
    let unsupported = |value: &str, scheme: &str| {
        format!(
            "tracing.endpoint: Invalid value: {value:?}: unsupported scheme: {scheme}.  Options are none, dns, unix, or \
             unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md"
        )
    };
    let broken = |value: &str, why: &str| {
        format!("tracing.endpoint: Invalid value: {value:?}: parse {value:?}: {why}")
    };
    let cases: Vec<(Option<&str>, Option<i64>, Vec<String>)> = vec![
        (None, None, vec![]),
        (Some("localhost:4317"), Some(12_378), vec![]),
        (Some("dns://google.com:4317"), Some(0), vec![]),
        (Some("unix://path/to/socket"), Some(1_000_000), vec![]),
        (Some("unix:/run/otel.sock"), None, vec![]),
        (Some("unix-abstract:///otel"), None, vec![]),
        (
            Some("unix-abstract:otel"),
            None,
            vec![broken("dns://unix-abstract:otel", "invalid port \":otel\" after host")],
        ),
        (Some("UNIX:///run/otel.sock"), None, vec![]),
        (Some(""), None, vec![]),
        (
            None,
            Some(-1),
            vec!["tracing.samplingRatePerMillion: Invalid value: -1: sampling rate must be positive".to_owned()],
        ),
        (
            None,
            Some(1_000_001),
            vec![
                "tracing.samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or \
                 equal to one million"
                    .to_owned(),
            ],
        ),
        (Some("http://localhost:4317"), None, vec![unsupported("http://localhost:4317", "http")]),
        (Some("//localhost:4317"), None, vec![unsupported("//localhost:4317", "")]),
        (
            Some("dn%2s://localhost:4317"),
            None,
            vec![broken("dn%2s://localhost:4317", "first path segment in URL cannot contain colon")],
        ),
        (Some("://localhost"), None, vec![broken("://localhost", "missing protocol scheme")]),
        (Some("localhost:otel"), None, vec![broken("dns://localhost:otel", "invalid port \":otel\" after host")]),
        (Some("[::1"), None, vec![broken("dns://[::1", "missing ']' in host")]),
        (Some("a b:1"), None, vec![broken("dns://a b:1", "invalid character \" \" in host name")]),
        (Some("a\n:1"), None, vec![broken("dns://a\n:1", "net/url: invalid control character in URL")]),
        (Some("dns:///%zz"), None, vec![broken("dns:///%zz", "invalid URL escape \"%zz\"")]),
    ];
    for (endpoint, rate, expected) in cases {
        assert_eq!(validate(endpoint, rate), expected, "{endpoint:?} {rate:?}");
    }
}
