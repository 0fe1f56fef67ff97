//! Whose place the socket may take.

use super::*;

#[tokio::test]
async fn a_left_over_socket_is_replaced_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made/runtime.sock");
    let first = listen(&path).expect("no server listens");
    assert_eq!(fs::metadata(&path).expect("a socket").permissions().mode() & 0o777, SOCKET_MODE);
    let error = listen(&path).expect_err("the first one answers");
    assert!(matches!(error, SocketError::Answered { .. }), "{error}");
    drop(first);
    assert!(path.exists(), "it is left over");
    listen(&path).expect("no one answers any more");

    let file = folder.path().join("precious");
    fs::write(&file, "kept").expect("a file");
    let error = listen(&file).expect_err("it is no socket");
    assert!(matches!(error, SocketError::NoSocket { .. }), "{error}");
    assert_eq!(fs::read_to_string(&file).expect("a file"), "kept");
}
