//! What pods learn of the machine's files.

use super::*;

#[tokio::test]
async fn a_resolv_conf_is_read_again_each_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("resolv.conf");
    let files = NodeHostFiles::new(Some(path.clone()));
    for content in ["nameserver 192.0.2.1\n", "nameserver 192.0.2.2\n"] {
        std::fs::write(&path, content).expect("the file is written");
        assert_eq!(files.resolv_conf().await.expect("it is read").as_deref(), Some(content));
    }
}

#[tokio::test]
async fn a_resolv_conf_that_is_missing_is_an_error_and_none_is_none() {
    let missing = NodeHostFiles::new(Some("/nonexistent/resolv.conf".into()));
    let error = missing.resolv_conf().await.expect_err("it isn't there");
    assert!(error.to_string().contains("/nonexistent/resolv.conf"), "{error}");
    assert_eq!(NodeHostFiles::new(None).resolv_conf().await.expect("nothing is read"), None);
}

#[tokio::test]
async fn what_is_no_text_is_replaced_and_what_is_too_large_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hosts");
    let files = NodeHostFiles { resolv_conf: None, etc_hosts: path.clone() };
    assert_eq!(files.etc_hosts().await.expect("no file is an empty one"), "");
    std::fs::write(&path, b"127.0.0.1 a\xff\n").expect("the file is written");
    assert_eq!(files.etc_hosts().await.expect("it is read"), "127.0.0.1 a\u{fffd}\n");
    let large = vec![b'#'; usize::try_from(HOST_FILE_BYTES_MAX).expect("it fits") + 1];
    std::fs::write(&path, large).expect("the file is written");
    assert!(files.etc_hosts().await.is_err());
}
