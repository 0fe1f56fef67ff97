//! Upstream's cases (`kubelet_server_journal_test.go`), and words.

use super::*;

fn pairs(query: &str) -> Vec<(String, String)> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn query(services: &[&str], files: &[&str], options: NodeLogOptions) -> NodeLogQuery {
    NodeLogQuery { services: texts(services), files: texts(files), options }
}

fn at(time: &str) -> Option<Timestamp> {
    Some(time.parse().unwrap())
}

#[test]
fn queries_are_read_as_upstream_reads_them() {
    let none = NodeLogOptions::default;
    let cases = [
        ("", None),
        ("unknown=true", None),
        ("sinceTime=", None),
        (
            "sinceTime=2019-12-04T02:00:00Z",
            Some(query(&[], &[], NodeLogOptions { since: at("2019-12-04T02:00:00Z"), ..none() })),
        ),
        (
            "untilTime=2019-12-04T02:00:00+01:00",
            Some(query(&[], &[], NodeLogOptions { until: at("2019-12-04T01:00:00Z"), ..none() })),
        ),
        ("tailLines=100", Some(query(&[], &[], NodeLogOptions { tail_lines: Some(100), ..none() }))),
        ("pattern=foo", Some(query(&[], &[], NodeLogOptions { pattern: "foo".to_owned(), ..none() }))),
        ("boot=0", Some(query(&[], &[], NodeLogOptions { boot: Some(0), ..none() }))),
        ("boot=-23", Some(query(&[], &[], NodeLogOptions { boot: Some(-23), ..none() }))),
        ("query=foo", Some(query(&["foo"], &[], none()))),
        ("query=foo&query=bar", Some(query(&["foo", "bar"], &[], none()))),
        ("query=foo&query=/bar", Some(query(&["foo"], &["/bar"], none()))),
        ("query=/foo&query=\\bar", Some(query(&[], &["/foo", "\\bar"], none()))),
        ("query= &query=foo", Some(query(&["foo"], &[], none()))),
    ];
    for (text, expected) in cases {
        assert_eq!(NodeLogQuery::from_query(&pairs(text)), Ok(expected), "{text}");
    }
}

#[test]
fn malformed_values_are_named() {
    let time = |value| format!("sinceTime: Invalid value: \"{value}\": invalid time format");
    let number = |name, value| {
        format!("{name}: Invalid value: \"{value}\": strconv.Atoi: parsing \"{value}\": invalid syntax")
    };
    let cases = [
        ("sinceTime=2019-12-04 02:00:00", time("2019-12-04 02:00:00")),
        ("sinceTime=2019-12-04 02:00:00.000", time("2019-12-04 02:00:00.000")),
        ("sinceTime=2019-12-04 02", time("2019-12-04 02")),
        ("sinceTime=2019-12-04 02:00", time("2019-12-04 02:00")),
        ("sinceTime=2019-13-04T02:00:00Z", time("2019-13-04T02:00:00Z")),
        ("untilTime=now", "untilTime: Invalid value: \"now\": invalid time format".to_owned()),
        ("tailLines=foo", number("tailLines", "foo")),
        ("tailLines= ", number("tailLines", " ")),
        ("boot=foo", number("boot", "foo")),
        ("boot= ", number("boot", " ")),
        (
            "boot=99999999999999999999",
            "boot: Invalid value: \"99999999999999999999\": strconv.Atoi: parsing \"99999999999999999999\": value out of \
             range"
                .to_owned(),
        ),
        ("query=", "query: Invalid value: [\"\"]: query cannot be empty".to_owned()),
        ("query=   &query= ", "query: Invalid value: [\"   \",\" \"]: query cannot be empty".to_owned()),
        ("boot=a&tailLines=b", format!("[{}, {}]", number("boot", "a"), number("tailLines", "b"))),
    ];
    for (text, expected) in cases {
        let refused = NodeLogQuery::from_query(&pairs(text)).unwrap_err();
        assert_eq!(refused.to_string(), expected, "{text}");
    }
}

#[test]
fn valid_queries_lead_to_services_or_to_one_file() {
    let cases = [
        query(&["svc1"], &[], NodeLogOptions::default()),
        query(&["svc1", "svc2", "svc.foo", "svc_foo"], &[], NodeLogOptions::default()),
        query(&["svc@foo", "svc:foo"], &[], NodeLogOptions::default()),
        query(&["svc1"], &[], NodeLogOptions { since: at("2023-01-04T02:00:00Z"), ..Default::default() }),
        query(&["svc1"], &[], NodeLogOptions { until: at("2023-01-04T02:00:00Z"), ..Default::default() }),
        query(&["svc1"], &[], NodeLogOptions { boot: Some(-1), ..Default::default() }),
        query(&["svc1"], &[], NodeLogOptions { tail_lines: Some(0), ..Default::default() }),
        query(&["svc1"], &[], NodeLogOptions { tail_lines: Some(100_000), ..Default::default() }),
    ];
    for query in cases {
        assert_eq!(query.source(), Ok(NodeLogSource::Services(&query.services)), "{query:?}");
    }
    let file = query(&[], &["pods/x.log"], NodeLogOptions::default());
    assert_eq!(file.source(), Ok(NodeLogSource::File("pods/x.log")));
    let missing = file.unreadable("no such file").to_string();
    assert_eq!(missing, "query: Invalid value: [\"pods/x.log\"]: no such file");
}

