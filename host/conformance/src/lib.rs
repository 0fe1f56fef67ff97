//! The conformance kit: does a plugin keep its contract?
//!
//! A component is examined layer by layer ([`Layer`]): it is loaded, asked what its author says it must answer
//! ([`cases`]), asked what every plugin must answer, and tried with what is generated, hostile, repeated, withheld and
//! recorded. What comes out is a [`Report`], for people, as JSON or as JUnit ([`report`]).
//!
//! Every layer is written once for the three roles: it asks scenarios (`scenario.rs`: a question with all that stands around the
//! plugin), and what comes of them is one kind of answer (`plugin_response.rs`) whichever role gave it. A check that a fault of `tests/guests/faults` or
//! `tests/guests/tattler` proves names it.
//!
//! `witlet plugin test` is a thin rim around [`Kit`]. Authors who write Rust have it in `cargo test`: a test target with
//! `harness = false`, because the program that compiles components in a child process is the test itself.
//!
//! ```no_run
//! use std::ffi::OsString;
//! use std::process::ExitCode;
//!
//! use witlet_conformance::cases::CaseFile;
//! use witlet_conformance::{Kit, Plan, Silent, Subject};
//! use witlet_wasm::compile::{self, CompilerConfig};
//!
//! #[tokio::main]
//! async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
//!     let words: Vec<OsString> = std::env::args_os().skip(1).collect();
//!     if compile::is_compile_command(&words) {
//!         return Ok(compile::child_main(words.into_iter().skip(1)));
//!     }
//!     let kit = Kit::start(CompilerConfig::foreground("target/compiled-plugins"))?;
//!     let subject = Subject { name: "my-plugin".to_owned(), wasm: std::fs::read("my-plugin.wasm")?.into() };
//!     let plan = Plan { cases: vec![CaseFile::read("cases.yaml".as_ref())?], ..Plan::default() };
//!     let report = kit.examine(&subject, &plan, &Silent).await?;
//!     assert!(report.passed(), "{}", report.human("witlet plugin test my-plugin.wasm"));
//!     Ok(ExitCode::SUCCESS)
//! }
//! ```
#![forbid(unsafe_code)]

pub mod attest;
pub mod bench;
mod budget;
mod case_run;
pub mod cases;
mod check;
mod ctx;
mod determinism;
mod environment;
mod generated;
mod grants;
mod hostile;
mod kit;
mod load;
mod plan;
mod plugin;
mod plugin_request;
mod plugin_response;
mod properties;
mod quantities;
mod replay;
pub mod report;
pub mod run;
mod scenario;
mod setup;
mod unchanged;
mod vectors;

pub use check::{Check, CheckResult, Figure, Finding, Progress, Silent, TEXT_BYTES_MAX};
pub use kit::{Kit, KitError};
pub use plan::{KIT_VERSION, Layer, NoLayer, PROPERTY_CASES_DEFAULT, Plan, SEED_DEFAULT, Subject};
pub use report::Report;

/// The book's example is compiled with the crate's own.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/authors/testing.md")]
struct Book;
