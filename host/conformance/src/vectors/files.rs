//! The case files that the kit has itself.

use crate::cases::CaseFile;

/// Name and text of a file.
type File = (&'static str, &'static str);

/// What every plugin must answer in a well-formed way.
const PLUGIN: &[File] = &[
    ("admission/pods.yaml", include_str!("../../vectors/plugin/admission/pods.yaml")),
    ("admission/nodes.yaml", include_str!("../../vectors/plugin/admission/nodes.yaml")),
    ("probe/targets.yaml", include_str!("../../vectors/plugin/probe/targets.yaml")),
    ("pod-source/folders.yaml", include_str!("../../vectors/plugin/pod-source/folders.yaml")),
];

/// What the guests that call every function must be told by a host.
const HOST: &[File] = &[
    ("host/admission.yaml", include_str!("../../vectors/host/admission.yaml")),
    ("host/probe.yaml", include_str!("../../vectors/host/probe.yaml")),
    ("host/pod-source.yaml", include_str!("../../vectors/host/pod-source.yaml")),
];

/// The golden vectors of plugins: questions that every plugin of a role must answer in a well-formed way, whatever it
/// answers.
pub fn plugin() -> Vec<CaseFile> {
    read(PLUGIN)
}

/// The golden vectors of hosts: what the guests in `tests/guests/all-functions` answer when the host tells them what the
/// contract says that it tells.
pub fn host() -> Vec<CaseFile> {
    read(HOST)
}

/// All of them are case files: the test reads them.
fn read(files: &[File]) -> Vec<CaseFile> {
    files.iter().filter_map(|(name, text)| CaseFile::parse(name, text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vector_can_be_read() {
        for (name, text) in PLUGIN.iter().chain(HOST) {
            let file = CaseFile::parse(name, text);
            assert!(file.as_ref().is_ok_and(|file| !file.is_empty()), "{name}: {:?}", file.err());
        }
        let count: usize = plugin().iter().map(CaseFile::len).sum();
        assert!(count >= 36, "{count} vectors of plugins");
    }
}
