//! References of images and components: what one parser takes, another one takes, and means the same by it.

use witlet_core::image::reference::{ImageReference, REFERENCE_BYTES_MAX, without_tag_and_digest};
use witlet_core::image::with_default_tag;
use witlet_oci::Target as OciTarget;
use witlet_oci::address;
use witlet_ports::ComponentReference;

use crate::{Target, check_message};

pub(crate) const TARGET: Target = Target {
    name: "image_references",
    run,
    words: &[
        "oci://",
        "file:",
        "docker.io/",
        "index.docker.io/",
        "library/",
        "localhost:5000/",
        "[::1]:5000/",
        "registry.example.com/",
        ":latest",
        ":1.2",
        "@sha256:",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "@sha512:",
        "__",
        "--",
        "..",
        ".",
        "/",
        "A",
        ":65536",
        "@",
    ],
};

fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let text = text.trim_end_matches('\n');
    let parsed = ImageReference::parse(text);
    check_default_tag(text, &parsed.clone().ok());
    match &parsed {
        Ok(reference) => {
            assert!(text.len() <= REFERENCE_BYTES_MAX);
            check_parts(text, reference);
        }
        Err(error) => check_message(&error.to_string(), 0),
    }
    let bare = text.strip_prefix("oci://").unwrap_or(text);
    match text.parse::<OciTarget>() {
        Ok(oci_target) => {
            let reference = ImageReference::parse(bare).expect("a place in a registry is a reference");
            assert_eq!(
                (oci_target.registry(), oci_target.repository()),
                (&*reference.registry, &*reference.path)
            );
            assert_eq!(
                (oci_target.tag(), oci_target.digest()),
                (reference.tag.as_deref(), reference.digest.as_deref())
            );
            assert_eq!(oci_target.to_string().parse(), Ok(oci_target.clone()));
            check_url(&oci_target);
        }
        Err(error) => check_message(&error.to_string(), 0),
    }
    check_component(text);
}

fn check_default_tag(text: &str, parsed: &Option<ImageReference>) {
    let Ok(tagged) = with_default_tag(text) else {
        assert!(parsed.is_none(), "{text:?} is a reference, and gets no tag");
        return;
    };
    assert_eq!(with_default_tag(&tagged).as_ref(), Ok(&tagged), "a tag is given once");
    if text.starts_with("file:") {
        assert_eq!((parsed, tagged.as_str()), (&None, text), "the embedded runtime's own");
        assert_eq!(without_tag_and_digest(text).as_deref(), Ok(text));
        return;
    }
    // The one name that gets the form of a file with its tag.
    if text == "file" {
        return;
    }
    let (parsed, tagged) =
        (parsed.as_ref().expect("it got a tag"), ImageReference::parse(&tagged).expect("a reference"));
    assert_eq!(tagged.repository(), parsed.repository());
    assert!(tagged.tag.is_some() || tagged.digest.is_some());
}

/// Written in full, a reference is the same; without tag and digest it is the same repository.
fn check_parts(text: &str, reference: &ImageReference) {
    let tag = reference.tag.iter().map(|tag| format!(":{tag}")).collect::<String>();
    let digest = reference.digest.iter().map(|digest| format!("@{digest}")).collect::<String>();
    let full = format!("{}{tag}{digest}", reference.repository());
    assert_eq!(ImageReference::parse(&full).as_ref(), Ok(reference), "{text:?} in full");
    let without = without_tag_and_digest(text).expect("a reference");
    let without = ImageReference::parse(&without).expect("a reference without tag and digest is one");
    assert_eq!(without, ImageReference { tag: None, digest: None, ..reference.clone() });
}

/// The registry of a place is what its URL leads to, or there is no URL.
fn check_url(oci_target: &OciTarget) {
    let Ok(url) = address::of_registry(oci_target.registry(), "/v2/", false) else { return };
    assert_eq!(url.authority().map(|authority| authority.as_str()), Some(oci_target.registry()));
    assert!(url.authority().is_some_and(|authority| !authority.as_str().contains('@')), "{url}");
}

fn check_component(text: &str) {
    let oci_target = text
        .parse::<OciTarget>()
        .ok()
        .filter(|oci_target| text.starts_with("oci://") && oci_target.digest().is_some());
    match (text.parse::<ComponentReference>(), oci_target) {
        (Ok(component), Some(oci_target)) => {
            assert_eq!(component.to_string().parse(), Ok(component.clone()));
            assert_eq!((component.name(), component.tag()), (oci_target.name(), oci_target.tag()));
            assert_eq!(Some(component.digest()), oci_target.digest());
            assert_eq!(component.to_string(), oci_target.to_string());
        }
        (Err(error), None) => check_message(&error.to_string(), 0),
        (component, oci_target) => {
            panic!("{text:?} is {component:?} for one and {oci_target:?} for the other")
        }
    }
}
