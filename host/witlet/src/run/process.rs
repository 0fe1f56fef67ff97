//! What the process asks of the kernel for itself when it starts. Where it is refused, the agent runs without it.

use std::path::Path;

use rustix::process::{Resource, Rlimit};

/// Where the kernel takes a process's out-of-memory score.
const OOM_SCORE_FILE: &str = "/proc/self/oom_score_adj";

/// Reports the kernel how readily it may end this process when memory runs out.
pub(super) fn set_oom_score(score: i32) {
    if let Err(error) = std::fs::write(OOM_SCORE_FILE, score.to_string()) {
        tracing::warn!(%error, score, "Failed to set the OOM score of the agent");
    }
}

/// Volumes lie there, and containers see each other's mounts in them only where it is shared. Who may not mount has no pods
/// that ask for it.
pub(super) fn share_folder(root: &Path) {
    if let Err(error) = witlet_node::make_shared(root) {
        let root = root.display();
        tracing::warn!(%error, %root, "Failed to make the root folder a shared mount; pods have no mount propagation");
    }
}

/// Every probe that runs is a socket, and there may be more of them than the files that a process gets by default.
pub(super) fn raise_file_limit() {
    let Rlimit { maximum, .. } = rustix::process::getrlimit(Resource::Nofile);
    if let Err(error) = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "Failed to raise the limit of open files");
    }
}
