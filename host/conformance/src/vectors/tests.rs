//! The kit's own vectors can be read, and a setup that can't be made is reported.

use std::io;

use witlet_wasm::plugin::LoadError;

use super::*;

const HOST: [&str; 6] = [
    include_str!("../../vectors/host/admission.yaml"),
    include_str!("../../vectors/host/probe.yaml"),
    include_str!("../../vectors/host/pod-source.yaml"),
    include_str!("../../vectors/host-0.2/admission.yaml"),
    include_str!("../../vectors/host-0.2/probe.yaml"),
    include_str!("../../vectors/host-0.2/pod-source.yaml"),
];

#[test]
fn every_vector_can_be_read() {
    let mut count = 0;
    for text in EVERY.iter().map(|(_, text)| text) {
        count += CaseFile::parse("a vector", text).unwrap_or_else(|error| panic!("{error}")).cases.len();
    }
    assert!(count >= 36, "{count} vectors of plugins");
    for text in HOST {
        let file = CaseFile::parse("a vector", text).unwrap_or_else(|error| panic!("{error}"));
        assert!(!file.cases.is_empty());
    }
}

#[test]
fn a_case_without_its_environment_fails_its_author_and_no_one_else() {
    let error = StageError::Environment(io::Error::from(io::ErrorKind::AddrInUse));
    assert!(not_run(Whose::Author, &error).is_some());
    assert!(not_run(Whose::Every, &error).is_none());
    assert!(not_run(Whose::Every, &StageError::Load(LoadError::Interrupted)).is_some());
}
