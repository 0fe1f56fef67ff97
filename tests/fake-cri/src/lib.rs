//! A CRI server that answers at once and runs nothing: for measuring an agent without a runtime's own costs.
//!
//! Sandboxes are ready when they are made, containers run when they are started and end when they are stopped, and
//! every image is there. Calls that an agent doesn't need for that are `Unimplemented`.
#![forbid(unsafe_code)]

mod image_service;
mod runtime_service;
mod state;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use witlet_proto::cri::image_service_server::ImageServiceServer;
use witlet_proto::cri::runtime_service_server::RuntimeServiceServer;

use crate::state::State;
pub use crate::state::now;

/// The CRI's limit on messages.
const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// The server; clones share their state.
#[derive(Clone, Debug, Default)]
pub struct FakeCri {
    state: Arc<Mutex<State>>,
}

impl FakeCri {
    /// Serves on a unix socket, which must not exist, until `stop` is cancelled.
    pub async fn serve(&self, socket: &Path, stop: CancellationToken) -> Result<(), tonic::transport::Error> {
        let listener =
            UnixListener::bind(socket).expect("the caller names a free path in a folder that exists");
        let runtime = RuntimeServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE_BYTES_MAX);
        Server::builder()
            .add_service(runtime.max_encoding_message_size(MESSAGE_BYTES_MAX))
            .add_service(ImageServiceServer::new(self.clone()))
            .serve_with_incoming_shutdown(UnixListenerStream::new(listener), stop.cancelled_owned())
            .await
    }

    /// How many containers run.
    pub fn running(&self) -> usize {
        self.lock().running()
    }

    /// How many sandboxes there are, ready or not.
    pub fn sandboxes(&self) -> usize {
        self.lock().sandboxes()
    }

    /// When containers were started, in nanoseconds since 1970, in order.
    pub fn starts(&self) -> Vec<i64> {
        self.lock().starts.clone()
    }

    /// When sandboxes were stopped, in nanoseconds since 1970, in order.
    pub fn ends(&self) -> Vec<i64> {
        self.lock().ends.clone()
    }

    /// How often the container of this name was started for pods of this name.
    pub fn started(&self, pod: &str, container: &str) -> usize {
        self.lock().started(pod, container)
    }

    /// Ends the running containers of pods of this name with this code, as if their processes had ended; how many those were.
    pub fn exit(&self, pod: &str, exit_code: i32) -> usize {
        self.lock().exit_pod(pod, exit_code)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}
