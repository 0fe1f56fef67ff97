//! What is shown of answers.

use serde_json::json;
use witlet_wasm::plugin::CallError;

use super::*;

#[test]
fn an_answer_has_what_its_kind_has_and_nothing_else() {
    let response = |kind, text: &str| PluginResponse::new(kind, text);
    let shortage = Shortage { resource: "cpu".to_owned(), requested: 3, used: 2, capacity: 4 };
    let cases = [
        (Ok(response(ResponseKind::Admit, "")), json!({"kind": "admit"})),
        (
            Ok(PluginResponse { reason: "No".to_owned(), ..response(ResponseKind::Reject, "because") }),
            json!({"kind": "reject", "reason": "No", "message": "because"}),
        ),
        (
            Ok(PluginResponse { shortages: vec![shortage], ..response(ResponseKind::Shortage, "") }),
            json!({"kind": "shortage", "resources": [{"resource": "cpu", "requested": 3, "used": 2, "capacity": 4}]}),
        ),
        (
            Ok(PluginResponse {
                manifests: vec!["{}".to_owned()],
                cursor: Some("7".to_owned()),
                milliseconds: Some(500),
                ..response(ResponseKind::Pods, "")
            }),
            json!({"kind": "pods", "manifests": ["{}"], "cursor": "7", "retryAfterMilliseconds": 500}),
        ),
        (
            Ok(response(ResponseKind::ParametersRefused, "port")),
            json!({"kind": "parametersRefused", "message": "port"}),
        ),
        (Ok(response(ResponseKind::Done, "")), json!({"kind": "ok"})),
    ];
    for (answered, expected) in cases {
        let answer = CaseAnswer::new(&answered);
        assert_eq!(serde_json::to_value(&answer).expect("it has a JSON form"), expected);
        assert_eq!(answer.words, in_words(&answered));
    }
    let failed = CaseAnswer::new(&Err(CallError::Busy));
    assert_eq!((failed.kind, failed.message), ("failed", Some(CallError::Busy.sentence())));
}
