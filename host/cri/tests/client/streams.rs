//! Addresses of streams, and what the runtime keeps of images.

use std::path::{Path, PathBuf};
use std::time::Duration;

use witlet_ports::{
    Checkpoints, ContainerImage, ImageFilesystem, ImageFilesystems, ImageStore, NodeImage, RuntimeError,
    StreamOptions, Streaming,
};

use crate::server::{Answers, Server};
use crate::{client_at, runtime_at};

#[tokio::test]
async fn streams_are_asked_for_as_they_are_requested() {
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
    assert_eq!(
        client.list().await.expect("listed"),
        [NodeImage { id: "sha256:present".to_owned(), names, size: 7, pinned: false }]
    );
    let at = |mountpoint: &str| ImageFilesystem {
        mountpoint: PathBuf::from(mountpoint),
        used_bytes: Some(9),
        inodes_used: None,
    };
    assert_eq!(
        client.filesystems().await.expect("checked"),
        ImageFilesystems { images: vec![at("/var/lib/images")], containers: vec![at("/var/lib/layers")] }
    );
}

#[tokio::test]
async fn images_of_containers_are_known_by_their_identifiers_or_else_by_reference() {
    let server = Server::start(Answers::default());
    let client = client_at(server.path());
    let of = |container: &str, image: &str| ContainerImage {
        container: container.into(),
        image: image.to_owned(),
    };
    let expected = [of("c-vanishes", "by reference"), of("c-stays", "sha256:present")];
    assert_eq!(client.containers().await.expect("listed"), expected);
    assert_eq!(client.mounted_images(&"c-stays".into()).await.expect("checked"), ["sha256:mounted"]);
    let vanished = client.mounted_images(&"c-vanishes".into()).await.expect("it vanished since");
    assert_eq!(vanished, [""; 0]);
}

#[tokio::test]
async fn an_image_that_is_gone_is_removed_and_a_refusal_is_an_error() {
    let server = Server::start(Answers::default());
    let store = runtime_at(server.path()).image_store;
    for id in ["sha256:present", "sha256:gone"] {
        store.remove(id).await.expect(id);
    }
    let error = store.remove("sha256:stuck").await.expect_err("it is refused");
    assert_eq!(error.to_string(), "RemoveImage: sha256:stuck can't be removed");
}

#[tokio::test]
async fn a_checkpoint_has_as_long_as_a_call_at_least() {
    let server = Server::start(Answers::default());
    let client = client_at(server.path());
    let (archive, id) = (Path::new("/checkpoints/a.tar"), "c-stays".into());
    let long = Duration::from_secs(7200);
    let mut timeouts = Vec::new();
    for timeout in [None, Some(Duration::ZERO), Some(long)] {
        client.checkpoint(&id, archive, timeout).await.expect("saved");
        let sent = server.last_checkpoint().expect("it arrived");
        assert_eq!((sent.container_id.as_str(), sent.location.as_str()), ("c-stays", "/checkpoints/a.tar"));
        timeouts.push(sent.timeout);
    }
    assert_eq!(timeouts[0], timeouts[1], "less than a call's deadline is that deadline");
    assert!(timeouts[0] > 0 && timeouts[2] == 7200, "{timeouts:?}");
    let gone = client.checkpoint(&"gone".into(), archive, None).await.expect_err("it is gone");
    assert!(gone.is_not_found(), "{gone}");
}
