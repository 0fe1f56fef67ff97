//! Components that are let in by their conformance reports, and kept out without one.

use std::path::PathBuf;

use witlet_core::admission::Decision;
use witlet_wasm::attestation::{Conformance, LAYERS, SigningKey, Statement, Tested};
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::node::{Node, Setting, cache, hostile, pod};

claims!(
    a_plugin_without_a_report_is_kept_out_and_its_policy_answers_until_one_appears,
    a_report_on_other_bytes_does_not_let_them_in_by_swapping_files,
    a_new_component_without_a_report_leaves_the_old_one_running,
    a_key_that_is_taken_from_the_configuration_takes_its_plugins_along,
    a_key_file_that_is_gone_or_replaced_takes_its_plugins_along,
    a_key_that_goes_takes_along_what_runs_in_place_of_a_component_that_is_kept_out,
    another_key_s_word_for_the_same_component_is_shown,
    a_role_that_was_not_tried_is_not_let_in,
    a_report_of_failures_is_let_in_only_where_that_is_enough,
    a_shadow_needs_a_report_too,
    a_demand_that_comes_later_holds_for_what_runs,
);

const CI: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIZEkyYXsYlcllWOfZF8F777/U9QikkTEVLr7IYygXbg
-----END PRIVATE KEY-----
";
const OTHER: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIKperKQVcmgf9wrNtPfpz1b0vkF5kzwFV4RX5Rbp+mBo
-----END PRIVATE KEY-----
";
const REPORT: &str = "hostile.wasm.conformance.json";

fn key(pem: &str) -> SigningKey {
    SigningKey::from_pem(pem.as_bytes()).expect("a key")
}

fn examined(role: &str, passed: bool) -> Conformance {
    Conformance {
        kit_version: "0.1.0".to_owned(),
        roles: vec![Tested { role: role.to_owned(), version: "0.1.0".to_owned() }],
        config_digest: "0".repeat(64),
        passed,
        checks: LAYERS.map(|layer| (layer.to_owned(), Default::default())).into(),
        seed: 1,
        time: crate::node::now(),
    }
}

fn report(wasm: &[u8], conformance: Conformance, signer: &str) -> Vec<u8> {
    use sha2::Digest as _;
    let digest = hex::encode(sha2::Sha256::digest(wasm));
    Statement::new("hostile.wasm", digest, conformance).sign(&key(signer))
}

fn good() -> Vec<u8> {
    report(witlet_test_guests::HOSTILE, examined("admission", true), CI)
}

/// An entry, and what is demanded of it. A host reads them one after the other.
fn demanding(entry: &str, demand: &str) -> String {
    format!("{entry}requireConformance: {{{demand}}}\n")
}

const KEYS: &str = "keys: [ci.pub.pem, other.pub.pem]";

/// Files with the keys that reports may be signed with.
pub(crate) fn keys() -> Vec<(&'static str, Vec<u8>)> {
    let public = |pem| key(pem).public().to_pem().into_bytes();
    vec![("ci.pub.pem", public(CI)), ("other.pub.pem", public(OTHER))]
}

/// A node with the keys and these files, where every plugin was tried.
async fn node(entries: &str, files: Vec<(&'static str, Vec<u8>)>) -> Node {
    let files = keys().into_iter().chain(files).collect();
    let setting = Setting { files, ..Setting::new(crate::node::compiler(cache())) };
    let node = Node::begin(entries, setting).await.expect("the host starts");
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready()).await.expect("tried in time");
    node
}

async fn running() -> Node {
    let node = node(&demanding(&hostile("p", "reject", ""), KEYS), vec![(REPORT, good())]).await;
    assert_eq!(node.status("p").state, PluginState::Ready, "{:?}", node.status("p"));
    node
}

fn detail(node: &Node) -> String {
    node.status("p").detail.unwrap_or_default()
}

async fn until(node: &Node, state: PluginState) {
    node.until("the plugin is in that state", |node| node.status("p").state == state).await;
}

async fn a_plugin_without_a_report_is_kept_out_and_its_policy_answers_until_one_appears() {
    let entry = hostile("p", "reject", "failurePolicy: Defer");
    let node = node(&demanding(&entry, KEYS), Vec::new()).await;
    assert_eq!(node.status("p").state, PluginState::Failed);
    let reported = detail(&node);
    let path = node.folder.path().join(REPORT);
    let words =
        format!("requireConformance does not allow it: there is no conformance report at {}", path.display());
    assert!(reported.starts_with(&words) && reported.contains("witlet plugin test"), "{reported}");
    let Decision::Defer { message, .. } = node.admit(pod("web")).await else { panic!("it isn't asked") };
    assert!(message.contains("requireConformance"), "{message}");
    node.put(REPORT, good());
    until(&node, PluginState::Ready).await;
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "now it is asked");
    let conformance = node.status("p").conformance.expect("someone vouches for it");
    assert_eq!(conformance.signed_by, key(CI).public().id());
    assert_eq!(PathBuf::from(&conformance.key), node.folder.path().join("ci.pub.pem"));
    assert_eq!((conformance.kit_version.as_str(), conformance.passed), ("0.1.0", true));
    // What was shown stays shown.
    std::fs::remove_file(path).expect("it is there");
    node.host.check_inputs();
    assert_eq!(node.status("p").state, PluginState::Ready);
}

