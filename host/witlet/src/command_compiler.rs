//! The compiler of commands that try components out.

use std::path::PathBuf;
use std::time::Duration;

use witlet_wasm::compile::{CompileLimits, CompilerConfig};

/// From start to end: a user or a pipeline waits for a command, and a machine that is busy with other things must not fail it. The processor
/// time of a compiler is bounded as on a node.
const WALL: Duration = Duration::from_secs(30 * 60);

/// A compiler that keeps its code in this folder.
pub(crate) fn compiler(cache_dir: impl Into<PathBuf>) -> CompilerConfig {
    let config = CompilerConfig::new(cache_dir);
    CompilerConfig { limits: CompileLimits { wall: WALL, ..config.limits }, ..config }
}
