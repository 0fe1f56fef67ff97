//! Tests of the reading of cargo's messages.

use expect_test::{Expect, expect};

use super::parse;

fn check(messages: &str, packages: &[&str], expected: Expect) {
    let packages: Vec<String> = packages.iter().map(|name| (*name).to_owned()).collect();
    let shown = match parse(messages, &packages) {
        Ok(artifacts) => {
            let lines =
                artifacts.iter().map(|a| format!("{} of {}: {}", a.name, a.package, a.file.display()));
            lines.collect::<Vec<_>>().join("\n")
        }
        Err(error) => format!("error: {error}"),
    };
    expected.assert_eq(&shown);
}

fn artifact(id: &str, target: &str, file: &str) -> String {
    format!(
        r#"{{"reason":"compiler-artifact","package_id":"{id}","manifest_path":"/w/Cargo.toml","target":{{"kind":["cdylib"],"name":"{target}"}},"filenames":["/t/lib{target}.rlib","{file}"],"fresh":true}}"#
    )
}

#[test]
fn components_of_the_named_packages_are_listed_by_name() {
    let messages = [
        artifact("path+file:///w/plugins/zeta#witlet-zeta@0.1.0", "zeta", "/t/zeta.wasm"),
        artifact("path+file:///w/plugins/no-latest-tag#0.1.0", "no-latest-tag", "/t/no_latest_tag.wasm"),
        r#"{"reason":"build-script-executed","package_id":"path+file:///w/plugins/zeta#witlet-zeta@0.1.0"}"#
            .to_owned(),
        r#"{"reason":"build-finished","success":true}"#.to_owned(),
    ];
    check(
        &messages.join("\n"),
        &["witlet-zeta", "no-latest-tag"],
        expect![[r#"
            no_latest_tag of no-latest-tag: /t/no_latest_tag.wasm
            zeta of witlet-zeta: /t/zeta.wasm"#]],
    );
}

#[test]
fn a_component_of_a_dependency_is_left_out() {
    let messages = artifact("path+file:///w/plugins/other#0.1.0", "other", "/t/other.wasm");
    check(&messages, &["mine"], expect![[""]]);
}

#[test]
fn a_library_that_is_no_component_is_left_out() {
    let messages = artifact("path+file:///w/mine#0.1.0", "mine", "/t/libmine.rmeta");
    check(&messages, &["mine"], expect![[""]]);
}

#[test]
fn two_components_of_one_name_are_refused() {
    let messages = [
        artifact("path+file:///w/one#0.1.0", "same-name", "/t/one.wasm"),
        artifact("path+file:///w/two#0.1.0", "same_name", "/t/two.wasm"),
    ];
    check(
        &messages.join("\n"),
        &["one", "two"],
        expect![[r#"error: two components are called "same_name""#]],
    );
}

#[test]
fn a_line_that_is_no_message_is_an_error_with_the_line() {
    check("{\"reason\":", &["one"], expect![[r#"error: understand cargo's message "{\"reason\":""#]]);
}
