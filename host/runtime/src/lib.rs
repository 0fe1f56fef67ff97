//! The embedded runtime: a CRI v1 server whose containers are WASI 0.2 components, commands and HTTP handlers.
//!
//! It is a process of its own ([`serve`]; [`spawn_detached`] starts it), so that killing the agent stops nothing. All
//! workloads run inside that process, each in a store of its own, on threads apart from the server's.
//!
//! # What a workload can rely on
//!
//! - **Image**: `file:///absolute.wasm`, or `file:relative.wasm` in the folder of images. Pulling copies and compiles
//!   the file; its identifier is the digest (`sha256:…`). What exports neither
//!   `wasi:cli/run` nor `wasi:http/incoming-handler` is refused at the pull.
//! - **Arguments**: `command` if it is given, else the file's name without `.wasm`; then `args`.
//! - **Network**: one address per pod out of 127.88.0.0/16, unique in the network namespace. Binding to `0.0.0.0`
//!   binds to it, connections come from it, and go to pods only. `localhost` is the pod itself. No other names are
//!   looked up, there is no IPv6, and host ports are refused. Pods with `hostNetwork` aren't confined.
//! - **HTTP**: a component that exports `wasi:http/incoming-handler` is served on its pod's address, at the port in its
//!   environment variable `PORT`, else the first TCP port that the annotation `io.kubernetes.container.ports` notes,
//!   else 8080. Each request has an instance of its own, 32 at once in a container (others wait 10 s, and are sent away
//!   with 503), and 30 s for everything ([`RuntimeOptions::http_deadline`]; 504). Requests have bodies of at most 16 MiB
//!   (413), answers of 256 MiB. It ends with code 0 when it is asked to stop and has answered.
//! - **HTTP to others** (`wasi:http/outgoing-handler`) keeps to the rules for sockets; there is no HTTPS.
//! - **Commands in a container** (`ExecSync`, and so exec probes and hooks): the same component run once more, through
//!   `wasi:cli/run`, with the command as its arguments, in the same pod, with the same mounts and on the same account;
//!   8 at once. Their standard input has ended; of their output 16 MiB are kept.
//! - **Being asked to stop**: WASI has no signals. Standard input is silent and open until the container is asked to
//!   stop, and then ends; from then on accepting a client fails (`invalid-argument`: EINVAL), and who waits for one is woken. A
//!   program that reacts to neither is killed after the grace, as a PID 1 that ignores SIGTERM.
//! - **Exit codes**: 0, 1, or the code given to `exit-with-code`; 134 for a trap (a panic is one), 137 if killed, 137
//!   with reason `OOMKilled` for wanting more memory than the limit (256 MiB without one), 128 with reason
//!   `StartError` if it couldn't be started.
//! - **Memory** of all instances of a container counts together against its limit, which can be changed while it runs.
//!   Who asks for too much is ended: the program, the command, or the request.
//! - **Processor**: a program that computes gives way every 10 ms. Its time is counted. There are no CPU limits: they are
//!   accepted, and reported in the status.
//! - **Mounts** of folders are preopened. Single files appear in private folders as hard links, so that both sides see
//!   one file; from another filesystem they are copied, and copied back at the end. A file can't be mounted into a
//!   mounted folder. No link leads out of a mount. Stop signals and devices don't exist.
//!
//! # What survives
//!
//! Records are small files under the root folder. After the runtime itself was killed its containers are reported as
//! exited (137, `ContainerStatusUnknown`) and its sandboxes as not ready, for the agent to clear away; addresses,
//! which only ready sandboxes have, are free again by themselves.
#![forbid(unsafe_code)]

mod address;
mod chain;
mod clock;
mod detach;
mod image;
mod log;
mod mounts;
mod network;
mod options;
mod pods;
mod removal;
mod serve;
mod server;
mod state;
mod workload;

pub use detach::{Detached, SpawnError, Spawned, spawn_detached};
pub use options::RuntimeOptions;
pub use serve::{ServeError, serve};
pub use server::SocketError;
pub use state::StateError;
pub use workload::ProgramsError;
