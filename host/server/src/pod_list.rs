//! A list of pods as the API has it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;
use serde_json::{Value, json};
use witlet_core::pod::PodFullName;

/// Written as it is read, because hundreds of pods are a lot.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodList {
    api_version: &'static str,
    kind: &'static str,
    metadata: Value,
    items: Vec<Arc<Pod>>,
}

impl PodList {
    pub(crate) fn new(items: Vec<Arc<Pod>>) -> Self {
        Self { api_version: "v1", kind: "PodList", metadata: json!({}), items }
    }
}

/// The same list in pieces, a pod each, which are written as they are sent.
pub(crate) fn pieces(items: Vec<Arc<Pod>>) -> impl Iterator<Item = Vec<u8>> + Send {
    let first = br#"{"apiVersion":"v1","kind":"PodList","metadata":{},"items":["#.to_vec();
    let pods = items.into_iter().enumerate().map(|(number, pod)| {
        let mut piece = if number == 0 { Vec::new() } else { b",".to_vec() };
        if let Err(error) = serde_json::to_writer(&mut piece, &*pod) {
            // Only a map whose keys are no texts can't be written, and a pod has none.
            tracing::error!(pod = %PodFullName::of(&pod), %error, "Failed to write a pod");
        }
        piece
    });
    std::iter::once(first).chain(pods).chain([b"]}".to_vec()])
}

#[cfg(test)]
mod tests {
    //! Both forms of a list.

    use super::*;

    #[test]
    fn pieces_are_together_what_is_written_at_once() {
        for count in 0..3 {
            let pod = |number: usize| {
                let mut pod = Pod::default();
                pod.metadata.name = Some(format!("\"pod\" {number}"));
                Arc::new(pod)
            };
            let pods: Vec<Arc<Pod>> = (0..count).map(pod).collect();
            let at_once = serde_json::to_string(&PodList::new(pods.clone())).unwrap();
            let all: Vec<Vec<u8>> = pieces(pods).collect();
            assert_eq!(all.len(), count + 2, "a piece is a pod");
            assert_eq!(String::from_utf8(all.concat()).unwrap(), at_once);
        }
    }
}
