//! Which files become cases, and what is said of the others.

use expect_test::expect;

use super::*;

/// Roles of the files that this one becomes, or the error with its causes.
fn taken(name: &str, text: &str) -> Result<Vec<Role>, String> {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("the test's folder is writable");
    match case_files(&[path], "policy.wasm", Timestamp::UNIX_EPOCH) {
        Ok(files) => Ok(files.iter().map(CaseFile::role).collect()),
        Err(error) => {
            let words = witlet_core::error::one_line(&error);
            Err(words.replace(&folder.path().display().to_string(), ""))
        }
    }
}

const POD: &str =
    "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: 'app:1'}]}}\n";

#[test]
fn manifests_become_cases_of_their_pods() {
    assert_eq!(taken("pod.yaml", POD), Ok(vec![Role::Admission]));
    assert_eq!(taken("pods.yaml", &[POD, POD].join("---\n")), Ok(vec![Role::Admission]));
    let deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: app, image: 'app:1'}]}}}}";
    assert_eq!(taken("deployment.yaml", deployment), Ok(vec![Role::Admission]));
    let list = format!("{{apiVersion: v1, kind: List, items: [{POD}, {POD}]}}");
    assert_eq!(taken("list.yaml", &list), Ok(vec![Role::Admission]));
}

#[test]
fn what_is_no_request_says_why() {
    let said = |name: &str, text: &str| taken(name, text).expect_err("it is none");
    let cases = "{apiVersion: witlet.dev/v1alpha1, kind: PluginCases, role: admission, cases: [{name: a}]}";
    let texts = [
        said("typo.yaml", &POD.replace("image:", "imag:")),
        said("half.yaml", &format!("{POD}---\nkind: [\n")),
        said("service.yaml", "{apiVersion: v1, kind: Service, metadata: {name: web}}"),
        said("cases.yaml", cases),
        said("list.txt", "- a\n- b\n"),
    ];
    expect![[r#"
        /typo.yaml: document 1 (line 1): pod "web": spec.containers[0].imag: unknown field
        /half.yaml: document 2 (line 3): line 3, column 7: unclosed bracket '['
        /service.yaml: kind: must be "PluginCases", found "Service": `witlet plugin eval` asks admission handlers about manifests
        /cases.yaml: case "a": cases[0]: missing field `expect`
        /list.txt: the file: a case file has the fields apiVersion, kind, role and cases
    "#]]
    .assert_eq(&texts.map(|text| text + "\n").concat());
}
