//! Tables of images and what is shown of them.

use super::*;
use crate::image::records::PullSecret;

const A: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

fn container(image: &str) -> Container {
    Container { name: "app".to_owned(), image: Some(image.to_owned()), ..Container::default() }
}

fn info(repo_digests: &[String], size_bytes: u64) -> ImageInfo {
    ImageInfo {
        id: "sha256:1".to_owned(),
        repo_tags: Vec::new(),
        repo_digests: repo_digests.to_vec(),
        size_bytes,
        uid: None,
        username: String::new(),
        pinned: false,
    }
}

#[test]
fn the_digest_is_the_one_in_the_repository_that_the_pod_names() {
    let of = |repository: &str, digest: &str| format!("{repository}@{digest}");
    let (nginx, mirror) = ("docker.io/library/nginx", "mirror.example/nginx");
    let cases: [(&str, Vec<String>, Option<&str>); 8] = [
        ("nginx", vec![of(nginx, A)], Some(A)),
        ("nginx:1.27", vec![of(mirror, B), of(nginx, A)], Some(A)),
        ("mirror.example/nginx", vec![of(nginx, A), of(mirror, B)], Some(B)),
        ("nginx", vec![of(nginx, B), of(nginx, A)], Some(B)),
        (&of("nginx", A), vec![of(nginx, B), of(nginx, A)], Some(A)),
        ("nginx", vec![of(mirror, B)], None),
        ("nginx", vec!["no reference".to_owned()], None),
        ("file:/opt/app.wasm", vec![of(nginx, A)], None),
    ];
    for (written, known, expected) in cases {
        let resolved = ResolvedImage::new(&container(written), "sha256:1", Some(&info(&known, 7)), None);
        assert_eq!(resolved.digest.as_deref(), expected, "{written} {known:?}");
        assert_eq!((resolved.id.as_str(), resolved.size_bytes), ("sha256:1", Some(7)));
    }
}

#[test]
fn what_is_not_known_is_left_out() {
    let secret = PullSecret {
        uid: String::new(),
        namespace: "shop".to_owned(),
        name: "pull".to_owned(),
        credential_hash: String::new(),
    };
    let cases = [
        (None, None, "{\"container\":\"app\",\"id\":\"x\"}"),
        (
            Some(0),
            Some(PulledWith::NodeAccess),
            "{\"container\":\"app\",\"id\":\"x\",\"credentials\":\"node\"}",
        ),
        (
            Some(9),
            Some(PulledWith::Secrets(vec![secret])),
            "{\"container\":\"app\",\"id\":\"x\",\"sizeBytes\":9,\"credentials\":\"secret\"}",
        ),
    ];
    for (size, with, expected) in cases {
        let info = size.map(|size| info(&[], size));
        let resolved = ResolvedImage::new(&container("nginx"), "x", info.as_ref(), with.as_ref());
        let text = serde_json::to_string(&resolved).expect("it becomes JSON");
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<ResolvedImage>(&text).expect("it was one"), resolved);
    }
}
