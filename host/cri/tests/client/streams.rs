//! Addresses of streams, and what the runtime keeps of images.

use std::path::PathBuf;

use witlet_ports::{ImageFilesystem, ImageStore, NodeImage, RuntimeError, StreamOptions, Streaming};

use crate::client_at;
use crate::server::{Answers, Server};

#[tokio::test]
async fn streams_are_asked_for_as_they_are_wanted() {
    let server = Server::start(Answers::default());
    let client = client_at(server.path());
    let options = StreamOptions { stdin: true, stdout: true, stderr: false, tty: true };
    let command = ["sh", "-c"].map(str::to_owned);
    let url = client.exec(&"c-1".into(), &command, options).await.expect("an address");
    assert_eq!(url, r#"http://127.0.0.1:1/exec/c-1/["sh", "-c"]/[true, true, false, true]"#);
    let options = StreamOptions { stderr: true, ..StreamOptions::default() };
    let url = client.attach(&"c-1".into(), options).await.expect("an address");
    assert_eq!(url, "http://127.0.0.1:1/attach/c-1/[]/[false, false, true, false]");
    let url = client.port_forward(&"s-1".into(), &[80, 65535]).await.expect("an address");
    assert_eq!(url, r#"http://127.0.0.1:1/portforward/s-1/["80", "65535"]/[]"#);
}

#[tokio::test]
async fn a_stream_to_what_is_gone_is_not_found_and_no_address_is_malformed() {
    let server = Server::start(Answers::default());
    let client = client_at(server.path());
    let options = StreamOptions::default();
    let gone = client.exec(&"gone".into(), &[], options).await.expect_err("it is gone");
    assert!(gone.is_not_found(), "{gone}");
    let gone = client.port_forward(&"gone".into(), &[]).await.expect_err("it is gone");
    assert!(gone.is_not_found(), "{gone}");
    let empty = client.attach(&"u-empty".into(), options).await.expect_err("there is no address");
    assert!(matches!(empty, RuntimeError::Malformed { call: "Attach", .. }), "{empty}");
}

#[tokio::test]
async fn images_and_their_file_systems_are_listed() {
    let server = Server::start(Answers::default());
    let client = client_at(server.path());
    let names = vec!["present@sha256:1".to_owned(), "present:1".to_owned()];
    assert_eq!(client.list().await.expect("listed"), [NodeImage { names, size: 7 }]);
    let wanted = ImageFilesystem {
        mountpoint: PathBuf::from("/var/lib/images"),
        used_bytes: Some(9),
        inodes_used: None,
    };
    assert_eq!(client.filesystems().await.expect("looked"), [wanted]);
}