async fn a_report_on_other_bytes_does_not_let_them_in_by_swapping_files() {
    let other = report(witlet_test_guests::NO_LATEST_TAG, examined("admission", true), CI);
    let node = node(&demanding(&hostile("p", "reject", ""), KEYS), vec![(REPORT, other)]).await;
    assert!(detail(&node).contains("not about this component"), "{}", detail(&node));
    // The same name with the bytes that the report is about, and then back again.
    node.put("hostile.wasm", witlet_test_guests::NO_LATEST_TAG);
    node.until("it was checked", |node| !detail(node).contains("requireConformance")).await;
    let reported = detail(&node);
    node.put("hostile.wasm", witlet_test_guests::HOSTILE);
    node.until("it was checked again", |node| {
        let now = node.status("p");
        now.detail
            .or(now.pending)
            .is_some_and(|now| now != reported && now.contains("not about this component"))
    })
    .await;
}

async fn a_new_component_without_a_report_leaves_the_old_one_running() {
    let node = running().await;
    node.put("hostile.wasm", witlet_test_guests::NO_LATEST_TAG);
    node.until("it is refused", |node| {
        node.status("p").pending.is_some_and(|pending| pending.contains("not about this component"))
    })
    .await;
    assert_eq!(node.status("p").state, PluginState::Ready);
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "the old one is asked");
}

async fn a_key_that_is_taken_from_the_configuration_takes_its_plugins_along() {
    let node = running().await;
    let entry = hostile("p", "reject", "");
    node.configure(&crate::node::configuration(&demanding(&entry, "keys: [other.pub.pem]")));
    until(&node, PluginState::Failed).await;
    assert!(detail(&node).contains("not one of the accepted keys"), "{}", detail(&node));
    node.configure(&crate::node::configuration(&demanding(&entry, KEYS)));
    until(&node, PluginState::Ready).await;
    node.configure(&crate::node::configuration(&demanding(&entry, "keys: [ci.pub.pem], kitVersion: 0.2.0")));
    until(&node, PluginState::Failed).await;
    assert!(detail(&node).contains("must be made by kit 0.2.0 or later"), "{}", detail(&node));
}

async fn a_key_file_that_is_gone_or_replaced_takes_its_plugins_along() {
    let node = running().await;
    let path = node.folder.path().join("ci.pub.pem");
    std::fs::remove_file(&path).expect("it is there");
    node.host.check_inputs();
    until(&node, PluginState::Failed).await;
    assert!(detail(&node).contains("ci.pub.pem"), "{}", detail(&node));
    node.put("ci.pub.pem", key(CI).public().to_pem());
    until(&node, PluginState::Ready).await;
    node.put("ci.pub.pem", key(OTHER).public().to_pem());
    until(&node, PluginState::Failed).await;
    // The other one's word counts as well.
    node.put(REPORT, report(witlet_test_guests::HOSTILE, examined("admission", true), OTHER));
    until(&node, PluginState::Ready).await;
    assert_eq!(node.status("p").conformance.map(|by| by.signed_by), Some(key(OTHER).public().id()));
}

async fn a_key_that_goes_takes_along_what_runs_in_place_of_a_component_that_is_kept_out() {
    let node = running().await;
    node.put("hostile.wasm", witlet_test_guests::NO_LATEST_TAG);
    node.until("the new one is refused", |node| {
        node.status("p").pending.is_some_and(|pending| pending.contains("not about this component"))
    })
    .await;
    // The other key is none of its business.
    node.put("other.pub.pem", key(OTHER).public().to_pem());
    std::fs::remove_file(node.folder.path().join("hostile.wasm")).expect("it is there");
    node.host.check_inputs();
    assert_eq!(node.status("p").state, PluginState::Ready);
    node.put("ci.pub.pem", key(OTHER).public().to_pem());
    until(&node, PluginState::Failed).await;
}

async fn another_key_s_word_for_the_same_component_is_shown() {
    let node = running().await;
    let other = key(OTHER).public().id();
    node.put(REPORT, report(witlet_test_guests::HOSTILE, examined("admission", true), OTHER));
    node.until("the other key is shown", |node| {
        node.status("p").conformance.is_some_and(|by| by.signed_by == other)
    })
    .await;
    assert_eq!(node.status("p").state, PluginState::Ready);
}

async fn a_role_that_was_not_tried_is_not_let_in() {
    let probe = report(witlet_test_guests::HOSTILE, examined("probe", true), CI);
    let node = node(&demanding(&hostile("p", "reject", ""), KEYS), vec![(REPORT, probe)]).await;
    assert!(detail(&node).contains("was not tested as admission, only as probe"), "{}", detail(&node));
}

async fn a_report_of_failures_is_let_in_only_where_that_is_enough() {
    let failed = report(witlet_test_guests::HOSTILE, examined("admission", false), CI);
    let entry = hostile("p", "reject", "");
    let node = node(&demanding(&entry, KEYS), vec![(REPORT, failed)]).await;
    assert!(detail(&node).contains("checks of the kit failed"), "{}", detail(&node));
    node.configure(&crate::node::configuration(&demanding(&entry, &format!("{KEYS}, failed: warn"))));
    until(&node, PluginState::Ready).await;
    assert_eq!(node.status("p").conformance.map(|by| by.passed), Some(false));
}

async fn a_shadow_needs_a_report_too() {
    let entry = hostile("p", "reject", "mode: shadow");
    let node = node(&demanding(&entry, KEYS), Vec::new()).await;
    assert_eq!(node.status("p").state, PluginState::Failed);
    node.put(REPORT, good());
    until(&node, PluginState::Ready).await;
}

async fn a_demand_that_comes_later_holds_for_what_runs() {
    let entry = hostile("p", "reject", "");
    let node = node(&entry, Vec::new()).await;
    assert_eq!(node.status("p").state, PluginState::Ready);
    assert_eq!(node.status("p").conformance, None);
    node.configure(&crate::node::configuration(&demanding(&entry, KEYS)));
    until(&node, PluginState::Failed).await;
    assert!(detail(&node).contains("there is no conformance report at"), "{}", detail(&node));
    node.configure(&crate::node::configuration(&entry));
    until(&node, PluginState::Ready).await;
}
