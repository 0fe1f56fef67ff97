//! Handlers of the draft of contract 0.2 that are asked about admitted pods: about images of their containers.

use std::sync::Arc;

use serde_json::{Value, json};
use witlet_core::admission::{AdmissionRequest, Decision, Operation};
use witlet_core::image::{CredentialOrigin, ResolvedImage};

use crate::claims;
use crate::draft::{ask, entries, node, rich_request};

claims!(a_handler_sees_the_image_that_a_container_starts_from,);

async fn a_handler_sees_the_image_that_a_container_starts_from() {
    let (node, _secrets) = node(&entries(&["tell-resolved-image"])).await;
    let name = "tell-resolved-image";
    let told = async |image: Option<ResolvedImage>| {
        let request = AdmissionRequest {
            operation: Operation::ImageResolved,
            old_pod: None,
            image: image.map(Arc::new),
            ..rich_request(name)
        };
        match node.unsigned(name, ask(&node, request).await) {
            Decision::Reject { reason, message, .. } if reason == "Told" => {
                serde_json::from_str(&message).unwrap_or_else(|error| panic!("{error}: {message}"))
            }
            other => json!(format!("{other:?}")),
        }
    };
    let image = ResolvedImage {
        container: "side".to_owned(),
        id: "sha256:1".to_owned(),
        digest: Some("sha256:2".to_owned()),
        size_bytes: Some(7),
        credentials: Some(CredentialOrigin::Secret),
    };
    assert_eq!(
        told(Some(image)).await,
        json!({
            "container": "spec.initContainers[0]", "id": "sha256:1", "digest": "sha256:2", "size": 7,
            "credentials": "secret",
        })
    );
    let unknown = ResolvedImage {
        container: "main".to_owned(),
        id: "x".to_owned(),
        digest: None,
        size_bytes: None,
        credentials: None,
    };
    assert_eq!(
        told(Some(unknown)).await,
        json!({
            "container": "spec.containers[0]", "id": "x", "digest": null, "size": null, "credentials": null,
        })
    );
    assert_eq!(told(None).await, Value::Null, "other operations have none");
}
