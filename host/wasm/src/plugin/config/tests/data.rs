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
    assert_eq!(entry.data, [DataEntry { name: "allowed".to_owned(), source }]);
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
        ("{name: a, file: ''}", "plugins[0].data[0].file: no path"),
        (&many.join(", "), "plugins[0].data: 9 are more than 8"),
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
