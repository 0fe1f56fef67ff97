//! What is an endpoint and what isn't.

use super::*;

#[test]
fn unix_urls_and_absolute_paths_are_endpoints() {
    for text in ["unix:///run/containerd/containerd.sock", "/run/containerd/containerd.sock"] {
        let endpoint: Endpoint = text.parse().expect(text);
        assert_eq!(endpoint.path(), Path::new("/run/containerd/containerd.sock"));
        assert_eq!(endpoint.to_string(), "unix:///run/containerd/containerd.sock");
    }
}

#[test]
fn everything_else_is_refused_with_the_way_out() {
    let long = format!("/{}", "a".repeat(SOCKET_PATH_BYTES_MAX));
    for (text, said) in [
        ("", "set a socket such as unix:///run"),
        ("tcp://127.0.0.1:1234", "scheme must be unix, as in unix:///path/to/socket, found tcp"),
        ("npipe:////./pipe/containerd", "found npipe"),
        ("unix://relative.sock", "must be absolute"),
        ("unix://", "must be absolute"),
        ("containerd.sock", "must be absolute"),
        ("/run/a\0b.sock", "NUL"),
        (&long, "at most 107 bytes"),
    ] {
        let error = text.parse::<Endpoint>().expect_err(text).to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn the_longest_path_still_fits() {
    let text = format!("/{}", "a".repeat(SOCKET_PATH_BYTES_MAX - 1));
    assert!(text.parse::<Endpoint>().is_ok());
    assert!(std::os::unix::net::SocketAddr::from_pathname(&text).is_ok(), "the kernel's limit is ours");
    assert!(std::os::unix::net::SocketAddr::from_pathname(format!("{text}a")).is_err());
}
