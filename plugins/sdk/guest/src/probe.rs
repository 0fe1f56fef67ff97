//! The role of probes: whether a container does what it should.
//!
//! A probe type is a type with [`ProbeType`], exported by [`export_probe!`](crate::export_probe):
//!
//! ```
//! use serde::Deserialize;
//! use witlet_plugin_sdk::net::TcpStream;
//! use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
//! use witlet_plugin_sdk::{Error, export_probe};
//!
//! struct Greets;
//!
//! #[derive(Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Parameters {
//!     port: u16,
//! }
//!
//! impl ProbeType for Greets {
//!     type Config = ();
//!     type Parameters = Parameters;
//!
//!     fn probe(target: &Target<'_>, parameters: &Parameters, (): &()) -> Result<Outcome, Error> {
//!         let deadline = target.deadline();
//!         let found = TcpStream::connect(&target.pod_ip()?, parameters.port, deadline)
//!             .and_then(|mut stream| stream.read(100, deadline));
//!         Ok(match found {
//!             Ok(greeting) if greeting.starts_with(b"220 ") => Outcome::Success(String::new()),
//!             Ok(_) => Outcome::Failure("it doesn't greet".to_owned()),
//!             Err(error) => Outcome::Failure(error.to_string()),
//!         })
//!     }
//! }
//!
//! export_probe!(Greets);
//!
//! // On the machine where it is developed, the same type probes plain data and real sockets:
//! use witlet_plugin_sdk::facts::TargetFacts;
//!
//! let server = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let port = server.local_addr()?.port();
//! let serving = std::thread::spawn(move || std::io::Write::write_all(&mut server.accept()?.0, b"220 hello\r\n"));
//! let facts = TargetFacts { pod_ips: vec!["127.0.0.1".to_owned()], ..TargetFacts::default() };
//! let outcome = Greets::probe(&facts.target(), &Parameters { port }, &()).expect("an outcome");
//! assert_eq!(outcome, Outcome::Success(String::new()));
//! # serving.join().expect("it ends")?;
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod bindings;
mod exec;
mod export;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod facts;
mod target;
mod types;

pub use bindings::witlet::probe::types::{NamedPort, Outcome, PodRef, ProbeKind};
pub use exec::{ExecError, Output};
pub use target::Target;
pub use types::ProbeType;

/// Where getters lead: to the host in a component, to plain data everywhere else.
mod backend {
    #[cfg(target_family = "wasm")]
    pub(crate) use super::bindings::witlet::probe::types::Target;
    #[cfg(not(target_family = "wasm"))]
    pub(crate) use super::facts::TargetFacts as Target;
}

#[cfg(test)]
mod tests;
