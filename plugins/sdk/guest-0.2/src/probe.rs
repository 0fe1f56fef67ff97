//! The role of probes: whether a container does what it should.
//!
//! A probe type is a type with [`ProbeType`] that serde makes of the plugin's `config:`, exported by
//! [`export_probe!`](crate::export_probe):
//!
//! ```
//! use serde::Deserialize;
//! use witlet_plugin_sdk_0_2::net::TcpStream;
//! use witlet_plugin_sdk_0_2::probe::{Outcome, ProbeType, Target};
//! use witlet_plugin_sdk_0_2::{Error, export_probe};
//!
//! /// A mail server greets.
//! #[derive(Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Greets {}
//!
//! #[derive(Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Parameters {
//!     port: u16,
//! }
//!
//! impl ProbeType for Greets {
//!     type Parameters = Parameters;
//!
//!     fn probe(&self, target: &Target<'_>, parameters: &Parameters) -> Result<Outcome, Error> {
//!         let deadline = target.deadline();
//!         let read = TcpStream::connect(&target.pod().address()?, parameters.port, deadline)
//!             .and_then(|mut stream| stream.read(100, deadline));
//!         Ok(match read {
//!             Ok(greeting) if greeting.starts_with(b"220 ") => Outcome::success(""),
//!             Ok(_) => Outcome::failure("it doesn't greet"),
//!             Err(error) => Outcome::failure(error.to_string()),
//!         })
//!     }
//! }
//!
//! export_probe!(Greets);
//!
//! // On the machine where it is developed, the same type probes plain data and real sockets:
//! use serde_json::json;
//! use witlet_plugin_sdk_0_2::facts::TargetFacts;
//!
//! let server = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let port = server.local_addr()?.port();
//! let serving = std::thread::spawn(move || std::io::Write::write_all(&mut server.accept()?.0, b"220 hello\r\n"));
//! let facts = TargetFacts::of(&json!({"metadata": {"name": "mail"}})).at("127.0.0.1");
//! let outcome = Greets {}.probe(&facts.target(), &Parameters { port }).expect("an outcome");
//! assert_eq!(outcome, Outcome::success(""));
//! # serving.join().expect("it ends")?;
//! # Ok::<(), std::io::Error>(())
//! ```

#[doc(hidden)]
pub mod bindings;
mod connection;
mod export;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod facts;
mod outcome;
mod target;
mod types;

pub use connection::Connection;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub use export::{check_parameters as __check_parameters, probe as __probe, validate as __validate};
pub use outcome::{Finding, Outcome};
pub use target::{Container, ContainerPort, Pod, Target};
pub use types::{Check, Ended, ProbeType, Setup};

/// Where getters lead: to the host in a component, to plain data everywhere else.
mod backend {
    #[cfg(target_family = "wasm")]
    pub(crate) use super::bindings::witlet::probe::probe_types::{
        Check, Container, ContainerPort, Pod, Setup, Target,
    };
    #[cfg(not(target_family = "wasm"))]
    pub(crate) use super::facts::{
        ContainerView as Container, PodView as Pod, PortView as ContainerPort, TargetFacts as Target,
        WarningFacts as Check, WarningFacts as Setup,
    };
}

#[cfg(test)]
mod tests;
