//! Data of entries.

use super::*;

fn with(data: &str) -> String {
    file(&format!("- {{name: a, component: a.wasm, admission: {{}}, data: [{data}]}}"))
}

#[test]
fn data_have_a_name_and_a_file() {
    let entry =
        one("- {name: a, component: a.wasm, probe: {}, data: [{name: allowed, file: ./lists/allowed.json}]}");
    let source = DataSource::File("./lists/allowed.json".into());
    let below = DataSource::File("/etc/witlet/lists/allowed.json".into());
    assert_eq!(source.below(std::path::Path::new("/etc/witlet")), below);
    assert_eq!(entry.data, [DataEntry { name: "allowed".to_owned(), source, refresh: None, max_age: None }]);
    assert_eq!(below.location(), "/etc/witlet/lists/allowed.json");
}

#[test]
fn data_that_cannot_be_are_refused() {
    let many: Vec<String> = (0..=DATA_MAX).map(|number| format!("{{name: d{number}, file: d}}")).collect();
    let cases = [
        (
            "{name: A, file: a}",
            "plugins[0].data[0].name: \"A\" must have at most 63 lower-case letters, digits and `-`, and begin and end with a letter or digit",
        ),
        (
            "{name: a, file: a}, {name: a, file: b}",
            "plugins[0].data[1].name: a is the name of other data of the entry too",
        ),
        ("{name: a, file: ''}", "plugins[0].data[0].file: must not be empty"),
        (&many.join(", "), "plugins[0].data: must have at most 8 items, found 9"),
    ];
    for (data, expected) in cases {
        assert_eq!(error(&with(data)), expected);
    }
    let entry = |number: usize| {
        format!(
            "- {{name: p{number}, component: a.wasm, admission: {{}}, data: [{}]}}\n",
            many[1..].join(", ")
        )
    };
    let entries: String = (0..=DATA_ALL_MAX / DATA_MAX).map(entry).collect();
    assert_eq!(error(&file(&entries)), "plugins: their entries have 40 data, more than 32 together");
}

#[test]
fn data_whose_source_or_times_cannot_be_are_refused() {
    let cases = [
        ("{name: a}", "plugins[0].data[0]: must have one of `file`, `url` and `oci`, found none"),
        (
            "{name: a, file: a, url: 'https://a/'}",
            "plugins[0].data[0]: must have only one of `file`, `url` and `oci`",
        ),
        (
            "{name: a, url: 'http://lists.example.com/a'}",
            "plugins[0].data[0].url: lists.example.com is another machine: write https://, only servers on this machine may use http://",
        ),
        (
            "{name: a, oci: 'oci://lists'}",
            "plugins[0].data[0].oci: \"oci://lists\": the registry is missing: expected HOST/REPOSITORY[:TAG]",
        ),
        (
            "{name: a, file: a, refresh: 1m}",
            "plugins[0].data[0].refresh: must not be set with `file`, which is checked once a second",
        ),
        (
            "{name: a, url: 'https://a/', refresh: 5s}",
            "plugins[0].data[0].refresh: must be between 10s and 168h, found 5s",
        ),
        (
            "{name: a, url: 'https://a/', maxAge: 20m}",
            "plugins[0].data[0].maxAge: 1200s is shorter than 1800s, twice `refresh`: one fetch may fail",
        ),
        (
            "{name: a, oci: 'a.example.com/a@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', refresh: 1m}",
            "plugins[0].data[0].refresh: must not be set with a digest, whose content never changes: remove one of them",
        ),
        (
            "{name: a, file: a, maxAge: 5s}",
            "plugins[0].data[0].maxAge: must be between 60s and 8760h, found 5s",
        ),
        (
            "{name: a, url: 'https://a/', sha256: abc}",
            "plugins[0].data[0].sha256: must be 64 lower-case hexadecimal digits, as sha256sum prints them",
        ),
        (
            "{name: a, url: 'https://a/', token: t}",
            "plugins[0].data[0].token: \"t\" is not in the file's `secrets`",
        ),
        (
            "{name: a, file: a, token: t}",
            "plugins[0].data[0].token: only allowed for data with `url`: remove it",
        ),
        (
            "{name: a, url: 'https://a/', pullCredentials: c}",
            "plugins[0].data[0].pullCredentials: only allowed for data with `oci`: remove it",
        ),
        (
            "{name: a, oci: a.example.com/a, caFile: c}",
            "plugins[0].data[0].caFile: only allowed for data with `url`: remove it",
        ),
    ];
    for (data, expected) in cases {
        assert_eq!(error(&with(data)), expected);
    }
}

/// SHA-256 of nothing.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn data_from_elsewhere_say_how_they_are_fetched() {
    let minutes = |minutes: u64| Some(Duration::from_secs(minutes * 60));
    let text = format!(
        "- {{name: a, component: a.wasm, probe: {{}}, data: [\
           {{name: plain, url: 'https://lists.example.com/a?sig=1'}}, \
           {{name: all, url: 'https://lists.example.com/b', refresh: 1h, maxAge: 24h, token: t, caFile: ./ca.pem}}, \
           {{name: pinned, url: 'https://lists.example.com/c', sha256: {EMPTY}}}, \
           {{name: tag, oci: 'oci://registry.example.com/lists:1', pullCredentials: auth.json}}, \
           {{name: digest, oci: 'registry.example.com/lists@sha256:{EMPTY}'}}]}}\nsecrets: [{{name: t, file: t}}]\n"
    );
    let [entry]: [PluginEntry; 1] = parse(&file(&text), Shipped::default())
        .unwrap_or_else(|error| panic!("{error}"))
        .plugins
        .try_into()
        .expect("one entry");
    let times: Vec<_> = entry.data.iter().map(|data| (data.refresh, data.max_age)).collect();
    assert_eq!(
        times,
        [
            (minutes(15), None),
            (minutes(60), minutes(24 * 60)),
            (None, None),
            (minutes(15), None),
            (None, None)
        ]
    );
    let below = |data: &DataEntry| data.source.below(std::path::Path::new("/etc/witlet"));
    let sources: Vec<DataSource> = entry.data.iter().map(below).collect();
    let locations: Vec<String> = sources.iter().map(DataSource::location).collect();
    assert_eq!(
        locations,
        [
            "https://lists.example.com/a?…".to_owned(),
            "https://lists.example.com/b".to_owned(),
            "https://lists.example.com/c".to_owned(),
            "oci://registry.example.com/lists:1".to_owned(),
            format!("oci://registry.example.com/lists@sha256:{EMPTY}"),
        ]
    );
    let DataSource::Remote(RemoteData::Url { token, authorities, .. }) = &sources[1] else {
        panic!("{sources:?}")
    };
    let path = |name: &str| Some(PathBuf::from("/etc/witlet").join(name));
    assert_eq!((token.clone(), authorities.clone()), (path("t"), path("ca.pem")));
    assert!(
        matches!(&sources[3], DataSource::Remote(RemoteData::Artifact { credentials, .. }) if *credentials == path("auth.json"))
    );
    let other = |text: &str| {
        let url = text.parse().expect("a URL");
        let remote = RemoteData::Url { url, sha256: Some(EMPTY.to_owned()), token: None, authorities: None };
        assert!(remote.takes(EMPTY) && !remote.takes("7692"));
        DataSource::Remote(remote)
    };
    let (one, two) = (other("https://a.example.com/?sig=1"), other("https://a.example.com/?sig=2"));
    assert_eq!(one.location(), two.location());
    assert_ne!(one.key(), two.key());
}
