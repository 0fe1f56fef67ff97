//! Other notations stand for the same number, everywhere in a pod, and nowhere else.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use proptest::prelude::*;
use serde_json::json;
use witlet_core::pod::quantity;

use super::*;

#[test]
fn quantities_have_other_notations() {
    let cases: &[(&str, &[&str])] = &[
        ("500m", &["0.5"]),
        ("0.5", &["500m"]),
        ("1", &["1e0", "1000m"]),
        ("0", &[]),
        ("0k", &["0"]),
        ("-1", &["-1e0", "-1000m"]),
        ("2G", &["1953125Ki", "2000000000", "2000000000e0", "2000000000000m"]),
        ("1.0000000001", &[]),
        ("many", &[]),
        ("", &[]),
        ("1x", &[]),
    ];
    for (text, others) in cases {
        assert_eq!(notations(text), *others, "{text}");
    }
    let gibibyte = notations("1Gi");
    for other in ["1073741824", "1073741824e0", "1073741824000m"] {
        assert!(gibibyte.contains(&other.to_owned()), "{other} isn't among {gibibyte:?}");
    }
    assert!(notations("1024Mi").contains(&"1Gi".to_owned()));
}

proptest! {
    #[test]
    fn a_notation_is_the_same_number(number in 0_u64..1_000_000, fraction in "(\\.[0-9]{1,3})?", suffix in "(m|k|M|Ki|Mi|Gi)?") {
        let text = format!("{number}{fraction}{suffix}");
        let exact = parse(&text).expect("a quantity");
        for other in notations(&text) {
            let parsed = parse(&other).expect("a quantity");
            prop_assert_eq!(exact.compare(&parsed), Ordering::Equal, "{} and {}", text, other);
            prop_assert_eq!(quantity::milli(&Quantity(other)), quantity::milli(&Quantity(text.clone())));
        }
    }
}

#[test]
fn all_places_with_quantities_are_rewritten_and_nothing_else() {
    let resources =
        json!({"requests": {"cpu": "500m"}, "limits": {"memory": "1Ki"}, "claims": [{"name": "500m"}]});
    let pod = json!({
        "metadata": {"labels": {"requests": "500m"}, "annotations": {"limits": "1Gi"}},
        "spec": {
            "nodeSelector": {"limits": "500m"},
            "overhead": {"cpu": "250m"},
            "resources": {"requests": {"cpu": "1"}},
            "containers": [{"image": "500m", "resources": resources,
                "env": [{"name": "A", "value": "500m", "valueFrom": {"resourceFieldRef": {"divisor": "1"}}}]}],
            "initContainers": [{"resources": resources}],
            "volumes": [{"emptyDir": {"sizeLimit": "1Ki"}}],
        },
        "status": {"containerStatuses": [{"allocatedResources": {"cpu": "500m"}, "image": "1Gi"}]},
    });
    let other = rewritten(&pod, 0).expect("it has quantities");
    let resources =
        json!({"requests": {"cpu": "0.5"}, "limits": {"memory": "1024"}, "claims": [{"name": "500m"}]});
    let expected = json!({
        "metadata": {"labels": {"requests": "500m"}, "annotations": {"limits": "1Gi"}},
        "spec": {
            "nodeSelector": {"limits": "500m"},
            "overhead": {"cpu": "0.25"},
            "resources": {"requests": {"cpu": "1e0"}},
            "containers": [{"image": "500m", "resources": resources,
                "env": [{"name": "A", "value": "500m", "valueFrom": {"resourceFieldRef": {"divisor": "1e0"}}}]}],
            "initContainers": [{"resources": resources}],
            "volumes": [{"emptyDir": {"sizeLimit": "1024"}}],
        },
        "status": {"containerStatuses": [{"allocatedResources": {"cpu": "0.5"}, "image": "1Gi"}]},
    });
    assert_eq!(other, expected);
    assert_eq!(rewritten(&json!({"metadata": {"name": "a"}, "spec": {"containers": []}}), 0), None);
}
