//! On a socket that keeps records apart, as the kernel's log does.

use std::os::unix::net::UnixDatagram;

use super::*;

#[test]
fn a_record_has_one_line_of_text() {
    for (record, expected) in [
        ("6,339,5140900,-;NET: Registered protocol family 10\n", Some("NET: Registered protocol family 10")),
        ("30,340,5690716,-;a; b\n SUBSYSTEM=pci\n DEVICE=+pci:0000:00:01.0\n", Some("a; b")),
        ("6,341,5690717,-;\n", Some("")),
        ("nonsense", None),
        ("", None),
    ] {
        assert_eq!(message(record), expected, "{record:?}");
    }
}

#[tokio::test]
async fn messages_come_in_order_until_no_one_receives_them() {
    let (kernel, log) = UnixDatagram::pair().unwrap();
    log.set_nonblocking(true).unwrap();
    let (sender, mut messages) = mpsc::channel(4);
    let sends = async {
        for text in ["6,1,1,-;first\n", "nonsense", "6,2,2,-;second\n SUBSYSTEM=pci\n"] {
            kernel.send(text.as_bytes()).unwrap();
        }
        let received = (messages.recv().await, messages.recv().await);
        assert_eq!(received, (Some("first".to_owned()), Some("second".to_owned())));
        drop(messages);
        kernel.send(b"6,3,3,-;third\n").unwrap();
    };
    let (followed, ()) = tokio::join!(follow(log.into(), &sender), sends);
    followed.unwrap();
}

#[tokio::test]
async fn a_log_that_isnt_there_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(open(&folder.path().join("kmsg")).unwrap_err().kind(), io::ErrorKind::NotFound);
}
