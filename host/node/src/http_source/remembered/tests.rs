//! Whose answer it is.

use super::*;
use crate::FileStateStore;

#[tokio::test]
async fn an_answer_comes_back_for_its_own_url_and_node_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = Arc::new(FileStateStore::new(folder.path()));
    let of = |url: &str, node: &str| Remembered::new(state.clone(), url, node);
    assert_eq!(of("http://a", "n").load().await, None);
    of("http://a", "n").save(b"line\n{\n").await;
    assert_eq!(of("http://a", "n").load().await.as_deref(), Some(b"line\n{\n".as_slice()));
    assert_eq!(of("http://b", "n").load().await, None);
    assert_eq!(of("http://a", "m").load().await, None);
    for page in ["", "{}", "no\nmore", "{\"version\":2,\"url\":\"http://a\",\"nodeName\":\"n\"}\nx"] {
        state.save(REMEMBERED_MANIFEST, page.as_bytes()).await.expect("saved");
        assert_eq!(of("http://a", "n").load().await, None, "{page}");
    }
}
