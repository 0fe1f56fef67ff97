//! Rows of usage, from what the local API answers.

use serde_json::json;

use super::*;

#[test]
fn a_row_sums_the_containers_as_kubectl_top_does() {
    let row = |usages: &[Value]| {
        let containers: Vec<Value> =
            usages.iter().map(|usage| json!({"name": "app", "usage": usage})).collect();
        row(&json!({"metadata": {"namespace": "shop", "name": "web"}, "containers": containers}))[2..]
            .join(" ")
    };
    let cases = [
        ("250m 10Mi", vec![json!({"cpu": "250000000n", "memory": "10Mi"})]),
        ("1m 0Mi", vec![json!({"cpu": "1n", "memory": "1020Ki"})]),
        ("0m 1Mi", vec![json!({"cpu": "0n", "memory": "1025Ki"})]),
        (
            "3500m 3Mi",
            vec![
                json!({"cpu": "3000000000n", "memory": "2Mi"}),
                json!({"cpu": "500000000n", "memory": "1Mi"}),
            ],
        ),
        ("<unknown> 3Mi", vec![json!({"cpu": "1000000n", "memory": "2Mi"}), json!({"memory": "1Mi"})]),
        ("<unknown> <unknown>", vec![json!({})]),
    ];
    for (expected, usages) in cases {
        assert_eq!(row(&usages), expected, "{usages:?}");
    }
}
