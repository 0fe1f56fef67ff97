//! The port to a runtime's streaming server: exec, attach, port-forward.

use async_trait::async_trait;
use witlet_core::runtime::{ContainerId, SandboxId};

use crate::RuntimeError;

/// Which of a process's streams are requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamOptions {
    pub stdin: bool,
    pub stdout: bool,
    /// Standard error; never with a terminal.
    pub stderr: bool,
    pub tty: bool,
}

/// Prepares streams. Each call gives the URL, on the runtime's streaming server, that one upgraded connection may be made to,
/// soon.
#[async_trait]
pub trait Streaming: Send + Sync {
    /// Returns the URL of a stream to a new process in a running container.
    async fn exec(
        &self,
        id: &ContainerId,
        command: &[String],
        options: StreamOptions,
    ) -> Result<String, RuntimeError>;

    /// Returns the URL of a stream to the main process of a running container.
    async fn attach(&self, id: &ContainerId, options: StreamOptions) -> Result<String, RuntimeError>;

    /// Returns the URL of a stream to ports of a sandbox; without any, the stream itself names them.
    async fn port_forward(&self, id: &SandboxId, ports: &[u16]) -> Result<String, RuntimeError>;
}
