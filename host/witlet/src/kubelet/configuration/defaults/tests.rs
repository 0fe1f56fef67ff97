//! What is shown of a configuration.

use std::path::Path;

use super::super::Configuration;
use super::*;

const HEAD: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

fn shown(rest: &str) -> Value {
    let file = Configuration::read(Path::new("/etc/config.yaml"), &format!("{HEAD}{rest}")).expect("it fits");
    defaulted(&file.document())
}

#[test]
fn what_is_shown_is_a_configuration_that_reads_back_as_itself() {
    let whole = shown("");
    let again =
        Configuration::read(Path::new("/configz"), &whole.to_string()).expect("every default is of its kind");
    assert!(again.oddities().is_empty(), "{:?}", again.oddities());
    assert_eq!(defaulted(&again.document()), whole);
}

#[test]
fn what_is_set_stands_and_what_follows_from_it_too() {
    let whole = shown(
        "maxPods: 7\nauthentication: {webhook: {enabled: false}}\nevictionHard: {memory.available: 1Gi}",
    );
    assert_eq!((&whole["maxPods"], &whole["kind"]), (&json!(7), &json!("KubeletConfiguration")));
    assert_eq!(whole["authentication"]["webhook"], json!({"enabled": false, "cacheTTL": "2m0s"}));
    assert_eq!(whole["evictionHard"], json!({"memory.available": "1Gi"}));
    assert_eq!(
        (&whole["nodeStatusReportFrequency"], &whole["serializeImagePulls"]),
        (&json!("5m0s"), &json!(true))
    );
    let whole = shown("nodeStatusUpdateFrequency: 20s\nmaxParallelImagePulls: 3");
    assert_eq!(
        (&whole["nodeStatusReportFrequency"], &whole["serializeImagePulls"]),
        (&json!("20s"), &json!(false))
    );
}

#[test]
fn a_flush_frequency_of_zero_is_shown_as_the_default() {
    for (given, expected) in
        [("0", json!("5s")), ("0s", json!("5s")), ("10s", json!("10s")), ("1000000000", json!(1_000_000_000))]
    {
        let whole = shown(&format!("logging: {{flushFrequency: {given}}}"));
        assert_eq!(whole["logging"]["flushFrequency"], expected, "{given}");
    }
}
