//! Tests of the handler on whole requests.

use witlet_plugin_sdk::facts::{PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Container, ContainerKind, Verdict};

use super::{Config, NoLatestTag};

fn verdict(images: &[&str]) -> Verdict {
    let container = |(number, image): (usize, &&str)| Container {
        name: format!("c{number}"),
        kind: if number == 0 { ContainerKind::Init } else { ContainerKind::App },
        image: (*image).to_owned(),
    };
    let containers = images.iter().enumerate().map(container).collect();
    let facts =
        RequestFacts { pod: PodFacts { containers, ..PodFacts::default() }, ..RequestFacts::default() };
    NoLatestTag::admit(&facts.request(), &Config::default()).expect("a verdict")
}

#[test]
fn the_first_container_that_is_objected_to_is_named() {
    assert_eq!(verdict(&[]), Verdict::Admit);
    assert_eq!(verdict(&["a:1", "b:2"]), Verdict::Admit);
    assert_eq!(
        verdict(&["a:1", "b:latest", "c"]),
        Verdict::reject("LatestTag", "container c1: the image b:latest has the tag latest, which moves")
    );
    assert_eq!(
        verdict(&["a", "b:2"]),
        Verdict::reject("LatestTag", "container c0: the image a has no tag, which means latest")
    );
}
