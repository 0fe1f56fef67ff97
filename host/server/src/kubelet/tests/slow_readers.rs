//! Clients that take the head of an answer and nothing more.

use std::sync::Arc;

use hyper::Method;
use serde_json::Value;

use super::cluster::{running, web};
use super::soon;
use super::world::{CONNECTIONS_MAX, SetUp, World, request, send};

/// A large list of pods: more than what can be on its way to all of these clients.
const PODS: usize = 200;
const ANNOTATION_BYTES: usize = 64 * 1024;

#[tokio::test]
async fn clients_that_read_nothing_hold_up_no_other() {
    let world = World::new(SetUp::default()).await;
    let mut pod = Arc::unwrap_or_clone(web("c-1", running(), None));
    pod.metadata.annotations = Some([("large".to_owned(), "x".repeat(ANNOTATION_BYTES))].into());
    let pod = Arc::new(pod);
    *world.cluster.pods.lock().unwrap() = vec![pod; PODS];
    let mut unread = Vec::new();
    for _ in 0..CONNECTIONS_MAX - 2 {
        let stream = soon(world.tls(None, "http/1.1")).await;
        let answer = soon(send(stream, request(Method::GET, "/pods", &Some("admin".to_owned())))).await;
        assert_eq!(answer.status().as_u16(), 200);
        unread.push(answer);
    }
    for path in ["/stats/summary", "/metrics/cadvisor", "/metrics/resource", "/healthz"] {
        assert_eq!(soon(world.get(path)).await.code.as_u16(), 200, "{path}");
    }
    let whole = soon(world.get("/pods")).await;
    let list: Value = serde_json::from_str(&whole.body).unwrap();
    let names = list["items"].as_array().into_iter().flatten();
    assert_eq!(names.filter(|pod| pod["metadata"]["name"] == "web").count(), PODS);
    assert!(whole.body.len() > PODS * ANNOTATION_BYTES);
    drop(unread);
    world.stop().await;
}
