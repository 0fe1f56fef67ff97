//! Which claims stand in a pod's way.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::unprepared;

fn check(claims: Value, statuses: Value) -> Option<String> {
    let pod = json!({
        "metadata": {},
        "spec": {"containers": [], "resourceClaims": claims},
        "status": {"resourceClaimStatuses": statuses},
    });
    unprepared(&serde_json::from_value::<Pod>(pod).unwrap())
}

#[test]
fn a_claim_stands_in_the_way_unless_its_template_made_nothing_of_it() {
    let gpu = json!([{"name": "gpu", "resourceClaimTemplateName": "gpus"}]);
    assert_eq!(check(json!([]), json!([])), None);
    assert_eq!(check(gpu.clone(), json!([{"name": "gpu"}])), None);
    for statuses in
        [json!([]), json!([{"name": "gpu", "resourceClaimName": "web-gpu"}]), json!([{"name": "other"}])]
    {
        let message = check(gpu.clone(), statuses).unwrap();
        assert!(message.starts_with("Failed to prepare dynamic resources: claim \"gpu\""), "{message}");
    }
    assert_eq!(unprepared(&Pod::default()), None);
}