#[test]
fn invalid_queries_are_refused_in_upstreams_words() {
    let since = at("2023-02-04T02:00:00Z");
    let until = at("2023-01-04T02:00:00Z");
    let unsafe_name =
        |name: &str| format!("query: Invalid value: {}: input contains unsupported characters", json!(name));
    let long = "svc1".repeat(100);
    let cases = [
        (
            query(&[], &[], NodeLogOptions { since, ..Default::default() }),
            "query: Required value: cannot be empty with options".to_owned(),
        ),
        (
            query(&["svc1"], &["/a.log"], NodeLogOptions::default()),
            "query: Invalid value: \"[/a.log], [svc1]\": cannot specify a file and service".to_owned(),
        ),
        (
            query(&[], &["/a.log", "/b.log"], NodeLogOptions::default()),
            "query: Invalid value: [\"/a.log\",\"/b.log\"]: cannot specify more than one file".to_owned(),
        ),
        (
            query(&[], &["/a.log"], NodeLogOptions { pattern: "foo".to_owned(), ..Default::default() }),
            "query: Invalid value: [\"/a.log\"]: cannot specify file with options".to_owned(),
        ),
        (
            query(&["svc1"], &[], NodeLogOptions { since, until, ..Default::default() }),
            "untilTime: Invalid value: \"2023-01-04T02:00:00Z\": must be after `sinceTime`".to_owned(),
        ),
        (
            query(&["svc1"], &[], NodeLogOptions { boot: Some(1), ..Default::default() }),
            "boot: Invalid value: 1: must be less than 1".to_owned(),
        ),
        (
            query(&["svc1"], &[], NodeLogOptions { tail_lines: Some(100_001), ..Default::default() }),
            "tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive".to_owned(),
        ),
        (
            query(&["svc1"], &[], NodeLogOptions { tail_lines: Some(-1), ..Default::default() }),
            "tailLines: Invalid value: -1: must be between 0 and 100000, inclusive".to_owned(),
        ),
        (query(&["svc\n"], &[], NodeLogOptions::default()), unsafe_name("svc\n")),
        (query(&["svc foo"], &[], NodeLogOptions::default()), unsafe_name("svc foo")),
        (query(&["svc$(id)"], &[], NodeLogOptions::default()), unsafe_name("svc$(id)")),
        (
            query(&[&long], &[], NodeLogOptions::default()),
            format!("query: Invalid value: \"{long}\": length must be less than 256"),
        ),
        (
            query(&["a", "b", "c", "d", "e"], &[], NodeLogOptions::default()),
            "query: Too many: 5: must have at most 4 items".to_owned(),
        ),
        (
            query(&["$", "$"], &[], NodeLogOptions { boot: Some(1), ..Default::default() }),
            format!("[{}, boot: Invalid value: 1: must be less than 1]", unsafe_name("$")),
        ),
    ];
    for (query, expected) in cases {
        assert_eq!(query.source().unwrap_err().to_string(), expected, "{query:?}");
    }
}

#[test]
fn patterns_are_those_of_go() {
    let is_valid = |pattern: &str| {
        let options = NodeLogOptions { pattern: pattern.to_owned(), ..NodeLogOptions::default() };
        query(&["svc1"], &[], options).source().is_ok()
    };
    for pattern in [
        "",
        "foo",
        "fo+|ba?r",
        "^a{2,5}$",
        "a{2}",
        "a{2,}",
        "{\"level\":\"error\"}",
        "a{,5}",
        "\\{x",
        "\\p{Greek}",
        "\\x{10FFFF}",
        "[{]",
        "(?i)oom",
    ] {
        assert!(is_valid(pattern), "{pattern}");
    }
    for pattern in ["foo\\", "(", "[", "*", "a**", "(?=a)", "\\1", "a{5,2}"] {
        // A repetition of a repetition is Perl's, and taken here.
        assert_eq!(is_valid(pattern), pattern == "a**", "{pattern}");
    }
}

#[test]
fn journalctl_gets_one_argument_for_each_wish() {
    let common = ["--utc", "--no-pager", "--output=short-precise"];
    let all = NodeLogOptions {
        since: at("2023-01-04T02:00:00.5Z"),
        until: at("2023-02-04T02:00:00+02:00"),
        tail_lines: Some(7),
        boot: Some(-1),
        pattern: "a b;c".to_owned(),
    };
    let cases: [(NodeLogOptions, &[&str], &[&str]); 3] = [
        (NodeLogOptions::default(), &[], &[]),
        (NodeLogOptions::default(), &["p1", "p2"], &["--unit=p1", "--unit=p2"]),
        (
            all,
            &["p1"],
            &[
                "--since=2023-01-04 02:00:00 UTC",
                "--until=2023-02-04 00:00:00 UTC",
                "--pager-end",
                "--lines=7",
                "--unit=p1",
                "--grep=a b;c",
                "--boot",
                "-1",
            ],
        ),
    ];
    for (options, services, expected) in cases {
        let expected: Vec<&str> = common.iter().chain(expected).copied().collect();
        assert_eq!(options.journal_arguments(&texts(services)), expected);
    }
}

#[test]
fn units_and_files_of_a_service() {
    let units = "init.scope\nxssh.service\nkubelet.service\n";
    for (service, expected) in
        [("kubelet", true), ("kubelet.service", true), ("init.scope", true), ("ssh", false), ("", false)]
    {
        assert_eq!(is_journal_unit(units, service), expected, "{service}");
    }
    assert_eq!(log_file_names("foo"), ["foo", "foo.log", "foo/foo.log"]);
}
